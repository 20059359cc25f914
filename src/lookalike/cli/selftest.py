"""The command `lookalike selftest`: compare answers on shipped inputs with the shipped bytes."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from lookalike.cli import options as o
from lookalike.errors import LookalikeError
from lookalike.runtime.local.pool import usable_cores

SHIPPED_INPUTS = Path(__file__).parent / "conformance"
SHIPPED_ANSWERS = SHIPPED_INPUTS / "expected"
LITTLE_MEMORY = "400MB"
Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Case:
    """A question with one answer. function, command: how it is asked; file: the input; table: of the answer.

    memory: a budget may be given. any_order: the answer does not depend on the order of the input. spark: Spark
    answers it, too.
    """

    name: str
    function: str
    command: tuple[str, ...]
    file: str
    options: dict[str, Any]
    table: str
    memory: bool = False
    any_order: bool = False
    spark: bool = False

    @property
    def flags(self) -> list[str]:
        out: list[str] = []
        for name, value in self.options.items():
            flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            out += [flag, *([] if value is True else [str(value)])]
        return out


SELFTEST_CASES = (
    Case("documents, exact", "pairs", ("pairs",), "texts.jsonl", {"threshold": 0.4, "method": "exact", "k": 2}, "pairs",
         memory=True, any_order=True, spark=True),
    Case("documents, banded", "pairs", ("pairs",), "texts.jsonl", {"threshold": 0.6, "method": "lsh", "k": 3}, "pairs",
         memory=True, any_order=True, spark=True),
    Case("documents, containment", "pairs", ("pairs",), "texts.jsonl",
         {"threshold": 0.7, "measure": "containment", "k": 2, "strip_accents": True}, "pairs", any_order=True),
    Case("groups", "groups", ("groups",), "texts.jsonl", {"threshold": 0.5, "k": 2}, "groups", any_order=True),
    Case("dedup", "dedup", ("dedup",), "texts.jsonl", {"threshold": 0.5, "k": 2}, "kept", memory=True),
    Case("passages", "passages", ("passages",), "texts.jsonl", {"min_tokens": 8}, "passages", any_order=True),
    Case("scrub", "scrub", ("scrub",), "texts.jsonl", {"min_tokens": 8}, "kept"),
    Case("baskets", "baskets.pairs", ("baskets", "pairs"), "sales.csv",
         {"set": "customer", "item": "product", "threshold": 0.5}, "pairs", any_order=True),
    Case("strings", "strings.pairs", ("strings", "pairs"), "names.csv", {"max_edits": 2}, "pairs", any_order=True),
    Case("bits", "bits.pairs", ("bits", "pairs"), "codes.csv", {"max_bits": 6}, "pairs", any_order=True),
)  # fmt: skip


@o.takes()
def selftest(
    spark: Annotated[bool, typer.Option(help="Ask Spark, too, if pyspark is installed.")] = False,
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Compare the answers on shipped inputs with the shipped bytes: a check of this installation on this machine.

    The same bytes must come from Python and the command line, with one thread and with all, with little memory, and,
    where the order of the input does not matter, from the input in reverse. Exit code 1 if anything differs.
    """
    wrong = 0
    for case in SELFTEST_CASES:
        results = list(_results(case, spark=spark))
        bad = [f"{way}: {problem}" for way, problem in results if problem]
        wrong += len(bad)
        if bad or not quiet:
            ways = ", ".join(way for way, _ in results)
            sys.stdout.write(f"{'differs' if bad else 'agrees ':8} {case.name} ({ways})\n")
            sys.stdout.write("".join(f"         {line}\n" for line in bad))
    if wrong:
        raise typer.Exit(1)


def _results(case: Case, *, spark: bool) -> Iterator[tuple[str, str]]:
    """Yield each way to ask and what is wrong with its answer, "" if nothing."""
    expected = (SHIPPED_ANSWERS / f"{case.name.replace(', ', '-')}.csv").read_bytes()

    def outcome(ask: Callable[[], bytes], plain: Callable[[bytes], Any] = bytes) -> str:
        try:
            answer = ask()
        except (LookalikeError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return "" if plain(answer) == plain(expected) else "the bytes differ from those expected"

    yield "Python", outcome(lambda: answer_of(case))
    yield "1 thread", outcome(lambda: answer_of(case, threads=1))
    yield f"{max(2, usable_cores())} threads", outcome(lambda: answer_of(case, threads=max(2, usable_cores())))
    if case.memory:
        yield LITTLE_MEMORY, outcome(lambda: answer_of(case, memory=LITTLE_MEMORY))
    if case.any_order:
        yield "reversed", outcome(lambda: _reversed(case), _without_order)
    yield "command line", outcome(lambda: _by_command(case))
    if spark and case.spark and find_spec("pyspark") is not None:
        yield "Spark", outcome(lambda: answer_of(case, engine="spark"), _without_order)


def answer_of(case: Case, file: Path | None = None, **more: Any) -> bytes:
    """Return the answer of the function as CSV."""
    import lookalike as la
    from lookalike.io.write import write_table

    function: Any = la
    for part in case.function.split("."):
        function = getattr(function, part)
    made = function(file or SHIPPED_INPUTS / case.file, **case.options, **more)
    with tempfile.TemporaryDirectory(prefix="lookalike-selftest-") as folder:
        place = Path(folder) / "out.csv"
        table: Any = getattr(made, case.table)
        if case.table == "kept":
            made.write(place)
        else:
            write_table(table.toArrow() if more.get("engine") == "spark" else table, place)
        return place.read_bytes()


def _by_command(case: Case) -> bytes:
    with tempfile.TemporaryDirectory(prefix="lookalike-selftest-") as folder:
        place = Path(folder) / "out.csv"
        command = [*case.command, str(SHIPPED_INPUTS / case.file), *case.flags, "-o", str(place), "-q"]
        done = subprocess.run(
            [sys.executable, "-m", "lookalike", *command], capture_output=True, text=True, check=False, env=os.environ
        )
        if done.returncode:
            raise OSError(f"exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return place.read_bytes()


def _reversed(case: Case) -> bytes:
    """Ask with the rows of the input in reverse order."""
    lines = (SHIPPED_INPUTS / case.file).read_text(encoding="utf-8").splitlines()
    head, rows = ([], lines) if case.file.endswith(".jsonl") else (lines[:1], lines[1:])
    with tempfile.TemporaryDirectory(prefix="lookalike-selftest-") as folder:
        place = Path(folder) / case.file
        place.write_text("\n".join([*head, *reversed(rows)]) + "\n", encoding="utf-8")
        return answer_of(case, place)


def _without_order(data: bytes) -> Any:
    """Return the rows as a set: pairs without sides, groups as sets of members."""
    rows: Rows = list(csv.DictReader(io.StringIO(data.decode())))
    if rows and "group" in rows[0]:
        groups: dict[str, set[str]] = {}
        for row in rows:
            groups.setdefault(row["group"], set()).add(row["id"])
        return {frozenset(members) for members in groups.values()}
    sides = ("left", "right")
    out = set()
    for row in rows:
        ends = [tuple(value for name, value in row.items() if name.startswith(side)) for side in sides]
        out.add((frozenset(ends), tuple(value for name, value in row.items() if not name.startswith(sides))))
    return out
