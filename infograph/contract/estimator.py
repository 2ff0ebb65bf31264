"""What all estimators share: a schema, and a folder they can be saved to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, TransformerMixin

import infograph
from infograph.contract.folder import (
    State,
    check_model_folder,
    read_config,
    read_history,
    read_schema,
    read_weights,
    write_model,
)
from infograph.data.schema import Schema
from infograph.data.storage import json_ready
from infograph.errors import InvalidFile, InvalidParameter, NotFitted


class GraphEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators of this package.

    Subclasses set `schema_` in `fit`, and say in two pairs of methods what they learned:
      * `_state` and `_set_state`: arrays by name, for `model.safetensors`;
      * `_learned` and `_set_learned`: everything else, ready for JSON (names and units of targets, classes,
        means and scales), which is the entry "learned" of `config.json`.
    `load` restores the settings, then `schema_`, then calls `_set_learned` and last `_set_state`, so that a
    network can be built from what came before. Overriding one of the second pair means calling `super()`.

    `_unsaved` names parameters that may be code instead of settings: those are saved as "custom" and given
    again to `load`.
    """

    _unsaved: ClassVar[tuple[str, ...]] = ()
    schema_: Schema

    def _state(self) -> State:
        raise NotImplementedError

    def _set_state(self, state: State) -> None:
        raise NotImplementedError

    def _learned(self) -> dict[str, Any]:
        """What was learned and is no array; lists, texts, numbers and None by name."""
        return {}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        """Take over what `_learned` gave, as JSON gives it back (lists instead of tuples)."""

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
        return tags

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to `folder`, whole or not at all; an older model there is replaced."""
        self._check_fitted()
        check_model_folder(folder)
        settings = {
            name: "custom" if name in self._unsaved and not _plain(value) else json_ready(value)
            for name, value in {**self.get_params(deep=False), **self._fitted_settings()}.items()
        }
        config = {
            "class": type(self).__name__,
            "version": infograph.__version__,
            "params": settings,
            "learned": json_ready(self._learned()),
        }
        history = getattr(self, "history_", [])
        write_model(folder, config, self._state(), self.schema_, history, self._card())
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, **unsaved: Any) -> Self:
        """Read a model back; it gives bit-equal results.

        Args:
            folder: what `save` wrote.
            unsaved: parameters that were code (a user's own `encoder`), given again.

        Raises:
            FileMissing, InvalidFile: a file is missing, damaged, or of another class.
        """
        folder = Path(folder)
        config = read_config(folder)
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
        model.schema_ = read_schema(folder / "schema.json")
        try:
            model._set_learned(config["learned"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidFile(
                f"{folder / 'config.json'} is damaged: 'learned' is not what a {cls.__name__} writes "
                f"({type(error).__name__}: {error}); save the model again"
            ) from error
        try:
            model._set_state(read_weights(folder / "model.safetensors", config["sha256"]))
        except InvalidParameter as error:
            raise InvalidParameter(f"{folder}: {error}") from error
        model.history_ = read_history(folder / "history.json")
        return model


class GraphTransformer(TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Base of all estimators that turn graphs into vectors."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def load(folder: str | Path, **unsaved: Any) -> Any:
    """Read any saved model of this package, whatever its class (a `GraphEstimator`)."""
    name = read_config(Path(folder))["class"]
    cls = getattr(infograph, name, None) if isinstance(name, str) else None
    if not (isinstance(cls, type) and issubclass(cls, GraphEstimator)):
        raise InvalidFile(f"{folder} holds a {name!r}, which this version does not know")
    return cls.load(folder, **unsaved)


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
