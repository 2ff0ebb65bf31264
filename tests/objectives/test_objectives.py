"""Every objective's loss and gradients against loops written from the equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from infograph import (
    ENN,
    GIN,
    Entropy,
    InfoGraphStar,
    InfoGraphWithLabels,
    MeanTeacher,
    MutualInformation,
    PiModel,
    PseudoLabel,
    Supervised,
    VirtualAdversarial,
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


class Case:
    """An objective's network in training mode, one update, and its loss; the loops take the same weights."""

    def __init__(self, objective, encoder: str, task: str) -> None:
        self.objective, (self.kind, self.targets, self.loop) = objective, TASKS[task]
        mutag = load_dataset("MUTAG")[[0, 3, 30, 3, 5, 0, 7]]  # three graphs are there twice
        graphs = toy_molecules([4, 1, 6, 3, 5, 2, 4]) if encoder == "enn" else mutag
        spec = ENN(layers=3) if encoder == "enn" else GIN(layers=3, readout="sum")
        self.world = world(graphs, self.kind.n_outputs, spec)
        self.network = objective.build(self.world.make, self.kind).double().train()
        self.step = self.world.step(LABELLED, UNLABELLED, self.targets, number=4)

    def terms(self, seed: int = 0):
        torch.manual_seed(seed)
        return self.objective.loss(self.network, self.step, self.kind)

    def predicted(self, chosen: list[int], part: str = "predictor") -> Tensor:
        return predictions(self.network[part], self.world.some(chosen))

    @property
    def supervised(self) -> Tensor:
        return self.loop(self.predicted(LABELLED), self.targets)


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
    case = Case(Supervised(), encoder, task)
    terms = case.terms()
    assert_equal(case.network, terms.total, case.supervised)
    assert terms.shown["supervised"].item() == terms.total.item()


@tasks
@pytest.mark.parametrize("patches", ["all", "last"])
def test_equation_6(encoder, task, patches):
    case = Case(InfoGraphWithLabels(0.03, MutualInformation(patches=patches)), encoder, task)
    terms, net = case.terms(), case.network
    unsupervised = patch_loss(net.predictor.encoder, net.local_global, case.world.some(UNLABELLED))
    assert_equal(net, terms.total, case.supervised + 0.03 * unsupervised)
    assert terms.shown["unsupervised"].item() == pytest.approx(unsupervised.item(), rel=1e-6)


def star_terms(case: Case, layers: list[int]):
    """Supervised, unsupervised and transfer term of Eq. 8, as a mean over their own graphs each."""
    net, everyone, objective = case.network, LABELLED + UNLABELLED, case.objective
    every, some = case.world.some(everyone), case.world.some(UNLABELLED)
    supervised = case.loop(case.predicted(everyone)[: len(LABELLED)], case.targets)
    unsupervised = patch_loss(net.teacher, net.local_global, some)
    own, other = node_states(net.predictor.encoder, every), node_states(net.teacher, some)
    sizes = some.sizes.tolist() if objective.transfer_scale == "graph" else [1] * len(UNLABELLED)
    transfer = torch.zeros((), dtype=torch.float64)
    for k in layers:
        student = graph_level(net.predictor.encoder, own[k], every)[len(LABELLED) :]
        teacher = graph_level(net.teacher, other[k], some)
        teacher = teacher.detach() if objective.detach_teacher else teacher
        transfer = transfer + transfer_loop(*net.projections[k], student, teacher, sizes)
    return supervised, unsupervised, transfer


@tasks
@pytest.mark.parametrize(
    ("settings", "layers"),
    [
        ({"transfer": "all"}, [0, 1, 2]),
        ({"transfer": "all", "transfer_scale": "mean"}, [0, 1, 2]),
        ({"transfer": "last", "detach_teacher": True}, [2]),
    ],
)
def test_equation_8(encoder, task, settings, layers):
    case = Case(InfoGraphStar(0.7, **settings), encoder, task)
    terms, expected = case.terms(), star_terms(case, layers)
    for name, value in zip(("supervised", "unsupervised", "transfer"), expected, strict=True):
        assert terms.shown[name].item() == pytest.approx(value.item(), rel=1e-6), name
    assert_equal(case.network, terms.total, expected[0] + expected[1] + 0.7 * expected[2])


def test_a_random_layer_is_one_of_all_and_not_multiplied(encoder):
    case = Case(InfoGraphStar(), encoder, "regression")
    each = [star_terms(case, [k])[2].item() for k in range(3)]
    seen = set()
    for seed in range(24):
        found = case.terms(seed).shown["transfer"].item()
        distances = [abs(found - value) for value in each]
        assert min(distances) < 1e-6 * max(each)
        seen.add(distances.index(min(distances)))
    assert seen == {0, 1, 2}


@tasks
def test_mean_teacher(encoder, task):
    case = Case(MeanTeacher(weight=0.4, ramp_up=10), encoder, task)
    for name, own in case.network.teacher.named_parameters():
        assert torch.equal(own, case.network.predictor.get_parameter(name)) and not own.requires_grad
        own.add_(torch.randn_like(own), alpha=0.1)
    student, teacher = case.predicted(UNLABELLED), case.predicted(UNLABELLED, "teacher").detach()
    if task == "classification":
        student, teacher = student.softmax(1), teacher.softmax(1)
    squares = [(a - b) ** 2 for a, b in zip(student.flatten(), teacher.flatten(), strict=True)]
    distance = sum(squares) / len(squares)
    assert distance > 0
    weight = 0.4 * np.exp(-5 * (1 - 4 / 10) ** 2)  # the fifth of ten updates in which it rises
    assert_equal(case.network, case.terms().total, case.supervised + weight * distance)
    assert MeanTeacher.predicts == "teacher" and case.objective.weight_at(10) == 0.4


@pytest.mark.parametrize(("decay", "n_updates"), [(0.999, 12), (0.75, 12), (0.0, 3), (1.0, 7)])
def test_the_average_of_mean_teacher_is_its_closed_form(decay, n_updates):
    """While 1 - 1/(t+1) < decay it is the mean of all students so far, then an exponential one."""
    network, students = Case(MeanTeacher(), "gin", "regression").network, []
    for number in range(n_updates):
        with torch.no_grad():
            for weight in network.predictor.parameters():
                weight.add_(torch.randn_like(weight))
        MeanTeacher(decay=decay).after_update(network, number)
        students.append([weight.detach().clone() for weight in network.predictor.parameters()])
    n_mean = sum(1 - 1 / (t + 1) <= decay for t in range(n_updates))  # students in the plain mean
    n_exponential = n_updates - n_mean
    shares = [decay**n_exponential / n_mean] * n_mean
    shares += [(1 - decay) * decay ** (n_exponential - 1 - step) for step in range(n_exponential)]
    for place, own in enumerate(network.teacher.parameters()):
        expected = sum(share * student[place] for share, student in zip(shares, students, strict=True))
        torch.testing.assert_close(own.detach(), expected)


@tasks
@pytest.mark.parametrize("method", [MeanTeacher, PiModel])
def test_equal_networks_without_noise_agree(encoder, task, method):
    """BatchNorm in training mode makes no distance of its own."""
    assert Case(method(noise=0.0), encoder, task).terms().shown["consistency"].item() < 1e-12


@tasks
def test_pi_model_compares_two_draws_of_noise(encoder, task):
    case = Case(PiModel(weight=0.3, noise=0.2), encoder, task)
    terms = case.terms(seed=5)
    torch.manual_seed(5)
    batches = [case.step.labelled, case.step.unlabelled, case.step.unlabelled]
    changed = [replace(batch, x=batch.x + 0.2 * torch.randn_like(batch.x)) for batch in batches]
    labelled, once, again = (case.network.predictor(batch) for batch in changed)
    if task == "classification":
        once, again = once.softmax(1), again.softmax(1)
    distance = ((once - again) ** 2).mean()
    assert distance.item() > 0
    assert_equal(case.network, terms.total, case.kind.loss(labelled, case.targets) + 0.3 * distance)


@tasks
def test_adversarial_loss_is_its_equation(encoder, task):
    """The direction is the gradient of the divergence at a tiny random change, per node."""
    case = Case(VirtualAdversarial(weight=0.6, radius=0.3), encoder, task)
    batch, predict = case.step.unlabelled, case.network.predictor
    terms = case.terms(seed=3)
    kept = [buffer.clone() for name, buffer in predict.named_buffers() if "running" in name]
    torch.manual_seed(3)
    before = predict(batch).detach()
    trial = (1e-3 * normalize(torch.randn_like(batch.x), dim=1)).requires_grad_()

    def divergence(after):
        if task == "regression":
            return ((after - before) ** 2).mean()
        pairs = zip(before.softmax(1), after.softmax(1), strict=True)
        return sum((a * (a / b).log()).sum() for a, b in pairs) / len(before)

    (slope,) = torch.autograd.grad(divergence(predict(replace(batch, x=batch.x + trial))), trial)
    length = slope.norm(dim=1, keepdim=True).clamp(min=1e-12)
    expected = divergence(predict(replace(batch, x=batch.x + 0.3 * slope / length)))
    supervised = case.kind.loss(predict(case.step.labelled), case.targets)
    assert terms.shown["adversarial"].item() == pytest.approx(expected.item(), rel=1e-5)
    assert terms.total.item() == pytest.approx((supervised + 0.6 * expected).item(), rel=1e-5)
    torch.manual_seed(0)  # the same weights, and no changed graphs: these leave no trace in BatchNorm
    plain = Case(MeanTeacher(), encoder, task)
    plain.network.predictor.load_state_dict(predict.state_dict())
    for module in plain.network.predictor.modules():
        if hasattr(module, "reset_running_stats"):
            module.reset_running_stats()
    plain.terms()
    found = [b for name, b in plain.network.predictor.named_buffers() if "running" in name]
    for buffer, other in zip(kept, found, strict=True):
        torch.testing.assert_close(buffer, other)


def test_pseudo_labels(encoder):
    case = Case(PseudoLabel(weight=0.5), encoder, "classification")
    outputs = case.predicted(LABELLED + UNLABELLED)
    likeliest = outputs[len(LABELLED) :].softmax(1).max(1).values
    threshold = case.objective.threshold = float(np.unique(likeliest.detach().numpy().round(9))[1:3].mean())
    confident = [probability for probability in likeliest if probability > threshold]
    assert 0 < len(confident) < len(UNLABELLED)
    pseudo = sum(-probability.log() for probability in confident) / len(UNLABELLED)
    terms, supervised = case.terms(), cross_entropy(outputs[: len(LABELLED)], CLASSES)
    assert_equal(case.network, terms.total, supervised + 0.5 * pseudo)
    assert terms.shown["confident"].item() == pytest.approx(len(confident) / len(UNLABELLED))


def test_entropy(encoder):
    case = Case(Entropy(weight=0.5), encoder, "classification")
    outputs = case.predicted(LABELLED + UNLABELLED)
    entropies = [-sum(p * p.log() for p in row.softmax(0)) for row in outputs[len(LABELLED) :]]
    entropy = sum(entropies) / len(entropies)
    supervised = cross_entropy(outputs[: len(LABELLED)], CLASSES)
    assert_equal(case.network, case.terms().total, supervised + 0.5 * entropy)
