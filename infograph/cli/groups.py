"""Options that several verbs share, as dataclasses: a verb takes the dataclass, Typer sees its fields."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter of `verb` that is a dataclass by the fields of that dataclass.

    A verb `def train(source: Source, reading: ReadingOptions)` becomes a function of `source` and of each
    option in `ReadingOptions`, which Typer turns into a command; called, it puts the dataclasses together
    again.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
            for field in dataclasses.fields(groups[name])
        ]

    @functools.wraps(verb)
    def flat(**given: Any) -> None:
        for name, group in groups.items():
            own = {field.name: given.pop(field.name) for field in dataclasses.fields(group)}
            given[name] = group(**own)
        verb(**given)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat
