"""Mean Teacher's average, noise, adversarial changes, and the weight that rises."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import normalize

from infograph import ENN, GIN, Entropy, MeanTeacher, PiModel, VirtualAdversarial, load_dataset
from infograph.objectives.objective import Classification, Regression
from tests.objectives.loops import toy_molecules, world

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
            return world(toy_molecules([4, 1, 6, 3, 5, 2, 4]), n_outputs, ENN(layers=3), dim=24)
        return world(load_dataset("MUTAG")[[0, 3, 30, 3, 5, 0, 7]], n_outputs, GIN(layers=3), dim=24)

    return make


@pytest.fixture(autouse=True)
def seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@given(st.floats(0, 10), st.integers(0, 50), st.integers(0, 60))
def test_ramp_up_is_its_formula(weight, updates, update):
    expected = weight * math.exp(-5 * (1 - update / updates) ** 2) if update < updates else weight
    assert Entropy(weight, updates).weight_at(update) == pytest.approx(expected)


def test_the_teacher_starts_as_a_copy_and_is_the_result(make_world):
    network = MeanTeacher().build(make_world("regression").make, Regression(1))
    assert MeanTeacher.predicts == "teacher"
    for own, student in zip(network.teacher.parameters(), network.predictor.parameters(), strict=True):
        assert torch.equal(own, student)
        assert own.data_ptr() != student.data_ptr()


@pytest.mark.parametrize(("decay", "n_updates"), [(0.999, 12), (0.75, 12), (0.0, 3), (1.0, 7)])
def test_the_average_is_its_closed_form(make_world, decay, n_updates):
    """While 1 - 1/(t+1) < decay it is the mean of all students so far, then an exponential one."""
    objective = MeanTeacher(decay=decay)
    network = objective.build(make_world("regression").make, Regression(1)).double()
    students = []
    for number in range(n_updates):
        with torch.no_grad():
            for weight in network.predictor.parameters():
                weight.add_(torch.randn_like(weight))
        objective.after_update(network, number)
        students.append([weight.detach().clone() for weight in network.predictor.parameters()])
    n_mean = sum(1 - 1 / (t + 1) <= decay for t in range(n_updates))  # students in the plain mean
    n_exponential = n_updates - n_mean
    shares = [decay**n_exponential / n_mean] * n_mean
    shares += [(1 - decay) * decay ** (n_exponential - 1 - step) for step in range(n_exponential)]
    assert sum(shares) == pytest.approx(1)
    for place, own in enumerate(network.teacher.parameters()):
        expected = sum(share * student[place] for share, student in zip(shares, students, strict=True))
        torch.testing.assert_close(own.detach(), expected)


@tasks
@pytest.mark.parametrize("method", [MeanTeacher, PiModel])
def test_equal_networks_without_noise_agree(make_world, task, method):
    """BatchNorm in training mode makes no distance of its own."""
    made, (kind, targets) = make_world(task), TASKS[task]
    objective = method(noise=0.0)
    network = objective.build(made.make, kind).train()
    terms = objective.loss(network, made.step(LABELLED, UNLABELLED, targets), kind)
    assert terms.shown["consistency"].item() < 1e-12
    assert terms.total.item() == pytest.approx(terms.shown["supervised"].item())


@tasks
def test_pi_model_compares_two_draws_of_noise(make_world, task):
    made, (kind, targets) = make_world(task), TASKS[task]
    objective = PiModel(weight=0.3, noise=0.2)
    network = objective.build(made.make, kind).train()
    step = made.step(LABELLED, UNLABELLED, targets)
    torch.manual_seed(5)
    terms = objective.loss(network, step, kind)
    torch.manual_seed(5)
    batches = [step.labelled, step.unlabelled, step.unlabelled]
    changed = [replace(batch, x=batch.x + 0.2 * torch.randn_like(batch.x)) for batch in batches]
    labelled, once, again = (network.predictor(batch) for batch in changed)
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


@tasks
def test_adversarial_loss_is_its_equation(make_world, task):
    """The direction is the gradient of the divergence at a tiny random change, per node."""
    made, (kind, targets) = make_world(task), TASKS[task]
    objective = VirtualAdversarial(weight=0.6, radius=0.3)
    network = objective.build(made.make, kind).double().train()
    step = made.step(LABELLED, UNLABELLED, targets)
    batch, predict = step.unlabelled, network.predictor
    torch.manual_seed(3)
    terms = objective.loss(network, step, kind)
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
    supervised = kind.loss(predict(step.labelled), targets)
    assert terms.shown["adversarial"].item() == pytest.approx(expected.item(), rel=1e-5)
    assert terms.total.item() == pytest.approx((supervised + 0.6 * expected).item(), rel=1e-5)


def test_changed_graphs_leave_no_trace_in_the_statistics(make_world):
    made = make_world("regression")
    step = made.step(LABELLED, UNLABELLED, VALUES)
    objective, other, kind = VirtualAdversarial(radius=100.0), MeanTeacher(), Regression(1)
    network, plain = objective.build(made.make, kind).train(), other.build(made.make, kind).train()
    plain.predictor.load_state_dict(network.predictor.state_dict())
    objective.loss(network, step, kind)
    other.loss(plain, step, kind)
    for name, buffer in network.predictor.named_buffers():
        if "running" in name:
            torch.testing.assert_close(buffer, plain.predictor.get_buffer(name))
