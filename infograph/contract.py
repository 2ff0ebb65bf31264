"""What every estimator of this package promises: scikit-learn's contract, a schema, and a folder it can be
saved to.

A saved model is a folder: `config.json` (class, settings, version, checksum), `model.safetensors` (what was
learned), `schema.json` (what the graphs must look like), `history.json` and `README.md`, a card for people.
No pickle.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from sklearn.base import BaseEstimator, TransformerMixin

import infograph
from infograph.data.schema import Schema
from infograph.data.storage import check_folder, json_ready, read_json, replaced_folder
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, NotFitted

FORMAT = "infograph-model-1"
State = dict[str, NDArray[Any]]


class GraphTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators that turn graphs into vectors.

    Subclasses set `schema_` in `fit`, and say with `_state` and `_set_state` what they learned. `_unsaved`
    names parameters that may be code instead of settings: those are saved as "custom" and given again to
    `load`.
    """

    _unsaved: ClassVar[tuple[str, ...]] = ()
    schema_: Schema

    def _state(self) -> State:
        raise NotImplementedError

    def _set_state(self, state: State) -> None:
        raise NotImplementedError

    def _fitted_settings(self) -> dict[str, Any]:
        """Settings as they were in `fit`, where changing them afterwards would not fit what was learned."""
        return {}

    def _card(self) -> str:
        return ""

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFitted(
                f"this {type(self).__name__} is not fitted yet: call fit(graphs) or load(folder) first"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        tags.no_validation = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to `folder`, whole or not at all; an older model there is replaced."""
        self._check_fitted()
        check_model_folder(folder)
        weights = save_tensors({name: np.ascontiguousarray(value) for name, value in self._state().items()})
        settings = {
            name: "custom" if name in self._unsaved and not _plain(value) else json_ready(value)
            for name, value in {**self.get_params(deep=False), **self._fitted_settings()}.items()
        }
        config = {
            "format": FORMAT,
            "class": type(self).__name__,
            "version": infograph.__version__,
            "params": settings,
            "sha256": hashlib.sha256(weights).hexdigest(),
        }
        with replaced_folder(folder) as work:
            (work / "model.safetensors").write_bytes(weights)
            (work / "config.json").write_text(json.dumps(config, indent=1) + "\n")
            (work / "schema.json").write_text(json.dumps(self.schema_.to_dict(), indent=1) + "\n")
            (work / "history.json").write_text(json.dumps(getattr(self, "history_", []), indent=1) + "\n")
            (work / "README.md").write_text(self._card(), encoding="utf-8", errors="replace")
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, **unsaved: Any) -> Self:
        """Read a model back; it gives bit-equal vectors.

        Args:
            folder: what `save` wrote.
            unsaved: parameters that were code (a user's own `encoder`), given again.

        Raises:
            FileMissing, InvalidFile: a file is missing, damaged, or of another class.
        """
        folder = Path(folder)
        config = _read_config(folder)
        if config["class"] != cls.__name__:
            raise InvalidFile(
                f"{folder} holds a {config['class']}, not a {cls.__name__}; use infograph.load(folder)"
            )
        known = cls._get_param_names()
        strange = [name for name in config["params"] if name not in known]
        if strange:
            raise InvalidFile(
                f"{folder}: unknown setting {strange[0]!r}; it was saved by version {config['version']}"
            )
        model = cls(**{**config["params"], **unsaved})
        model.schema_ = _read_schema(folder / "schema.json")
        try:
            model._set_state(_read_weights(folder / "model.safetensors", config["sha256"]))
        except InvalidParameter as error:
            raise InvalidParameter(f"{folder}: {error}") from error
        model.history_ = _read_history(folder / "history.json")
        return model


def load(folder: str | Path, **unsaved: Any) -> GraphTransformer:
    """Read any saved model of this package, whatever its class."""
    name = _read_config(Path(folder))["class"]
    cls = getattr(infograph, name, None) if isinstance(name, str) else None
    if not (isinstance(cls, type) and issubclass(cls, GraphTransformer)):
        raise InvalidFile(f"{folder} holds a {name!r}, which this version does not know")
    model: GraphTransformer = cls.load(folder, **unsaved)
    return model


def check_model_folder(folder: str | Path) -> None:
    """Make sure, before the work that leads to it, that a model can be saved there.

    Raises:
        InvalidParameter: it is a file, or a folder of other things; only a model, or an empty folder, is
            replaced.
        OSError: the folder it should be in cannot be made or written to.
    """
    folder = Path(folder)
    if folder.is_file():
        raise InvalidParameter(f"{folder} is a file; a model is saved to a folder")
    if folder.resolve() == Path.cwd():
        raise InvalidParameter("the working directory cannot be replaced by a model; name a folder in it")
    if folder.is_dir() and any(folder.iterdir()) and not _is_model(folder):
        raise InvalidParameter(f"{folder} holds other files; save the model to a folder of its own")
    check_folder(folder.absolute().parent)


def _is_model(folder: Path) -> bool:
    try:
        return bool(read_json(folder / "config.json").get("format") == FORMAT)
    except (FileMissing, InvalidFile):
        return False


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileMissing(f"no model folder {folder}")
    config = read_json(folder / "config.json")
    if config.get("format") != FORMAT or not {"class", "params", "sha256", "version"} <= set(config):
        raise InvalidFile(f"{folder / 'config.json'} is not a saved model of this package")
    if not isinstance(config["params"], dict):
        raise InvalidFile(f"{folder / 'config.json'} is damaged: 'params' holds no settings")
    return config


def _read_schema(path: Path) -> Schema:
    content = read_json(path)
    try:
        return Schema.from_dict(content)
    except InvalidFile as error:
        raise InvalidFile(f"{path} is damaged, {error}; save the model again") from error


def _read_history(path: Path) -> list[dict[str, float]]:
    if not path.is_file():
        return []
    try:
        history = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(f"{path} is damaged, it holds no JSON: {error}; save the model again") from error
    if not isinstance(history, list) or not all(isinstance(epoch, dict) for epoch in history):
        raise InvalidFile(f"{path} is damaged: expected a list of epochs; save the model again")
    return history


def _read_weights(path: Path, expected: str) -> State:
    if not path.is_file():
        raise FileMissing(f"{path} is missing: save the model again")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        raise InvalidFile(
            f"{path} is damaged: its checksum is not the one in config.json; save the model again"
        )
    try:
        state: State = load_tensors(content)
    except SafetensorError as error:
        raise InvalidFile(f"{path} is damaged ({error}); save the model again") from error
    return state


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
