"""Every objective's loss and gradients against loops written from the equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from infograph import (
    ENN,
    GIN,
    Entropy,
    InfoGraphStar,
    InfoGraphWithLabels,
    MeanTeacher,
    MutualInformation,
    PseudoLabel,
    Supervised,
    load_dataset,
)
from infograph.objectives.objective import Classification, Regression
from tests.objectives.loops import (
    cross_entropy,
    graph_level,
    node_states,
    patch_loss,
    predictions,
    squared_error,
    toy_molecules,
    transfer_loop,
    world,
)

NAN = float("nan")
VALUES = torch.tensor([[0.3, NAN], [NAN, -1.2], [2.0, 0.1], [-0.4, 0.7]], dtype=torch.float64)
CLASSES = torch.tensor([2, -1, 1, 0])  # the second is not known
LABELLED, UNLABELLED = [0, 1, 2, 3], [4, 0, 5, 1, 6]  # unlabelled graphs may be labelled ones, too
TASKS = {"regression": (Regression(2), VALUES, squared_error)}
TASKS["classification"] = (Classification(3), CLASSES, cross_entropy)
tasks = pytest.mark.parametrize("task", TASKS)


def world_of(encoder: str, task: str):
    n_outputs = TASKS[task][0].n_outputs
    if encoder == "enn":
        return world(toy_molecules([4, 1, 6, 3, 5, 2, 4]), n_outputs, ENN(layers=3))
    mutag = load_dataset("MUTAG")[[0, 3, 30, 3, 5, 0, 7]]  # three graphs are there twice
    return world(mutag, n_outputs, GIN(layers=3))


@pytest.fixture(params=["gin", "enn"])
def encoder(request) -> str:
    return request.param


@pytest.fixture(autouse=True)
def seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def assert_equal(network: nn.Module, loss: Tensor, expected: Tensor) -> None:
    """The same number, and the same gradients for all weights."""
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    found = torch.autograd.grad(loss, learned, allow_unused=True)
    wanted = torch.autograd.grad(expected, learned, allow_unused=True)
    largest = max(slope.abs().max() for slope in wanted if slope is not None)
    assert largest > 0
    for slope, other in zip(found, wanted, strict=True):
        assert slope is not None or other is None or not other.any()
        if slope is not None:
            other = torch.zeros_like(slope) if other is None else other
            torch.testing.assert_close(slope, other, rtol=1e-4, atol=1e-6 * float(largest))


@tasks
def test_supervised(encoder, task):
    world, (kind, targets, loop) = world_of(encoder, task), TASKS[task]
    objective = Supervised()
    network = objective.build(world.make, kind).double().train()
    terms = objective.loss(network, world.step(LABELLED, [], targets), kind)
    expected = loop(predictions(network.predictor, world.some(LABELLED)), targets)
    assert_equal(network, terms.total, expected)
    assert terms.shown["supervised"].item() == terms.total.item()


@tasks
@pytest.mark.parametrize("patches", ["all", "last"])
def test_equation_6(encoder, task, patches):
    world, (kind, targets, loop) = world_of(encoder, task), TASKS[task]
    objective = InfoGraphWithLabels(0.03, MutualInformation(patches=patches))
    network = objective.build(world.make, kind).double().train()
    terms = objective.loss(network, world.step(LABELLED, UNLABELLED, targets), kind)
    supervised = loop(predictions(network.predictor, world.some(LABELLED)), targets)
    unsupervised = patch_loss(network.predictor.encoder, network.local_global, world.some(UNLABELLED))
    assert_equal(network, terms.total, supervised + 0.03 * unsupervised)
    assert terms.shown["unsupervised"].item() == pytest.approx(unsupervised.item(), rel=1e-6)


def star_terms(network, world, targets, loop, *, layers, scaled: bool, detach: bool = False):
    """Supervised, unsupervised and transfer term of Eq. 8, as a mean over their own graphs each."""
    everyone = LABELLED + UNLABELLED
    supervised = loop(predictions(network.predictor, world.some(everyone))[: len(LABELLED)], targets)
    unsupervised = patch_loss(network.teacher, network.local_global, world.some(UNLABELLED))
    own = node_states(network.predictor.encoder, world.some(everyone))
    other = node_states(network.teacher, world.some(UNLABELLED))
    sizes = world.some(UNLABELLED).sizes.tolist() if scaled else [1] * len(UNLABELLED)
    transfer = torch.zeros((), dtype=torch.float64)
    for k in layers:
        student = graph_level(network.predictor.encoder, own[k], world.some(everyone))[len(LABELLED) :]
        teacher = graph_level(network.teacher, other[k], world.some(UNLABELLED))
        teacher = teacher.detach() if detach else teacher
        transfer = transfer + transfer_loop(*network.projections[k], student, teacher, sizes)
    return supervised, unsupervised, transfer


@tasks
@pytest.mark.parametrize(
    ("settings", "layers"),
    [
        ({"transfer": "all"}, [0, 1, 2]),
        ({"transfer": "last"}, [2]),
        ({"transfer": "all", "transfer_scale": "mean"}, [0, 1, 2]),
        ({"transfer": "last", "detach_teacher": True}, [2]),
    ],
)
def test_equation_8(encoder, task, settings, layers):
    world, (kind, targets, loop) = world_of(encoder, task), TASKS[task]
    objective = InfoGraphStar(0.7, **settings)
    network = objective.build(world.make, kind).double().train()
    terms = objective.loss(network, world.step(LABELLED, UNLABELLED, targets), kind)
    how = {"scaled": "transfer_scale" not in settings, "detach": objective.detach_teacher}
    expected = star_terms(network, world, targets, loop, layers=layers, **how)
    for name, value in zip(("supervised", "unsupervised", "transfer"), expected, strict=True):
        assert terms.shown[name].item() == pytest.approx(value.item(), rel=1e-6), name
    assert_equal(network, terms.total, expected[0] + expected[1] + 0.7 * expected[2])


def test_a_random_layer_is_one_of_all_and_not_multiplied(encoder):
    world, (kind, targets, loop) = world_of(encoder, "regression"), TASKS["regression"]
    objective = InfoGraphStar()
    network = objective.build(world.make, kind).double().train()
    step = world.step(LABELLED, UNLABELLED, targets)
    each = [star_terms(network, world, targets, loop, layers=[k], scaled=True)[2].item() for k in range(3)]
    seen = set()
    for _ in range(24):
        found = objective.loss(network, step, kind).shown["transfer"].item()
        distances = [abs(found - value) for value in each]
        assert min(distances) < 1e-6 * max(each)
        seen.add(distances.index(min(distances)))
    assert seen == {0, 1, 2}  # each has its turn; one is left out once in 17,000 times


@pytest.mark.parametrize("detach", [False, True])
def test_whom_the_transfer_term_moves(encoder, detach):
    world = world_of(encoder, "regression")
    objective = InfoGraphStar(transfer="all", detach_teacher=detach)
    network = objective.build(world.make, Regression(2))
    step = world.step(LABELLED, UNLABELLED, VALUES.float())
    objective.loss(network, step, Regression(2)).shown["transfer"].backward()
    moved = {name for name, p in network.named_parameters() if p.grad is not None and p.grad.any()}
    assert any(name.startswith("predictor.encoder.") for name in moved)
    assert any(name.startswith("teacher.") for name in moved) != detach
    assert not any(name.startswith(("predictor.head.", "local_global.")) for name in moved)
    assert {int(name.split(".")[1]) for name in moved if name.startswith("projections.")} == {0, 1, 2}


@tasks
def test_mean_teacher(encoder, task):
    world, (kind, targets, loop) = world_of(encoder, task), TASKS[task]
    objective = MeanTeacher(weight=0.4, ramp_up=10)
    network = objective.build(world.make, kind).double().train()
    with torch.no_grad():
        for weight in network.teacher.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.1)
    terms = objective.loss(network, world.step(LABELLED, UNLABELLED, targets, number=4), kind)
    student = predictions(network.predictor, world.some(UNLABELLED))
    teacher = predictions(network.teacher, world.some(UNLABELLED)).detach()
    if task == "classification":
        student, teacher = student.softmax(1), teacher.softmax(1)
    squares = [(a - b) ** 2 for a, b in zip(student.flatten(), teacher.flatten(), strict=True)]
    distance = sum(squares) / len(squares)
    supervised = loop(predictions(network.predictor, world.some(LABELLED)), targets)
    weight = 0.4 * np.exp(-5 * (1 - 4 / 10) ** 2)
    assert distance > 0
    assert_equal(network, terms.total, supervised + weight * distance)
    assert not any(parameter.requires_grad for parameter in network.teacher.parameters())


def test_pseudo_labels(encoder):
    world = world_of(encoder, "classification")
    objective, kind = PseudoLabel(weight=0.5), Classification(3)
    network = objective.build(world.make, kind).double().train()
    outputs = predictions(network.predictor, world.some(LABELLED + UNLABELLED))
    likeliest = outputs[len(LABELLED) :].softmax(1).max(1).values
    objective.threshold = float(np.unique(likeliest.detach().numpy().round(9))[1:3].mean())
    confident = [probability for probability in likeliest if probability > objective.threshold]
    assert 0 < len(confident) < len(UNLABELLED)
    terms = objective.loss(network, world.step(LABELLED, UNLABELLED, CLASSES), kind)
    pseudo = sum(-probability.log() for probability in confident) / len(UNLABELLED)
    supervised = cross_entropy(outputs[: len(LABELLED)], CLASSES)
    assert_equal(network, terms.total, supervised + 0.5 * pseudo)
    assert terms.shown["confident"].item() == pytest.approx(len(confident) / len(UNLABELLED))


def test_entropy(encoder):
    world = world_of(encoder, "classification")
    objective, kind = Entropy(weight=0.5), Classification(3)
    network = objective.build(world.make, kind).double().train()
    terms = objective.loss(network, world.step(LABELLED, UNLABELLED, CLASSES), kind)
    outputs = predictions(network.predictor, world.some(LABELLED + UNLABELLED))
    entropies = [-sum(p * p.log() for p in row.softmax(0)) for row in outputs[len(LABELLED) :]]
    entropy = sum(entropies) / len(entropies)
    assert 0 < entropy.item() < np.log(3)
    assert_equal(network, terms.total, cross_entropy(outputs[: len(LABELLED)], CLASSES) + 0.5 * entropy)
