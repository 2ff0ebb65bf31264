"""One network of an estimator with labels: how it is trained, how its head is found, what it gives.

A network's head sees the graph vector and, on request, RDKit's descriptors behind it. The head of
`objective="vectors"` is a simple model of some of PARTS, which belong to an encoder that stays as it is.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infograph.data.fingerprints import descriptor_names, morgan_fingerprints, rdkit_descriptors
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.molecules import SMILES
from infograph.data.targets import ClassTargets, Targets
from infograph.estimators.architecture import choose_device
from infograph.nn.encoder import GraphEncoder
from infograph.objectives.consistency import follow
from infograph.objectives.heads import Standardised
from infograph.objectives.objective import Objective, Predictor, Task
from infograph.objectives.vectors import Vectors
from infograph.progress import Epoch, OnProgress, Progress, Watcher
from infograph.train.loop import Loader, adam, compute, own_noise, step_loader, train

if TYPE_CHECKING:
    from infograph.estimators.labelled import SemiSupervised

SEEN = 0.8  # of the labelled graphs, by each head of an ensemble
FEWEST = 50  # updates per epoch where a pass over the labelled graphs would be fewer
USUAL = 250  # updates per epoch that batches are cut for, within bounds:
BATCHES = (20, 128)  # labelled graphs per update, at least and at most
CHUNK = 50  # molecules whose descriptors are computed between two reports, half a second
Parts = Mapping[str, NDArray[Any]]  # what heads see, by name
NOTHING: Parts = MappingProxyType({})


class Data(NamedTuple):
    """What a network learns from, and what it is judged by after every epoch."""

    graphs: GraphSet
    values: Tensor  # (G, T) or (G,)
    labelled: IntArray
    everyone: IntArray  # who is learned from without labels
    held_out: tuple[GraphSet, Targets | ClassTargets] | None
    task: Task
    make_encoder: Callable[[], GraphEncoder]


# ---- networks


def train_network(
    model: SemiSupervised, data: Data, watchers: Sequence[Watcher], seed: int, keep: dict[str, Any]
) -> list[Epoch]:
    """Train one more network of a model; its history."""
    parts, device = model._parts(), choose_device(model.device)
    objective, schedule, held_out, task = parts["objective"], parts["schedule"], data.held_out, data.task
    rows = _described(model, data.graphs, watchers) if model._descriptors else None
    scaled = None if rows is None else Standardised.of(rows[data.labelled].astype(np.float64))
    with own_noise(seed):
        make = lambda: Predictor(data.make_encoder(), task.n_outputs, scaled)  # noqa: E731
        network = objective.build(make, task).to(device)
    predictor: Any = network[objective.predicts]
    predictor.encoder.check_sees(model.schema_)
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    given = NOTHING if rows is None else {"descriptors": rows}
    source = source_of(model, predictor.encoder, data.graphs, given)
    loader = _thawing(_loader(model, objective, data, source, seed), network, model.thaw_after)
    if model.averaging is not None:
        network["averaged"] = copy.deepcopy(predictor).requires_grad_(False)
    judged: Any = network["averaged"] if model.averaging is not None else predictor
    model.models_.append(judged)

    def after_update(number: int) -> None:
        objective.after_update(network, number)
        if model.averaging is not None:
            follow(judged, predictor, number, model.averaging, norms=True)

    return train(
        network,
        adam(learned, lr=model.lr, weight_decay=model.weight_decay),
        loader,
        lambda step: objective.loss(network, step, task),
        epochs=model.epochs,
        seed=seed,
        rate=lambda errors: schedule.rate(model.lr, errors, model.epochs),
        stop_after=None if held_out is None else model.early_stopping,
        clip=model.clip,
        validate=None if held_out is None else _validation(model, judged, *held_out),
        after_update=after_update,
        watchers=watchers,
        model=model,
        **keep,
    )


def _validation(
    model: SemiSupervised, judged: Predictor, graphs: GraphSet, targets: Targets | ClassTargets
) -> Callable[[], Epoch]:
    """What says how good a network is on graphs that were held out."""
    source = source_of(model, judged.encoder, graphs)

    def validate() -> Epoch:
        return model._figures(model._finish(compute(judged, source, judged), graphs), targets)

    return validate


def _loader(model: SemiSupervised, objective: Objective, data: Data, source: Any, seed: int) -> Loader:
    device, size = choose_device(model.device), model.batch_size
    usual = min(max(BATCHES[0], len(data.labelled) // USUAL), BATCHES[1])
    size = usual if isinstance(size, str) else size
    return step_loader(
        source,
        data.values.to(device),
        data.labelled,
        data.everyone if objective.needs_unlabelled else data.everyone[:0],
        batch_size=size,
        n_updates=model.steps_per_epoch or max(-(-len(data.labelled) // size), FEWEST),
        seed=seed,
    )


def _thawing(loader: Loader, network: nn.Module, frozen_for: int) -> Loader:
    """A loader with which the encoders of predictors stay as they are for so many epochs."""
    if not frozen_for:
        return loader
    predictors = [part for part in network.modules() if isinstance(part, Predictor)]
    weights = [w for part in predictors for w in part.encoder.parameters() if w.requires_grad]

    def load(epoch: int) -> Any:
        for part in predictors:
            part.frozen = epoch <= frozen_for
            part.train(part.training)
        for weight in weights:
            weight.requires_grad_(epoch > frozen_for)
        return loader(epoch)

    return load


class Described:
    """A source of batches that have descriptors of every graph, for the head."""

    def __init__(self, source: Any, rows: NDArray[Any], device: torch.device) -> None:
        self.source, self.loads, self.most = source, source.loads, source.most
        self.device = device
        self.rows = torch.from_numpy(np.asarray(rows, np.float32)).to(device)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> Any:
        """The batch of `graphs`."""
        made = self.source.batch(graphs, nodes=nodes)
        return replace(made, beside=self.rows[torch.from_numpy(np.asarray(graphs)).to(self.rows.device)])


def source_of(model: SemiSupervised, encoder: GraphEncoder, graphs: GraphSet, given: Parts = NOTHING) -> Any:
    """What makes batches of graphs for a network."""
    device = choose_device(model.device)
    source = encoder.source(graphs, device)
    if not model._descriptors or model.inputs_:
        return source
    rows = given["descriptors"] if "descriptors" in given else descriptors_of(model, graphs)
    return Described(source, rows, device)


# ---- heads on vectors


def fit_head(
    model: SemiSupervised, data: Data, watchers: Sequence[Watcher], seed: int, keep: dict[str, Any]
) -> list[Epoch]:
    """Add one more encoder with a head to a model; the history has one record, and nothing is kept."""
    objective: Vectors = model._parts()["objective"]
    predictor = Predictor(data.make_encoder(), data.task.n_outputs).to(choose_device(model.device)).eval()
    model.models_.append(predictor)
    began, rows = time.perf_counter(), data.labelled
    if model.n_models > 1:  # networks of an ensemble differ in the labels that they see
        few = np.random.default_rng(seed).permutation(rows)[: max(2, round(SEEN * len(rows)))]
        rows = np.sort(few)
    learned, values = data.graphs[rows], data.values[rows].cpu().numpy()
    molecules = learned.schema.column("graph", SMILES.name) is not None
    if not model.inputs_:  # the first network chooses for all
        model._descriptors = descriptor_names() if "descriptors" in objective.needs(molecules) else ()
    else:
        objective = replace(objective, inputs=model.inputs_, head=cast(Any, model.head_))
    parts = {
        part: _described(model, learned, watchers)
        if part == "descriptors"
        else part_of(model, part, learned, predictor.encoder)
        for part in objective.needs(molecules)
    }
    solved = objective.solve(parts, values, data.task, seed, _teller("heads", watchers))
    predictor.head = solved.head.to(choose_device(model.device)).eval()
    model.inputs_, model.head_ = solved.inputs, solved.kind
    model._unseen = model._unseen or (rows, solved.unseen)
    record: Epoch = {"epoch": 1, "loss": min(solved.errors.values())}
    model.heads_ = model.heads_ or solved.errors
    if data.held_out is not None:
        outputs = network_outputs(model, predictor, data.held_out[0])
        record |= model._figures(model._finish(outputs, data.held_out[0]), data.held_out[1])
    return [{**record, "seconds": time.perf_counter() - began}]


def part_of(
    model: SemiSupervised, part: str, graphs: GraphSet, encoder: GraphEncoder, tell: OnProgress | None = None
) -> NDArray[Any]:
    """One of the inputs of a head, for every graph. (G, F)."""
    if part == "fingerprints":
        return np.log1p(morgan_fingerprints(graphs, counts=True).astype(np.float32))
    if part == "descriptors":
        return descriptors_of(model, graphs)
    encode = lambda batch: encoder.vectors(encoder(batch), batch)[batch.which]  # noqa: E731
    return compute(encoder, encoder.source(graphs, choose_device(model.device)), encode, tell=tell)


def descriptors_of(model: SemiSupervised, graphs: GraphSet) -> NDArray[Any]:
    """RDKit's descriptors of every graph, on a logarithmic scale. (G, F)."""
    found = rdkit_descriptors(graphs, model._descriptors)
    return np.asarray(np.sign(found) * np.log1p(np.abs(found)))


def _described(model: SemiSupervised, graphs: GraphSet, watchers: Sequence[Watcher]) -> NDArray[Any]:
    """Descriptors of graphs; watchers hear of them, 10 ms per molecule."""
    tell, found = _teller("descriptors", watchers), []
    for start in range(0, len(graphs), CHUNK):
        some = graphs[start : start + CHUNK]
        found.append(descriptors_of(model, some))
        tell(start + len(some), len(graphs))
    return np.concatenate(found)


def _teller(what: str, watchers: Sequence[Watcher]) -> Callable[[int, int], None]:
    """Tells watchers how many steps of how many are done of something that has no epochs."""
    began = time.perf_counter()

    def tell(step: int, steps: int) -> None:
        now = Progress(1, 1, step, steps, {"seconds": time.perf_counter() - began}, what=what)
        for watcher in watchers:
            watcher(now)

    return tell


def watched_outputs(
    model: SemiSupervised, graphs: GraphSet, watchers: Sequence[Watcher]
) -> list[NDArray[np.float32]]:
    """What every network gives for graphs; watchers hear how far it is."""
    if not watchers:
        return [network_outputs(model, network, graphs) for network in model.models_]
    asked = "descriptors" in model.inputs_.split("+") if model.inputs_ else bool(model._descriptors)
    given = {"descriptors": _described(model, graphs, watchers)} if asked else NOTHING
    tell, before, found = _teller("predicting", watchers), 0, []
    steps = len(model.models_) * len(graphs)
    for network in model.models_:
        told = lambda done, _, before=before: tell(before + done, steps)  # noqa: E731
        found.append(network_outputs(model, network, graphs, given, told))
        before += len(graphs)
    return found


def network_outputs(
    model: SemiSupervised,
    network: Predictor,
    graphs: GraphSet,
    given: Parts = NOTHING,
    tell: OnProgress | None = None,
) -> NDArray[np.float32]:
    """What a network gives for graphs; inputs of a head that are `given` are not made."""
    if not model.inputs_:
        return compute(network, source_of(model, network.encoder, graphs, given), network, tell=tell)
    asked = model.inputs_.split("+")
    rows = [given[p] if p in given else part_of(model, p, graphs, network.encoder, tell) for p in asked]
    with torch.no_grad():
        table = torch.from_numpy(np.hstack(rows).astype(np.float32)).to(choose_device(model.device))
        return np.asarray(network.head(table).cpu().numpy())
