"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from lookalike.cli.signals import stoppable
from lookalike.errors import InputError

WORK = ".work"  # suffix of a work folder
WHAT, SHINGLES_PANEL, MECHANISM, RUN = "What is similar", "Shingles", "Signatures and bands", "Input, output and run"
CLUSTER_PANEL = "Many machines"


class Unit(Enum):
    word = "word"
    char = "char"
    byte = "byte"
    line = "line"
    token = "token"


class SetMeasureChoice(Enum):
    jaccard = "jaccard"
    containment = "containment"
    dice = "dice"
    cosine = "cosine"
    overlap = "overlap"


class Grouping(Enum):
    components = "components"
    stars = "stars"
    cliques = "cliques"


class Normalize(Enum):
    none = "none"
    NFC = "NFC"
    NFKC = "NFKC"


class OnBadTextChoice(Enum):
    error = "error"
    replace = "replace"
    skip = "skip"


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


class Engine(Enum):
    local = "local"
    spark = "spark"


class Scheme(Enum):
    fss = "fss-1"
    minhash = "minhash-1"


def option(panel: str, *names: str, help: str, **more: Any) -> Any:  # noqa: A002  (typer's own word)
    return typer.Option(*names, help=help, rich_help_panel=panel, case_sensitive=False, **more)


Inputs = Annotated[
    list[str],
    typer.Argument(help="Files, folders or globs: Parquet, Arrow, JSON Lines, CSV, TSV, text.", show_default=False),
]
Out = Annotated[
    Path | None, option(RUN, "-o", "--output", help="Where to write, by extension; a folder for everything.")
]
Keep = Annotated[
    str,
    option(WHAT, help="Which one to keep: first, last, longest, shortest, max:COL, min:COL, priority:COL=a,b,c."),
]
Against = Annotated[
    list[str] | None, option(WHAT, help="Look for pairs between INPUT and this other collection (repeatable).")
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
        help="Keep what was read here for later runs (default: beside the output, until a large run is done).",
        show_default=False,
    ),
]
Where = Annotated[Engine, option(CLUSTER_PANEL, help="Where to run: this machine, or Apache Spark.")]
OnlyHere = Annotated[Engine, option(CLUSTER_PANEL, help="Where to run: only on this machine.", hidden=True)]
Master = Annotated[
    str | None,
    option(CLUSTER_PANEL, help="Spark's master, as spark://host:7077 (default: all cores here).", show_default=False),
]
SparkConf = Annotated[
    list[str] | None,
    option(CLUSTER_PANEL, help="A setting of Spark's, as spark.executor.memory=4g (repeatable).", show_default=False),
]
Threshold = Annotated[float, option(WHAT, "-t", "--threshold", help="Similarity from which two items match.")]
Recall = Annotated[float, option(WHAT, help="Share of the pairs at the threshold that must be found.")]


def document_options(
    text: Annotated[str | None, option(RUN, help="Column of the texts (or token lists).")] = None,
    id: Id = None,  # noqa: A002
    threshold: Threshold = 0.8,
    recall: Recall = 0.99,
    exact: Annotated[bool, option(WHAT, "--exact", help="Find every pair, none missed.")] = False,
    method: Annotated[
        Method, option(WHAT, help="How to look for pairs; auto takes the cheapest way that keeps the promise.")
    ] = Method.auto,
    measure: Annotated[SetMeasureChoice, option(WHAT, help="What similar means.")] = SetMeasureChoice.jaccard,
    min_shared: Annotated[
        int | None, option(WHAT, help="Match where so many shingles are shared, instead of a threshold.")
    ] = None,
    unit: Annotated[
        Unit | None, option(SHINGLES_PANEL, help="Of what a shingle is made (default: word).", show_default=False)
    ] = None,
    k: Annotated[
        int | None,
        option(
            SHINGLES_PANEL,
            "-k",
            help="Units in a shingle (word 5, char 9, byte 9, line 1, token 1).",
            show_default=False,
        ),
    ] = None,
    bag: Annotated[bool, option(SHINGLES_PANEL, "--bag", help="Count repeated shingles (bag, not set).")] = False,
    fold_case: Annotated[
        bool, option(SHINGLES_PANEL, "--fold-case/--keep-case", help="Ignore upper and lower case.")
    ] = True,
    normalize: Annotated[
        Normalize, option(SHINGLES_PANEL, help="Unicode normalisation before shingling.")
    ] = Normalize.none,
    strip_accents: Annotated[
        bool, option(SHINGLES_PANEL, "--strip-accents", help="Ignore accents of Latin, Greek and Cyrillic letters.")
    ] = False,
    ignore_punctuation: Annotated[
        bool, option(SHINGLES_PANEL, "--ignore-punctuation", help="Leave punctuation and symbols out (unit char).")
    ] = False,
    squeeze_space: Annotated[
        bool,
        option(
            SHINGLES_PANEL,
            "--squeeze-space/--keep-space",
            help="Runs of white space count as one blank (units char, line).",
        ),
    ] = True,
    hash_bits: Annotated[int, option(SHINGLES_PANEL, help="Bits of a shingle's hash: 64 or 32.")] = 64,
    max_share: Annotated[
        float | None, option(SHINGLES_PANEL, help="Drop shingles that stand in more than this share of the documents.")
    ] = None,
    num_hashes: Annotated[int, option(MECHANISM, help="Slots of a signature.")] = 128,
    bands: Annotated[int | None, option(MECHANISM, help="Bands, instead of the planned number.")] = None,
    rows: Annotated[int | None, option(MECHANISM, help="Rows of a band, instead of the planned number.")] = None,
    scheme: Annotated[Scheme, option(MECHANISM, help="How signatures are made.")] = Scheme.fss,
    seed: Annotated[int, option(MECHANISM, help="Seed of the signatures.")] = 42,
    audit: Audit = 2000,
    max_pairs: MaxPairs = 100_000_000,
    on_bad_text: Annotated[
        OnBadTextChoice, option(RUN, help="What to do with text that is not UTF-8.")
    ] = OnBadTextChoice.error,
    on_bad_file: OnBadFile = OnBad.error,
    lines: Lines = False,
    threads: Threads = None,
    memory: Memory = None,
    work_dir: WorkDir = None,
    engine: Where = Engine.local,
    master: Master = None,
    spark_conf: SparkConf = None,
) -> None:
    """Declare the options that pairs, groups and dedup share; never called."""


def nothing() -> None:
    """Declare no options."""


def together(*parts: Callable[..., None]) -> Callable[..., None]:
    """Combine several declarations of options."""

    def declared() -> None:
        """Never called."""

    parameters = [p for part in parts for p in inspect.signature(part, eval_str=True).parameters.values()]
    declared.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return declared


def beside(output: Path | None) -> Path:
    """Return the default work folder of a large run: next to the output, or in the current folder."""
    return output.with_name(output.name + WORK) if output is not None else Path("lookalike" + WORK)


def paths(names: list[str] | None) -> list[Path] | None:
    """Convert names from the command line to paths: a list of plain strings would be read as texts."""
    if names and "" in names:  # as a path it would be the current folder
        raise InputError("an empty path came; expected a file, a folder or a glob. Is a variable of the shell empty?")
    return [Path(name) for name in names] if names else None


def _plain(value: Any) -> Any:
    """Return the value of an Enum choice, or of a list of choices."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


class RunOptions:
    """Options for the output and messages of a run, declared like those above."""

    Force = Annotated[bool, option(RUN, "--force", help="Replace outputs that exist.")]
    Quiet = Annotated[bool, option(RUN, "-q", "--quiet", help="Say nothing unless something is wrong.")]
    Json = Annotated[bool, option(RUN, "--json", help="Print the receipt as JSON on standard output.")]


def one_line_each(doc: str) -> str:
    """Remove the line breaks within paragraphs of a docstring, so that the help is as wide as the terminal.

    >>> one_line_each("One\\n    and the same.\\n\\n    Another.")
    'One and the same.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(doc).split("\n\n"))


def takes(*shared: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the parameters of `shared` to a command, and lets Ctrl-C end it at once.

    The command receives these as one dict `options`, if it has such a parameter.
    """
    parameters = {n: p for one in shared for n, p in inspect.signature(one, eval_str=True).parameters.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters

        @functools.wraps(command)
        def call(**given: Any) -> None:
            values = {name: given.pop(name) for name in parameters}
            plain = {name: _plain(value) for name, value in values.items()}
            taken = given | ({"options": plain} if "options" in own else {})
            stoppable(lambda: command(**taken), lambda: plain.get("work_dir") or plain.get("beside"))

        merged = [p for name, p in own.items() if name != "options"] + list(parameters.values())
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in merged]
        call.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in keyword}
        call.__doc__ = one_line_each(command.__doc__ or "")
        return call

    return decorate
