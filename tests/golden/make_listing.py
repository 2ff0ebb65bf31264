"""What users call, as text: `public.txt` from Python, `commands.txt` from a shell.

    python -m tests.golden.make_listing

`test_public.py` compares both with the package, so that a change of what users call is a change of these
files, and a commit shows it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

import infograph
from infograph.cli.app import app

HERE = Path(__file__).parent
BESIDE = (
    "infograph.errors",
    "infograph.scale",
    "infograph.learn.tune",
)  # documented beside infograph.__all__


@cache
def listings() -> dict[str, str]:
    """Both texts by their files' names."""
    commands = command_lines("infograph", typer.main.get_command(app))
    return {
        "public.txt": "".join(f"{line}\n" for line in public_lines()),
        "commands.txt": "".join(f"{line}\n" for line in commands),
    }


# ---- Python


def public_lines() -> Iterator[str]:
    """Every public name, a parameter, field or method per line."""
    for name in sorted(set(infograph.__all__) - {"__version__"}):
        yield from _lines_of(name, getattr(infograph, name))
    for place in BESIDE:
        module = importlib.import_module(place)
        for name in sorted(_names(module)):
            yield from _lines_of(f"{place.partition('.')[2]}.{name}", getattr(module, name))


def _names(module: Any) -> Iterable[str]:
    """What a module says is public; otherwise what is defined in it."""
    own = (
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    )
    return getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]


def _lines_of(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, type):
        alias = re.sub(r"(\w+\.)+", "", repr(value))  # of a type, wherever its parts are
        yield from _call(name, value) if inspect.isroutine(value) else [f"{name} = {alias}"]
    elif issubclass(value, BaseException):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        yield f"class {name}({bases})"
        if "__init__" in vars(value):
            yield from _parameters(value.__init__, "    ", skip=1)
    else:
        yield from _call(f"class {name}", value)
        yield from _members(value)
    yield ""


def _members(value: type) -> Iterator[str]:
    """Methods and properties that the package defines; those of scikit-learn are scikit-learn's."""
    for name in sorted(set(dir(value))):
        if name.startswith("_") or re.fullmatch(r"set_\w+_request", name):
            continue
        member = inspect.getattr_static(value, name)
        member = getattr(member, "fn", member)  # scikit-learn's available_if
        if isinstance(member, property | cached_property):
            function = member.fget if isinstance(member, property) else member.func
            if _ours(function):
                yield f"    .{name} -> {_annotation(inspect.signature(function).return_annotation)}"
        elif isinstance(member, classmethod | staticmethod) and _ours(member.__func__):
            kind = type(member).__name__
            yield from _call(f"    {kind} .{name}", member.__func__, skip=int(kind == "classmethod"))
        elif inspect.isfunction(member) and _ours(member):
            yield from _call(f"    .{name}", member, skip=1)


def _ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("infograph")


def _call(name: str, function: Any, skip: int = 0) -> Iterator[str]:
    returned = inspect.signature(function).return_annotation
    ending = "" if isinstance(function, type) else f" -> {_annotation(returned)}"
    yield f"{name}(){ending}"
    yield from _parameters(function, " " * (len(name) - len(name.lstrip()) + 4), skip)


def _parameters(function: Any, indent: str, skip: int) -> Iterator[str]:
    before = None
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (
            parameter.kind,
            parameter.VAR_POSITIONAL,
        ):
            yield f"{indent}*"
        before = parameter.kind
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        yield f"{indent}{stars}{parameter.name}: {_annotation(parameter.annotation)}{default}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return "?"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value: Any) -> str:
    """A text that is the same in every process: no addresses."""
    if inspect.isfunction(value) or isinstance(value, type):
        return f"<{value.__name__.strip('<>')}>"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


# ---- the command line; its parts are those of the typer that constraints.txt has


def command_lines(name: str, command: Any) -> Iterator[str]:
    """Every verb, an argument or option per line: names, type, default, and what help says that this is."""
    yield name
    for parameter in command.params:
        yield f"    {_parameter(parameter)}"
    yield ""
    for verb, inner in getattr(command, "commands", {}).items():
        yield from command_lines(f"{name} {verb}", inner)


def _parameter(parameter: Any) -> str:
    option = parameter.opts[0].startswith("-")
    names = ", ".join(parameter.opts) if option else f"<{parameter.name}>"
    names += f" / {', '.join(parameter.secondary_opts)}" if parameter.secondary_opts else ""
    words = [names, _type(parameter)]
    words += ["several"] if parameter.multiple or parameter.nargs != 1 else []
    words += ["required"] if parameter.required else [f"= {_plain(parameter.default)!r}"]
    words += [f"({parameter.show_default})"] if isinstance(parameter.show_default, str) else []
    words += ["hidden"] if parameter.hidden else []
    words += [f"from {parameter.envvar}"] if parameter.envvar else []
    return " ".join(words)


def _type(parameter: Any) -> str:
    """Its choices, its Python type, or for types of our own what help calls it."""
    if getattr(parameter, "is_flag", False):
        return "flag"
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    known = annotation in (str, int, float, bool, Path)
    word = annotation.__name__ if known or not parameter.metavar else parameter.metavar
    low, high = ("" if end is None else end for end in (parameter.min, parameter.max))
    return word if (low, high) == ("", "") else f"{word} {low}..{high}"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


if __name__ == "__main__":
    for file, text in listings().items():
        (HERE / file).write_text(text, encoding="utf-8")
