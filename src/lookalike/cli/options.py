"""Options that several commands share."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin

import typer

from lookalike.cli.signals import stoppable
from lookalike.core import options as core
from lookalike.core.options import SHINGLES_PANEL as SHINGLES_PANEL
from lookalike.core.options import Declared, declared, is_optional
from lookalike.core.options import Option as DeclaredOption
from lookalike.errors import InputError

WORK = ".work"  # suffix of a work folder
WHAT, MECHANISM, RUN = core.SIMILARITY_PANEL, core.SIGNATURES_PANEL, core.RUN_PANEL


class Unit(Enum):
    word = "word"
    char = "char"
    byte = "byte"
    line = "line"
    token = "token"


class Grouping(Enum):
    components = "components"
    stars = "stars"
    cliques = "cliques"


class Normalize(Enum):
    none = "none"
    NFC = "NFC"
    NFKC = "NFKC"


class OnBad(Enum):
    error = "error"
    skip = "skip"


class RowMethod(Enum):
    auto = "auto"
    lsh = "lsh"
    exact = "exact"


class Method(Enum):
    auto = "auto"
    lsh = "lsh"
    exact = "exact"
    dcm = "dcm"
    folding = "folding"


class Scheme(Enum):
    fss = "fss-1"
    minhash = "minhash-1"


def option(panel: str, *names: str, help: str, **more: Any) -> Any:  # noqa: A002  (typer's own word)
    return typer.Option(*names, help=help, rich_help_panel=panel, case_sensitive=False, **more)


def input_argument(meaning: str) -> Any:
    """Return the argument INPUT with this help."""
    return typer.Argument(metavar="INPUT...", help=meaning, show_default=False)


Inputs = Annotated[list[str], input_argument("Files, folders or globs: Parquet, Arrow, JSON Lines, CSV, TSV, text.")]


def inputs_of(meaning: str) -> Any:
    """Return the type of the argument INPUT of a kind that reads other files than documents do."""
    return Annotated[list[str], input_argument(meaning)]


class OutputPath:
    """The type of -o: a path that is a folder if it ends with a slash, which `Path` would drop."""

    def __new__(cls, value: str) -> Path:  # type: ignore[misc]
        if not value.endswith(("/", os.sep)):
            return Path(value)
        from lookalike.io.paths import FolderPath

        return FolderPath(value)


Out = Annotated[
    Path | None, option(RUN, "-o", "--output", help="Where to write, by extension; a folder for everything.")
]
Keep = Annotated[
    str,
    option(WHAT, help="Which one to keep: first, last, longest, shortest, max:COL, min:COL, priority:COL=a,b,c."),
]
Against = Annotated[
    list[str] | None,
    option(WHAT, metavar="INPUT", help="Another collection: pairs are between it and INPUT (repeatable)."),
]
Id = Annotated[str | None, option(RUN, help="Column of the ids (default: id, if there is one); none for row numbers.")]
MaxPairs = Annotated[int, option(RUN, help="Stop where the answer has more pairs than this.")]
Threads = Annotated[int | None, option(RUN, help="Threads (default: all cores).", show_default=False)]
Audit = Annotated[int, option(WHAT, help="Items of which the recall is measured; 0 for none.")]
OnBadFile = Annotated[
    OnBad, option(RUN, help="What to do with a file that cannot be read; skip lists it in the receipt.")
]
Lines = Annotated[
    bool,
    option(RUN, "--lines", help="Read text files line by line (default: each is a document, but one alone by lines)."),
]
Memory = Annotated[
    str | None, option(RUN, help="Memory to keep to, as 2GB (default: half of what is free).", show_default=False)
]
WorkDir = Annotated[
    Path | None,
    option(
        RUN,
        help="Keep what was read here for later runs (default: next to the output, until a large run is done).",
        show_default=False,
    ),
]
Threshold = Annotated[float, option(WHAT, "-t", "--threshold", help="Similarity from which two items match.")]
Recall = Annotated[float, option(WHAT, help="Share of the pairs at the threshold that must be found.")]


def beside(output: Path | None) -> Path:
    """Return the default work folder of a large run: next to the output, or in the current folder."""
    from lookalike.io.addresses import address_of

    if output is None or address_of(output) is not None:  # work folders are on this machine
        return Path(("lookalike" if output is None else output.name) + WORK)
    return output.with_name(output.name + WORK)


class Names(list[str]):
    """Inputs as named on the command line, with the encoding and the delimiter given for them."""

    encoding: str | None = None
    delimiter: str | None = None

    def like(self, names: list[str]) -> Names:
        """Return other names that are read in the same way."""
        other = Names(names)
        other.encoding, other.delimiter = self.encoding, self.delimiter
        return other


class TextFormOptions(TypedDict, total=False):
    """The options of commands that read text files and tables."""

    encoding: Annotated[
        str | None,
        DeclaredOption(None, "Encoding of text, CSV and JSON files, such as cp1252.", rare=True,
                       unset="UTF-8, or as a byte order mark says"),
    ]  # fmt: skip
    delimiter: Annotated[
        str | None,
        DeclaredOption(None, "Character between the fields of CSV files, or tab.", rare=True,
                       unset="as the header shows"),
    ]  # fmt: skip


def paths(names: list[str] | None) -> list[Path] | None:
    """Convert names from the command line to paths: a list of plain strings would be read as texts."""
    if names and "" in names:  # as a path it would be the current folder
        raise InputError("an empty path came; expected a file, a folder or a glob. Is a variable of the shell empty?")
    if not names:
        return None
    if isinstance(names, Names) and (names.encoding or names.delimiter):
        from lookalike.io.files import Files

        return Files(names, encoding=names.encoding, delimiter=names.delimiter)
    return [_path(name) for name in names]


def _path(name: str) -> Path:
    """Return the path of a file of this machine, or of one at an address, in which a `Path` would lose slashes."""
    from lookalike.io.addresses import address_of

    if (address := address_of(name)) is None:
        return Path(name)
    from lookalike.io.opening import remote_path

    return remote_path(address)


def _plain(value: Any) -> Any:
    """Return the value of an Enum choice, or of a list of choices."""
    if isinstance(value, list) and not isinstance(value, Names):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


class RunOptions:
    """Options for the output and messages of a run, declared like those above."""

    Force = Annotated[bool, option(RUN, "--force", help="Replace outputs that exist.")]
    Quiet = Annotated[bool, option(RUN, "-q", "--quiet", help="Print errors and warnings only.")]
    Json = Annotated[bool, option(RUN, "--json", help="Print the receipt as JSON on standard output.")]


Force = Annotated[bool, DeclaredOption(False, "Replace outputs that exist.")]
Quiet = Annotated[bool, DeclaredOption(False, "Print errors and warnings only.", flags=("-q", "--quiet"))]
OutputFile = Annotated[
    Path | None,
    DeclaredOption(None, "Where to write, by extension; a folder for all tables.", unset="standard output",
                   flags=("-o", "--output")),
]  # fmt: skip


SAFE_CELLS = "Begin cells of CSV and TSV outputs that a spreadsheet would run as a formula with an apostrophe."


class OutputOptions(TypedDict, total=False):
    """The options of every command with a result: where it goes, and what is printed."""

    output: OutputFile
    force: Force
    quiet: Quiet
    json: Annotated[bool, DeclaredOption(False, "Print the receipt as JSON on standard output.")]
    safe_cells: Annotated[
        bool,
        DeclaredOption(
            False,
            SAFE_CELLS,
            rare=True,
        ),
    ]


@dataclass(frozen=True)
class Target:
    """Where the result of a command goes: files, and what is printed."""

    output: Path | None
    removed: Path | None
    force: bool
    quiet: bool
    json: bool
    safe_cells: bool = False

    @classmethod
    def of(cls, options: dict[str, Any], removed: Path | None = None) -> Target:
        """Take the `OutputOptions` out of `options`."""
        from lookalike.io.safe_cells import safe_cells

        values = {name: options.pop(name) for name in declared(OutputOptions)}
        safe_cells.set(values["safe_cells"])
        return cls(removed=removed, **values)


def one_line_each(doc: str) -> str:
    """Remove the line breaks within paragraphs of a docstring, so that the help is as wide as the terminal.

    >>> one_line_each("One\\n    and the same.\\n\\n    Another.")
    'One and the same.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(doc).split("\n\n"))


def command_parameter(one: Declared, options: Mapping[str, Declared]) -> inspect.Parameter:
    """Return the parameter of a command for a declared option. options: all of the command, whose names a help has."""
    kind, default = _command_type(one), one.option.default
    if is_output := "-o" in one.option.flags and "list" not in one.type_words:
        kind = OutputPath | None
    if isinstance(default, tuple):
        default = list(default)
    elif default is not None and isinstance(kind, type) and issubclass(kind, Enum):
        default = kind(default)
    meaning = one.option.command_help or one.option.help
    if one.option.unset:
        meaning = f"{meaning.removesuffix('.')} (default: {one.option.unset})."
    made = option(
        one.option.panel,
        *_flags(one),
        help=_in_flags(meaning, options),
        show_default=not one.option.unset,
        path_type=OutputPath if is_output else None,
        metavar=one.option.metavar,
        hidden=one.option.rare,
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, keyword, default=default, annotation=Annotated[kind, made])


def _flags(one: Declared) -> tuple[str, ...]:
    """Return the flags of an option; one that is off by default has none to turn it off."""
    is_switch = one.type is bool or (is_optional(one.type) and bool in get_args(one.type))
    return one.option.flags or ((one.flag,) if is_switch and not one.option.default else ())


def _command_type(one: Declared) -> Any:
    """Return the type of an option on the command line: choices are an Enum, as typer wants them."""
    if one.option.command_type is not None:
        return one.option.command_type
    kind: Any = next(iter(set(get_args(one.type)) - {type(None)}), None) if is_optional(one.type) else one.type
    if one.choices:
        item = type(one.choices[0]) if not isinstance(one.choices[0], str) else _enum(one.name, one.choices)
        kind = item if get_origin(kind) is Literal else types.GenericAlias(list, item)
    return kind | None if is_optional(one.type) else kind


def _enum(name: str, values: tuple[str, ...]) -> Any:
    return Enum(name, {value: value for value in values})


def _in_flags(text: str, options: Mapping[str, Declared]) -> str:
    """Replace names of options in backquotes by their flags.

    >>> _in_flags("Without `work_dir`, see `x`.", {"work_dir": Declared("work_dir", str, DeclaredOption(None, ""))})
    'Without --work-dir, see x.'
    """
    return re.sub(r"`(\w+)`", lambda name: options[name[1]].flag if name[1] in options else name[1], text)


def command_parameters(options: type, command: str = "") -> dict[str, inspect.Parameter]:
    """Return the parameters of a command that takes these options, by name."""
    known = declared(options)
    return {
        name: command_parameter(one, known)
        for name, one in known.items()
        if not one.option.python_only and (not one.option.commands or command in one.option.commands)
    }


def with_default(parameter: inspect.Parameter, value: str) -> inspect.Parameter:
    """Return the parameter of a choice with another default."""
    return parameter.replace(default=type(parameter.default)(value))


def with_help(parameters: dict[str, inspect.Parameter], **helps: str) -> dict[str, inspect.Parameter]:
    """Return the parameters with other help texts for some of them."""
    changed = dict(parameters)
    for name, text in helps.items():
        kind, made = get_args(parameters[name].annotation)
        made = copy.copy(made)
        made.help = text
        changed[name] = parameters[name].replace(annotation=Annotated[kind, made])
    return changed


def only(options: type, *names: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command that takes only these of the options."""
    known = command_parameters(options)
    return {name: known[name] for name in names}


def check_flags(options: type, values: Mapping[str, Any]) -> None:
    """Raise UsageError, which names the flag, for a value outside its choices or range."""
    for name, one in declared(options).items():
        one.check(values[name], one.flag)


INPUT_NAMES = ("inputs", "against", "template")


def reads_text(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Return whether a command reads CSV files, and so has an encoding and a delimiter: the help of INPUT says so."""
    return "inputs" in parameters and "CSV" in get_args(parameters["inputs"].annotation)[1].help


def _named(names: Any, form: Mapping[str, str | None]) -> Any:
    if not isinstance(names, list):
        return names
    made = Names(names)
    made.encoding, made.delimiter = form["encoding"], form["delimiter"]
    return made


def takes(
    *shared: type | dict[str, inspect.Parameter], stops_itself: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command, and lets Ctrl-C end it at once.

    shared: TypedDicts that declare options, or parameters that `only` returned. The command receives these as one dict
    `options`, if it has such a parameter. stops_itself: the command handles Ctrl-C.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: dict[str, inspect.Parameter] = {}
        for one in shared:
            parameters |= command_parameters(one, command.__name__) if isinstance(one, type) else one
        own = inspect.signature(command, eval_str=True).parameters
        forms = command_parameters(TextFormOptions) if reads_text(own) else {}
        parameters |= forms

        @functools.wraps(command)
        def call(**given: Any) -> None:
            values = {name: given.pop(name) for name in parameters}
            if forms:
                form = {name: values.pop(name) for name in forms}
                for holder in (given, values):
                    holder |= {name: _named(holder[name], form) for name in INPUT_NAMES if holder.get(name)}
            plain = {name: _plain(value) for name, value in values.items()}
            taken = given | ({"options": plain} if "options" in own else {})
            if stops_itself:
                return command(**taken)
            return stoppable(lambda: command(**taken), lambda: plain.get("work_dir") or plain.get("beside"))

        merged = [p for name, p in own.items() if name != "options"] + list(parameters.values())
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in merged]
        call.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in keyword}
        call.__doc__ = one_line_each(command.__doc__ or "")
        return call

    return decorate
