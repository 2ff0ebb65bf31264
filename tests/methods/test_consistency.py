"""Mean Teacher's average, noise, adversarial changes, and the weight that rises."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import normalize

from infograph import load_dataset
from infograph.errors import InvalidParameter
from infograph.nn.norm import WeightedBatchNorm
from infograph.objectives import ObjectiveSettings, make_objective
from infograph.objectives.consistency import (
    MeanTeacher,
    PiModel,
    RampUp,
    VirtualAdversarial,
    perturbed,
    unremembered,
)
from infograph.objectives.objective import Classification, Regression
from tests.methods.loops import toy_molecules, world

CLASSES = torch.tensor([2, 0, 1, 1])
VALUES = torch.tensor([[0.3], [float("nan")], [2.0], [-0.4]])
LABELLED, UNLABELLED = [0, 1, 2, 3], [4, 0, 5, 1, 6]
TASKS = {"regression": (Regression(1), VALUES), "classification": (Classification(3), CLASSES)}
tasks = pytest.mark.parametrize("task", TASKS)


@pytest.fixture(params=["gin", "enn"])
def make_world(request):
    def make(task):
        n_outputs = TASKS[task][0].n_outputs
        if request.param == "enn":
            return world(toy_molecules([4, 1, 6, 3, 5, 2, 4]), n_outputs, encoder="enn-s2s", dim=24)
        return world(load_dataset("MUTAG")[[0, 3, 30, 3, 5, 0, 7]], n_outputs, encoder="gin", dim=24)

    return make


@pytest.fixture(autouse=True)
def seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@given(st.floats(0, 10), st.integers(0, 50), st.integers(0, 60))
def test_ramp_up_is_its_formula(weight, updates, update):
    expected = weight * math.exp(-5 * (1 - update / updates) ** 2) if update < updates else weight
    assert RampUp(weight, updates).at(update) == pytest.approx(expected)


def test_ramp_up_rises_from_almost_nothing():
    weights = [RampUp(2.0, 20).at(update) for update in range(25)]
    assert weights[0] == pytest.approx(2 * math.exp(-5))
    assert weights == sorted(weights)
    assert weights[20:] == [2.0] * 5


def test_the_teacher_starts_as_a_copy_and_is_the_result(make_world):
    network = MeanTeacher(make_world("regression").make, Regression(1))
    assert network.result is network.teacher
    for own, student in zip(network.teacher.parameters(), network.predictor.parameters(), strict=True):
        assert torch.equal(own, student)
        assert own.data_ptr() != student.data_ptr()


@pytest.mark.parametrize(("decay", "n_updates"), [(0.999, 12), (0.75, 12), (0.0, 3), (1.0, 7)])
def test_the_average_is_its_closed_form(make_world, decay, n_updates):
    """While 1 - 1/(t+1) < decay it is the mean of all students so far, then an exponential one."""
    network = MeanTeacher(make_world("regression").make, Regression(1), decay=decay).double()
    students = []
    for _ in range(n_updates):
        with torch.no_grad():
            for weight in network.predictor.parameters():
                weight.add_(torch.randn_like(weight))
        network.after_update()
        students.append([weight.detach().clone() for weight in network.predictor.parameters()])
    n_mean = sum(1 - 1 / (t + 1) <= decay for t in range(n_updates))  # students in the plain mean
    n_exponential = n_updates - n_mean
    shares = [decay**n_exponential / n_mean] * n_mean
    shares += [(1 - decay) * decay ** (n_exponential - 1 - step) for step in range(n_exponential)]
    assert sum(shares) == pytest.approx(1)
    for place, own in enumerate(network.teacher.parameters()):
        expected = sum(share * student[place] for share, student in zip(shares, students, strict=True))
        torch.testing.assert_close(own.detach(), expected)
    assert int(network.updates) == n_updates


@tasks
@pytest.mark.parametrize("method", [MeanTeacher, PiModel])
def test_equal_networks_without_noise_agree(make_world, task, method):
    """BatchNorm in training mode makes no distance of its own."""
    made, (kind, targets) = make_world(task), TASKS[task]
    network = method(made.make, kind, noise=0.0).train()
    terms = network(made.step(LABELLED, UNLABELLED, targets))
    assert terms.shown["consistency"].item() < 1e-12
    assert terms.total.item() == pytest.approx(terms.shown["supervised"].item())


@tasks
def test_pi_model_compares_two_draws_of_noise(make_world, task):
    made, (kind, targets) = make_world(task), TASKS[task]
    network = PiModel(made.make, kind, RampUp(0.3), noise=0.2).train()
    step = made.step(LABELLED, UNLABELLED, targets)
    torch.manual_seed(5)
    terms = network(step)
    torch.manual_seed(5)
    batches = [step.labelled, step.unlabelled, step.unlabelled]
    noisy = [replace(batch, x=batch.x + 0.2 * torch.randn_like(batch.x)) for batch in batches]
    labelled, once, again = (network.predictor(batch) for batch in noisy)
    if task == "classification":
        once, again = once.softmax(1), again.softmax(1)
    distance = ((once - again) ** 2).mean()
    assert distance.item() > 0
    expected = kind.loss(labelled, targets) + 0.3 * distance
    assert terms.total.item() == pytest.approx(expected.item(), rel=1e-5)
    weights = list(network.predictor.parameters())
    found = torch.autograd.grad(terms.total, weights)  # both draws are learned from
    for slope, other in zip(found, torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(slope, other, rtol=1e-3, atol=1e-5)


def test_noise_is_on_the_inputs_alone_and_repeats_with_the_seed(make_world):
    made = make_world("regression")
    batch = made.step(LABELLED, UNLABELLED, VALUES).unlabelled
    assert perturbed(batch, 0.0) is batch
    torch.manual_seed(1)
    noisy = perturbed(batch, 0.5)
    torch.manual_seed(1)
    assert torch.equal(perturbed(batch, 0.5).x, noisy.x)
    assert (noisy.x - batch.x).std().item() == pytest.approx(0.5, rel=0.4)
    assert noisy.rounds is batch.rounds


def divergences(network: VirtualAdversarial, step, kind, radius: float) -> tuple[float, float]:
    """For the adversarial change, and the mean for random ones of the same length per node."""
    wanted = network.predictor(step.unlabelled).detach()
    batch = step.unlabelled
    worst = kind.divergence(network._against(batch, radius * network._direction(batch, wanted)), wanted)
    random = [
        kind.divergence(network._against(batch, radius * normalize(torch.randn_like(batch.x), dim=1)), wanted)
        for _ in range(20)
    ]
    return worst.item(), float(np.mean([value.item() for value in random]))


@tasks
def test_adversarial_changes_hurt_more_than_random_ones(make_world, task):
    made, (kind, targets) = make_world(task), TASKS[task]
    step, ratios = made.step(LABELLED, UNLABELLED, targets), []
    for seed in range(10):
        torch.manual_seed(seed)
        network = VirtualAdversarial(made.make, kind).double().train()
        worst, random = divergences(network, step, kind, 0.1)
        ratios.append(worst / random)
    assert np.exp(np.mean(np.log(ratios))) > 1.5


@tasks
def test_the_adversarial_direction_is_a_unit_vector_per_node(make_world, task):
    made, (kind, targets) = make_world(task), TASKS[task]
    network = VirtualAdversarial(made.make, kind).train()
    step = made.step(LABELLED, UNLABELLED, targets)
    batch = step.unlabelled
    direction = network._direction(batch, network.predictor(batch).detach())
    assert direction.shape == batch.x.shape
    moved = direction.norm(dim=1)[direction.any(dim=1)]  # not: padding, and nodes that no unit hears
    assert len(moved) >= 3
    torch.testing.assert_close(moved, torch.ones(len(moved)))
    assert not direction.requires_grad
    assert all(parameter.grad is None for parameter in network.parameters())


@tasks
def test_adversarial_loss_is_its_equation(make_world, task):
    made, (kind, targets) = make_world(task), TASKS[task]
    network = VirtualAdversarial(made.make, kind, RampUp(0.6), radius=0.3).double().train()
    step = made.step(LABELLED, UNLABELLED, targets)
    torch.manual_seed(3)
    terms = network(step)
    torch.manual_seed(3)
    before = network.predictor(step.unlabelled).detach()
    change = 0.3 * network._direction(step.unlabelled, before)
    after = network.predictor(replace(step.unlabelled, x=step.unlabelled.x + change))
    if task == "classification":
        p, q = before.softmax(1), after.softmax(1)
        divergence = sum((a * (a / b).log()).sum() for a, b in zip(p, q, strict=True)) / len(p)
    else:
        divergence = ((after - before) ** 2).mean()
    supervised = kind.loss(network.predictor(step.labelled), targets)
    assert terms.shown["adversarial"].item() == pytest.approx(divergence.item(), rel=1e-6)
    assert terms.total.item() == pytest.approx((supervised + 0.6 * divergence).item(), rel=1e-6)


def test_changed_graphs_leave_no_trace_in_the_statistics(make_world):
    made = make_world("regression")
    step = made.step(LABELLED, UNLABELLED, VALUES)
    network = VirtualAdversarial(made.make, Regression(1), radius=100.0).train()
    plain = MeanTeacher(made.make, Regression(1))
    plain.predictor.load_state_dict(network.predictor.state_dict())
    plain.train()
    network(step)
    plain(step)
    for name, buffer in network.predictor.named_buffers():
        if "running" in name:
            torch.testing.assert_close(buffer, plain.predictor.get_buffer(name))


def test_statistics_are_kept_again_afterwards():
    norm = WeightedBatchNorm(2)
    states, counts = torch.randn(5, 2), torch.ones(5)
    with pytest.raises(ZeroDivisionError), unremembered(norm):
        norm(states, counts)
        raise ZeroDivisionError
    assert not norm.running_mean.any()
    norm(states, counts)
    torch.testing.assert_close(norm.running_mean, 0.1 * states.mean(0))


@pytest.mark.parametrize("name", ["pseudo-label", "entropy"])
def test_objectives_for_classes_refuse_numbers(make_world, name):
    with pytest.raises(InvalidParameter, match=f"objective='{name}' is for classes: use InfoGraphClassifier"):
        make_objective(name, make_world("regression").make, Regression(1), ObjectiveSettings())
