"""Declarations of options: from one declaration come the signature, the command line, the checks and the reference.

A kind declares its options in a `TypedDict` whose fields are `Annotated[type, Option(...)]`. Static type checkers read
the types; `declared` reads the options, and everything else that needs them starts there. This module is light: it
loads neither NumPy nor Arrow nor the command line.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from lookalike.errors import UsageError, as_share, nearest

P = ParamSpec("P")
R = TypeVar("R")

# Panels of the help on the command line, and sections of the reference.
SIMILARITY_PANEL, SHINGLES_PANEL, SIGNATURES_PANEL = "What is similar", "Shingles", "Signatures and bands"
RUN_PANEL, CLUSTER_PANEL = "Input, output and run", "Many machines"
PANELS = (SIMILARITY_PANEL, "", SHINGLES_PANEL, SIGNATURES_PANEL, RUN_PANEL, CLUSTER_PANEL)  # "": of one kind only

LARGEST_SEED = "2^64-1"
ENDS = {"inf": math.inf, "-inf": -math.inf, LARGEST_SEED: (1 << 64) - 1}


@dataclass(frozen=True)
class Option:
    """What is to be known about an option, besides its name and type.

    default: of the option; for None, `unset` says what is used instead. help: a sentence; names of other options are in
    backquotes, and the command line shows their flags. range: of the values, as an interval such as "(0, 1]"; expected:
    the same in words, for error messages, where the interval does not say it well. flags: of the command line, unless
    --name alone. panel: heading of the help. command_help, command_type, metavar: on the command line, where they
    differ from Python. python_only: there is no flag. local_only: not on Spark. rare: shown by --help-all only.
    commands: the commands that have the flag, if not all. reason: why name or default differ from those of other kinds.
    """

    default: Any
    help: str
    unset: str = ""
    range: str = ""
    expected: str = ""
    flags: tuple[str, ...] = ()
    panel: str = RUN_PANEL
    command_help: str = ""
    command_type: Any = None
    metavar: str | None = None
    python_only: bool = False
    local_only: bool = False
    rare: bool = False
    commands: tuple[str, ...] = ()
    reason: str = ""

    def words(self) -> str:
        """Return what the option expects, for an error message.

        >>> Option(1, "", range="(0, 1]").words(), Option(1, "", range="[1, inf)").words()
        ('a number above 0 and at most 1', 'at least 1')
        """
        if self.expected:
            return self.expected
        low, high = self.range[1:-1].split(", ")
        lower = f"{'at least' if self.range[0] == '[' else 'above'} {low}"
        upper = f"{'at most' if self.range[-1] == ']' else 'below'} {high}"
        if high == "inf":
            return lower if self.range[0] == "[" else f"a number {lower}"
        return (
            f"a number from {low} to {high}"
            if self.range[0] + self.range[-1] == "[]"
            else f"a number {lower} and {upper}"
        )

    def holds(self, value: Any) -> bool:
        """Return whether the value is in the range.

        >>> [Option(1, "", range="(0, 1]").holds(value) for value in (0, 1, 2, "1", float("nan"))]
        [False, True, False, False, False]
        """
        low, high = (_bound(text) for text in self.range[1:-1].split(", "))
        try:
            above = value >= low if self.range[0] == "[" else value > low
            return bool(above and (value <= high if self.range[-1] == "]" else value < high))
        except TypeError:
            return False


def _bound(text: str) -> float:
    return ENDS[text] if text in ENDS else float(text)


ENGINE = Option("local", "Where to run: on this machine, or on Apache Spark.", panel=CLUSTER_PANEL)


@dataclass(frozen=True)
class Declared:
    """An option with its name and its type."""

    name: str
    type: Any
    option: Option

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a Literal, also within a list or a union; empty for other types."""
        return _choices(self.type)

    @property
    def flag(self) -> str:
        """The long flag on the command line, without that which turns it off.

        >>> Declared("max_bits", int, Option(8, "", flags=("-d", "--max-bits"))).flag
        '--max-bits'
        """
        long = [flag for flag in self.option.flags if flag.startswith("--")]
        return long[0].split("/")[0] if long else (self.option.flags or ("--" + self.name.replace("_", "-"),))[0]

    @property
    def type_words(self) -> str:
        """The type as it is written, without modules."""
        return re.sub(r"(typing|pathlib|os|collections\.abc)\.", "", inspect.formatannotation(self.type))

    def check(self, value: Any, name: str = "") -> None:
        """Raise UsageError if the value is not one of the choices, or not in the range; None is never refused."""
        if value is None:
            return
        if self.choices and isinstance(value, str):
            check_choice(name or self.name, value, self.choices)
        if self.option.range and not self.option.holds(value):
            hint = as_share(value) if self.option.range.startswith("(0, 1") else ""
            raise UsageError(f"{name or self.name} is {value}; expected {self.option.words()}.{hint}")


def _choices(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for part in get_args(kind) if (found := _choices(part))), ())


def check_similarity(value: float) -> None:
    """Raise UsageError for a similarity that is not above 0 and at most 1."""
    if not 0 < value <= 1:
        raise UsageError(f"threshold is {value}; expected a number above 0 and at most 1.{as_share(value)}")


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise UsageError if `value` is not one of the choices; the message suggests the nearest one."""
    if value not in choices:
        raise UsageError(f"{what} {value!r} is unknown.{nearest(value, choices)} Choices: {', '.join(choices)}.")


def changed(hint: Any, **changes: Any) -> Option:
    """Return the option of an `Annotated[type, Option(...)]`, with some of its fields changed.

    >>> changed(Annotated[int, Option(10, "", range="[1, inf)")], default=20).default
    20
    """
    option: Option = get_args(hint)[1]
    return replace(option, **changes)


def without_value(options: type, name: str) -> Option:
    """Return an option of a TypedDict without a value: None selects the default, which the help names."""
    option = declared(options)[name].option
    changes: dict[str, Any] = {"default": None, "unset": option.unset or _written(option.default)}
    if option.command_type is not None:
        changes["command_type"] = option.command_type | None
    return replace(option, **changes)


def _written(value: Any) -> str:
    """Return a default as it is written on the command line.

    >>> _written(False), _written(("phash",)), _written(0.7)
    ('no', 'phash', '0.7')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


@functools.cache
def declared(options: type) -> Mapping[str, Declared]:
    """Return the options that a TypedDict declares, by name. An engine is among them if there are options for Spark."""
    found: dict[str, Declared] = {}
    for name, hint in get_type_hints(options, include_extras=True).items():
        if name == "master":
            found["engine"] = Declared("engine", Literal["local", "spark"], ENGINE)
        found[name] = _declared(name, hint)
    return types.MappingProxyType(dict(sorted(found.items(), key=lambda item: _rank(item[1].option.panel))))


def _rank(panel: str) -> int:
    """Return where options of a panel come in a signature: those of one kind of items are between the shared ones."""
    return PANELS.index(panel if panel in PANELS else "")


def _declared(name: str, hint: Any) -> Declared:
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Option):
        return Declared(name, hint.__origin__, hint.__metadata__[0])
    raise TypeError(f"{name}: {hint} is not declared as Annotated[type, Option(...)]")


def defaults(options: type) -> dict[str, Any]:
    """Return the defaults of the declared options, for the fields of a job."""
    return {name: one.option.default for name, one in declared(options).items()}


def check_values(options: type, values: Mapping[str, Any], **renamed: str) -> None:
    """Raise UsageError for a value outside its choices or range. renamed: names of values, if not those of the options.

    >>> class Options(dict):
    ...     max_bits: Annotated[int, Option(8, "", range="[0, 64]", expected="a whole number from 0 to 64")]
    >>> check_values(Options, {"threshold": 65}, threshold="max_bits")
    Traceback (most recent call last):
    lookalike.errors.UsageError: max_bits is 65; expected a whole number from 0 to 64.
    """
    known = declared(options)
    for name, value in values.items():
        option = known.get(renamed.get(name, name))
        if option is not None:
            option.check(value)


def accepts(options: type, *, refuses: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that shows all options in the signature and docstring of a function, and refuses others.

    Parameters of the function itself that are declared as `Annotated[type, Option(...)]` belong to its options, too.
    refuses: False if the function refuses unknown options.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        from lookalike.core.docstrings import with_options  # the list of commands needs no docstrings

        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        names = frozenset(one.name for one in own)
        known = {**_own_options(own, function.__globals__), **declared(options)}

        @functools.wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            if refuses:
                refuse_unknown(given.keys() - names, known)
            return function(*args, **given)

        shown = [one.replace(annotation=known[one.name].type) if one.name in known else one for one in own]
        shown += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.option.default, annotation=one.type)
            for name, one in declared(options).items()
        ]
        call.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        call.__options__ = types.MappingProxyType(known)  # type: ignore[attr-defined]
        call.__doc__ = with_options(function.__doc__, known)
        return call

    return decorate


def _own_options(parameters: Iterable[inspect.Parameter], names: dict[str, Any]) -> dict[str, Declared]:
    """Return the options that a function declares in its own signature, with the defaults that it has there."""
    found = {}
    for one in parameters:
        hint = eval(one.annotation, names) if isinstance(one.annotation, str) else one.annotation
        if get_origin(hint) is Annotated:
            made = _declared(one.name, hint)
            found[one.name] = replace(made, option=replace(made.option, default=one.default))
    return found


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError, with the nearest name, for an option that is not known.

    >>> refuse_unknown(["engin"], ["engine", "threads"])
    Traceback (most recent call last):
    lookalike.errors.UsageError: there is no option 'engin'. Nearest: 'engine'.
    """
    names = sorted(known)
    for name in given:
        if name not in names:
            close = nearest(name, names)
            raise UsageError(f"there is no option {name!r}.{close or ' Options: ' + ', '.join(names) + '.'}")


def is_optional(kind: Any) -> bool:
    """Return whether None is a value of the type."""
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
