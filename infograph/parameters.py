"""What estimators are told: checks of parameters, small objects as parameters, and their saved form.

Encoders, objectives and schedules are objects with parameters of their own, for which a name is the short
form: `encoder="gin"` is `encoder=GIN()`. Version 1 of saved models, and the names of result files for ever,
have all their parameters in one flat list; `flat` and `nested` translate by the same table.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Self, TypeVar, cast

from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from infograph.errors import InvalidParameter
from infograph.io import json_ready

Estimator = TypeVar("Estimator")
PLAIN = (str, int, float, bool, list, tuple)
CUSTOM = "custom"  # stands for code in a saved model, which has to be given again


def check_parameters(owner: Any) -> None:
    """Refuse parameters outside `owner._parameter_constraints`, and outside those of objects among them."""
    given = owner.get_params(deep=False)
    for name, value in given.items():
        if isinstance(value, type) and issubclass(value, Spec):
            cls = value.__name__
            raise InvalidParameter(f"{name}={cls} is a class: give an object, {cls}(...)")
    try:
        validate_parameter_constraints(owner._parameter_constraints, given, type(owner).__name__)
    except InvalidParameterError as error:
        raise InvalidParameter(str(error)) from None
    for value in given.values():
        if isinstance(value, Spec):
            check_parameters(value)


class Spec:
    """Base of dataclasses that are parameters of an estimator: nested names reach their fields.

    `objective__lam` is the field `lam` of the parameter `objective` where that is an object and not a name.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def copy(self) -> Self:
        """A copy that changes here do not reach."""
        return type(self)(**{k: frozen(v) for k, v in self.get_params(deep=False).items()})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The fields; with `deep` those of fields that have parameters, too."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        if not deep:
            return own
        inner = ((name, value.get_params()) for name, value in own.items() if isinstance(value, Spec))
        return own | {f"{name}__{k}": v for name, params in inner for k, v in params.items()}

    def set_params(self, **given: Any) -> Self:
        """Change fields, in place."""
        for name, value in given.items():
            own, _, rest = name.partition("__")
            known = self.get_params(deep=False)
            if own not in known:
                raise InvalidParameter(
                    f"{type(self).__name__} has no parameter {own!r}; it has: {', '.join(known) or 'none'}"
                )
            if rest:
                known[own].set_params(**{rest: value})
            else:
                setattr(self, own, value)
        return self


def frozen(value: Any) -> Any:
    """A parameter as it is now, whatever `set_params` does to it later."""
    return value.copy() if isinstance(value, Spec) else value


def saved(value: Any) -> Any:
    """A parameter as it is written to a model's folder; code, and objects of other packages, as "custom"."""
    if isinstance(value, Spec):
        if not type(value).__module__.startswith("infograph."):
            return CUSTOM
        own = {k: saved(v) for k, v in value.get_params(deep=False).items()}
        return {"class": type(value).__name__, **own}
    plain = isinstance(value, (*PLAIN, Mapping, type(None))) or type(value).__module__ == "numpy"
    return json_ready(value) if plain else CUSTOM


def restored(value: Any, given: Any = None) -> Any:
    """The inverse of `saved`; `given` takes the place of code: an object that holds it, or only the code."""
    if isinstance(given, Spec) or value == CUSTOM:
        return value if given is None else given
    if not isinstance(value, Mapping) or "class" not in value:
        return value if given is None else given
    import infograph

    cls = getattr(infograph, str(value["class"]), None)
    if not (isinstance(cls, type) and issubclass(cls, Spec)):
        raise InvalidParameter(f"a {value['class']!r}, which this version does not know")
    inner = {k: given if v == CUSTOM and given is not None else restored(v) for k, v in value.items()}
    del inner["class"]
    return cls(**inner)


# ---- the flat names of format 1

GIN_FIELDS = ("layers", "readout", "norm", "learn_eps", "node_features")
INFORMATION = ("weighting", "bound", "discriminator", "prior", "patches", "memory_mb")
TRANSFER = ("lam", "transfer", "transfer_scale", "detach_teacher")
SECOND = ("consistency", "ramp_up")  # the first is called `weight` now
OBJECTIVES: dict[str, tuple[str, tuple[str, ...]]] = {  # name -> class, and its flat names
    "supervised": ("Supervised", ()),
    "infograph": ("InfoGraphWithLabels", ("lam",)),
    "infograph*": ("InfoGraphStar", TRANSFER),
    "mean-teacher": ("MeanTeacher", (*SECOND, "decay", "noise")),
    "pi-model": ("PiModel", (*SECOND, "noise")),
    "pseudo-label": ("PseudoLabel", (*SECOND, "threshold")),
    "entropy": ("Entropy", SECOND),
    "vat": ("VirtualAdversarial", (*SECOND, "radius")),
}
_GIN: dict[str, Any] = {"layers": 4, "readout": "sum", "norm": True, "node_features": "auto"}
_STAR = {"lam": 1e-3, "transfer": "random", "transfer_scale": "graph", "detach_teacher": False}
_SECOND = {"consistency": 1.0, "ramp_up": 0, "decay": 0.999, "noise": None, "threshold": 0.95, "radius": 0.5}
_EXTRA = {"learn_eps": False, "patches": "all", "factor": 0.7, "patience": 5}
_PAPER = {"learn_eps": False, "weighting": "graph", "bound": "jsd", "discriminator": "paper", "prior": 0.0}
_LABELLED = {**_GIN, "layers": None, **_STAR, **_SECOND, **_EXTRA}
FLAT: dict[str, dict[str, Any]] = {  # class of the estimator -> what format 1 had besides, with its defaults
    "InfoGraph": {**_GIN, **_PAPER, "max_nodes": 200_000},
    "UntrainedGIN": {**_GIN, "max_nodes": 200_000},
    "InfoGraphRegressor": _LABELLED,
    "InfoGraphClassifier": _LABELLED,
}
# what the paper has for parameters that format 1 had elsewhere or not at all
PAPER = {**_PAPER, "patches": "all", "memory_mb": 512.0, "floor": 1e-6, "colours": 0.0, "max_patches": None}
PAPER["weights"] = "torch"  # as it was before there was a choice; the paper's code has "xavier"
USUAL_NOISE = {"mean-teacher": 0.0, "pi-model": 0.1}  # None in format 1
_SHORT = {cls: short for short, (cls, _) in OBJECTIVES.items()} | {"MutualInformation": "infograph"}
_SHORT |= {"GIN": "gin", "ENN": "enn-s2s", "Auto": "auto", "Plateau": "plateau"}


def _short(spec: Spec) -> str:
    return _SHORT.get(type(spec).__name__, type(spec).__name__)


def own_code(estimator: Any) -> str:
    """A digest of the source of a user's own classes and functions among the parameters; "" without any.

    Code whose source cannot be found, as in a plain interpreter, is another each time.
    """
    sources = []
    for value in (type(estimator), *estimator.get_params(deep=True).values()):
        value = value.func if isinstance(value, partial) else value
        code = value if isinstance(value, type) or inspect.isroutine(value) else type(value)
        for part in filter(_is_own, getattr(code, "__mro__", (code,))):
            try:
                sources.append(inspect.getsource(part))
            except (OSError, TypeError):
                sources.append(secrets.token_hex())
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:12] if sources else ""


def _is_own(code: Any) -> bool:
    """Whether a class or function is neither of Python, nor installed, nor ours."""
    module = code.__module__ or "builtins"
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    top = module.partition(".")[0]
    return top != "infograph" and top not in sys.stdlib_module_names and "-packages" not in file


def in_words(value: Any) -> str:
    """A parameter that is an object, the same in every process: without its place in memory."""
    if repr(value) == object.__repr__(value):  # which says where it lies and not what it is
        return f"{type(value).__qualname__}({vars(value)})"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def described(estimator: Any) -> dict[str, Any]:
    """All parameters for people: objects by their short forms, and what is in them beside the others."""
    found = dict(estimator.get_params(deep=False))
    for name, part in estimator._parts().items():
        found[name] = _short(part)
        for path, value in part.get_params().items():
            if not isinstance(value, Spec):
                found.setdefault(path.rpartition("__")[2], value)
    return {k: v if v is None or isinstance(v, PLAIN) else CUSTOM for k, v in found.items()}


LATER = {"offset": None, "class_weight": None, "n_splits": 1}  # what came later, as it was before
LATER |= {"averaging": None, "thaw_after": 0, "descriptors": None, "clip": None}


def flat(estimator: Any) -> dict[str, Any]:
    """All parameters of an estimator by their flat names: what a result file is called after, for ever.

    A parameter that format 1 did not have is there only where it is not what the paper has.
    """
    name = type(estimator).__name__
    found = dict(estimator.get_params(deep=False))
    if name not in FLAT:
        return found
    found |= FLAT[name]
    for parameter, part in estimator._parts().items():
        found[parameter] = _short(part)
        for key, value in _leaves(part).items():
            if key in FLAT[name] or key not in PAPER or value != PAPER[key]:
                found[key] = value
    if name == "InfoGraph":
        usual = {"objective": "infograph", "init_from": None}
        found = {key: value for key, value in found.items() if key not in usual or value != usual[key]}
    if found.get("schedule") in (None, "plateau"):
        found.pop("schedule", None)
    return {key: value for key, value in found.items() if key not in LATER or value != LATER[key]}


def _leaves(spec: Spec) -> dict[str, Any]:
    """The fields of an object and of objects in it, by flat names."""
    short, found = _short(spec), dict[str, Any]()
    for key, value in spec.get_params(deep=False).items():
        if isinstance(value, Spec):
            found |= _leaves(value)
        else:
            found["consistency" if key == "weight" and short in OBJECTIVES else key] = value
    if short in USUAL_NOISE and found["noise"] == USUAL_NOISE[short]:
        found["noise"] = None
    return found


def changed(estimator: Estimator, given: Mapping[str, Any]) -> Estimator:
    """A copy of an estimator, not fitted, with some parameters changed by flat names or by nested ones.

    `lam` and `objective__lam` are those of its objective, which may be there by its short form.
    """
    made: Any = clone(estimator)
    names = made.get_params(deep=False)
    made.set_params(**{name: value for name, value in given.items() if name in names})
    for name, value in given.items():
        if name in names:
            continue
        parts = made._parts()
        paths = [f"{part}__{path}" for part, spec in parts.items() for path in spec.get_params()]
        place = name if "__" in name else next((p for p in paths if p.rpartition("__")[2] == name), None)
        if place is None:
            what = [type(made).__name__, *(type(each).__name__ for each in parts.values())]
            raise InvalidParameter(f"{name!r} is no parameter of {' or '.join(what)}")
        made.set_params(**{place: value})
    return cast(Estimator, made)


def nested(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The saved parameters of a model of version 1 as version 2 has them."""
    if name not in FLAT:
        return {key: value for key, value in params.items() if key not in ("max_minutes", "memory_mb")}
    old = dict(params)
    gin = {key: old.pop(key) for key in GIN_FIELDS if key in old}
    information = {key: old.pop(key) for key in INFORMATION if key in old}
    information["class"] = "MutualInformation"
    old.pop("max_nodes", None)
    old["encoder"] = _nested_encoder(old["encoder"], gin)
    if name == "InfoGraph":
        return {**old, "objective": information}
    if name == "UntrainedGIN":
        return old
    cls, names = OBJECTIVES[old["objective"]]
    own = {key: old.pop(key) for key in (*TRANSFER, *_SECOND) if key in old}
    objective = {
        "weight" if key == "consistency" else key: own[key] for key in names if own.get(key) is not None
    }
    if cls in ("InfoGraphWithLabels", "InfoGraphStar"):
        objective["information"] = information
    schedule = {"class": "Plateau", "factor": old.pop("factor"), "patience": old.pop("patience")}
    return {**old, "objective": {"class": cls, **objective}, "schedule": schedule}


def _nested_encoder(encoder: str, gin: dict[str, Any]) -> Any:
    given = {key: value for key, value in gin.items() if value is not None}
    if encoder == "enn-s2s":
        return {"class": "ENN"} | {k: v for k, v in given.items() if k in ("layers", "node_features")}
    if encoder == CUSTOM:
        own = {k: v for k, v in given.items() if k in ("readout", "node_features")}
        return {"class": "PerNode", "module": CUSTOM, **own}
    return {"class": "Auto" if encoder == "auto" else "GIN", **given}
