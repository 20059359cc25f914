"""The commands of `lookalike records`: pairs, groups, dedup, preview and explain."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from lookalike.cli import options as o
from lookalike.cli.help import App
from lookalike.cli.kind_commands import KindCommands
from lookalike.core.formatting import count, share
from lookalike.core.options import SIMILARITY_PANEL, Option, declared
from lookalike.errors import UsageError
from lookalike.errors import listed as names_listed
from lookalike.kinds.records.options import (
    FIELDS_PANEL,
    MergeOptions,
    RecordGroupsOptions,
    RecordOptions,
    RecordPairOptions,
    RecordRunOptions,
)

if TYPE_CHECKING:
    from lookalike.kinds.records.api import Explanation
    from lookalike.kinds.records.rules import RecordRules
    from lookalike.kinds.records.source import RecordTable
    from lookalike.result import Result


class SaveOptions(TypedDict, total=False):
    """The option of commands that learn rules, to write them."""

    save_settings: Annotated[
        Path | None,
        Option(None, "Write the fields, weights and threshold used, as TOML.", unset="not written", panel=FIELDS_PANEL),
    ]


class CommandOptions(SaveOptions, total=False):
    """The options of `lookalike records pairs`, `groups` and `dedup` that Python does not have."""

    truth: Annotated[
        Path | None,
        Option(None, "True pairs (left, right) or groups (id, group): print precision and recall.", unset="unknown",
               panel=SIMILARITY_PANEL),
    ]  # fmt: skip


class MergeCommandOptions(SaveOptions, total=False):
    """The options of `lookalike records merge` that Python does not have."""

    link: Annotated[
        bool, Option(False, "Treat each INPUT as a separate source, named after its file.", panel=SIMILARITY_PANEL)
    ]
    cells: Annotated[bool, Option(True, "Also write the origin of every value.", flags=("--cells/--no-cells",))]


def check(options: dict[str, Any]) -> None:
    """Raise an error if the settings could not be written, or if --truth is used with Spark."""
    from lookalike.io.atomic import check_place

    if options["save_settings"] is not None:
        check_place(options["save_settings"], force=True)
    if options.get("truth") is not None and options["engine"] == "spark":
        raise UsageError("--truth is for one machine; write the pairs with -o, and compare by `lookalike evaluate`.")


def open_table(inputs: list[str], options: dict[str, Any], _given: dict[str, Any]) -> RecordTable:
    from lookalike.kinds.records.source import open_records

    return open_records(o.paths(inputs), id=options["id"], on_bad_text=options["on_bad_text"])


def after(result: Any, aside: dict[str, Any], *, quiet: bool) -> None:
    """Print the fields, save the settings, and compare the result with the truth."""
    from lookalike.cli import terminal
    from lookalike.kinds.records.rules_file import write_settings

    rules: RecordRules = result.job.rules
    if not quiet:
        counts = result.receipt["counts"]
        for line in describe(rules, counts.get("crowded", []), counts.get("stranded", 0)):
            terminal.err.print(line, markup=False, soft_wrap=True)
        if aligned := counts.get("aligned_columns"):
            terminal.err.print(f"Aligned  {describe_alignment(aligned)}", markup=False, soft_wrap=True)
        if left_out := counts.get("uninformative_columns"):
            columns = f"{count(len(left_out), 'columns')} that hardly tell records apart: {names_listed(left_out)}"
            terminal.err.print(f"Left out {columns}; --field compares them", markup=False, soft_wrap=True)
    if aside["save_settings"] is not None:
        write_settings(rules, aside["save_settings"], force=True)
        terminal.err.print(f"Wrote    {aside['save_settings']}", markup=False, soft_wrap=True)
    if aside["truth"] is not None:
        _evaluate(result, rules, aside["truth"])


def describe_alignment(aligned: Mapping[str, str]) -> str:
    """Describe which columns of two tables correspond, by their content.

    >>> describe_alignment({"surname": "last_name"})
    'surname with last_name, by their content; rename a column that is not the same'
    """
    named = names_listed(f"{one} with {other}" for one, other in aligned.items())
    return f"{named}, by their content; rename a column that is not the same"


def describe(rules: RecordRules, crowded: list[dict[str, Any]], stranded: int = 0) -> list[str]:
    """Describe the fields with their weights, the basis of probabilities, and oversized blocks, in one line each."""
    from lookalike.kinds.records.rules import BASES, CALIBRATED

    if not rules.searches:
        return []
    whole = sum(field.weight or 0 for field in rules.fields) or 1.0
    parts = []
    for field in rules.fields:
        weight_text = "" if field.weight is None else f" {(1 - rules.whole) * field.weight / whole:.2f}"
        parts.append(f"{field.column.strip()} ({field.compare}{weight_text})")
    if rules.whole:
        parts.append(f"the whole record ({rules.whole:.2f})")
    lines = ["Fields   " + " · ".join(parts)]
    if rules.basis in CALIBRATED:
        lines.append(f"Rests on {BASES[rules.basis]}")
    elif rules.basis is not None:
        lines.append(f"Rests on nothing that supports a probability: {BASES[rules.basis]}; scores only rank pairs")
    if crowded:
        shown = ", ".join(f"{c['column'].strip()} {c['value']!r} {c['records']:,}" for c in crowded[:3])
        lines.append(
            f"Crowded  {shown}: such records are compared where they share something rarer, or two such values; "
            f"{stranded:,} share nothing of the kind and were compared with none"
        )
    return lines


def _evaluate(result: Result, rules: RecordRules, truth: Path) -> None:
    """Print precision and recall of the result. Equal ids of two tables are distinguished by a prefix."""
    import pyarrow as pa

    from lookalike.cli.evaluate import reliability_text
    from lookalike.evaluation.api import evaluate
    from lookalike.evaluation.ground_truth import read_truth

    listed = read_truth(truth)
    answer = result.groups if result.asked == "groups" else result.pairs
    true: Any = truth
    if result.found.split >= 0 and listed.group is None:
        sides = zip(("left", "right"), ("1:", "2:"), strict=True)
        marked = {side: [mark + str(v) for v in answer[side].to_pylist()] for side, mark in sides}
        answer = pa.table({**marked, "similarity": answer["similarity"]})
        both = zip(("left", "right"), ("1:", "2:"), listed.ids, strict=True)
        true = pa.table({side: [mark + str(v) for v in ids.to_pylist()] for side, mark, ids in both})
    made = evaluate(
        answer, true, worst=0, reliability=result.asked != "groups" and rules.score_name == "probability"
    )  # fmt: skip
    curve = made.pairs if made.pairs is not None else made.groups
    if curve is None or not len(curve):
        sys.stdout.write("Truth    nothing was found\n")
        return
    at, best = len(curve) - 1, curve.best
    line = f"precision {share(curve.precision[at])} · recall {share(curve.recall[at])} · F1 {share(curve.f1[at])}"
    if best != at:
        line += f" · best F1 {share(curve.f1[best])} at {curve.threshold[best]:.3f}"
    sys.stdout.write(f"Truth    {line}\n")
    if made.reliability is not None:
        sys.stdout.write(reliability_text(made.reliability) + "\n")


RECORD_TABLES = "Tables with a record in each row: Parquet, Arrow, JSON Lines, CSV, TSV."
Tables = Annotated[list[str], o.input_argument(RECORD_TABLES)]
RECORDS = KindCommands(
    "records", "lookalike.kinds.records.api", RecordOptions, open_table, pairs_options=RecordPairOptions,
    inputs=RECORD_TABLES, groups_options=RecordGroupsOptions, grouping="stars", aside=CommandOptions,
    check=check, after=after,
)  # fmt: skip


@o.takes(o.only(RecordOptions, "id", "fields", "settings", "on_bad_text"))
def preview(
    inputs: Tables,
    options: dict[str, Any],
    against: o.Against = None,
    save_settings: Annotated[
        Path | None, o.option(FIELDS_PANEL, help="Write the fields as TOML, to be edited.")
    ] = None,
    force: o.RunOptions.Force = False,
) -> None:
    """Show what would be compared: the fields guessed, and for each key its comparisons and its largest bucket."""
    from rich.console import Console
    from rich.table import Table

    from lookalike.kinds.records import api as records
    from lookalike.kinds.records.rules_file import write_settings

    rules, costs = records.preview(o.paths(inputs), against=o.paths(against), **options)
    compare = {field.column: field.compare for field in rules.fields}
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("field", "compared by", "key"):
        shown.add_column(name)
    for name in ("comparisons", "largest bucket"):
        shown.add_column(name, justify="right")
    shown.add_column("its value")
    shown.add_column("crowded", justify="right")
    for cost in costs:
        shown.add_row(cost.column.strip(), compare[cost.column], cost.key, f"{cost.pairs:,}", f"{cost.largest:,}",
                      cost.value[:40], f"{cost.crowded:,}")  # fmt: skip
    Console(highlight=False).print(shown)
    if costs.aligned:
        sys.stdout.write(f"aligned {describe_alignment(costs.aligned)}\n")
    if costs.unreached:
        sys.stdout.write(
            f"{count(len(costs.unreached), 'records')} in no block with another record, so compared with none: "
            f"{names_listed(map(str, costs.unreached))}\n"
        )
    if save_settings is not None:
        write_settings(rules, save_settings, force=force)
        sys.stderr.write(f"Wrote    {save_settings}\n")


@o.takes(o.only(RecordOptions, "id", "fields", "settings", "threshold", "weights", "threads", "on_bad_text"))
def explain(
    left: Annotated[str, typer.Argument(help="The id of a record (of the first table).")],
    right: Annotated[str, typer.Argument(help="The id of the other record.")],
    inputs: Tables,
    options: dict[str, Any],
    against: o.Against = None,
) -> None:
    """Print what each field adds to the similarity of two records, as a waterfall.

    The weights are those that a run over the same input would learn; give --settings for ones that were saved.
    """
    from rich.console import Console
    from rich.table import Table

    from lookalike.kinds.records import api as records

    if Path(left).is_file():
        raise UsageError(
            f"{left} is a file; the two ids come first: lookalike records explain {right} {inputs[0]} {left}"
        )
    made = records.explain(o.paths(inputs), left, right, against=o.paths(against), audit=0, **options)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("field", left, right):
        table.add_column(name, overflow="fold", max_width=40)
    for name in ("adds", "sum"):
        table.add_column(name, justify="right")
    table.add_column("")
    total = made.prior or 0.0
    if made.prior is not None:
        table.add_row("(prior)", "", "", f"{made.prior:+.2f}", f"{made.prior:.2f}", "")
    unit = 24 / max(1.0, *(abs(row[3] or 0.0) for row in made.rows)) if made.prior is not None else 24
    for name, one, other, adds in made.rows:
        total += adds or 0.0
        bar = ("+" if (adds or 0) > 0 else "-") * round(abs(adds or 0.0) * unit)
        table.add_row(
            name.strip(), one or "", other or "", "missing" if adds is None else f"{adds:+.3f}", f"{total:.3f}", bar
        )
    Console(highlight=False).print(table)
    if made.evidence:
        _print_evidence(made)
    verdict = "a match" if made.similarity >= made.threshold else "no match"
    sys.stdout.write(f"{made.score_name} {made.similarity:.4f}, threshold {made.threshold:.4f}: {verdict}\n")


def _print_evidence(made: Explanation) -> None:
    """Print how each match weight comes about: the comparison level, m, u and adjustments."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("field", "level"):
        table.add_column(name)
    for name in ("m", "u", "match weight", "term frequency", "dependence"):
        table.add_column(name, justify="right")
    for one in made.evidence:
        adjusted = (f"{bits:+.2f}" if abs(bits) >= 0.005 else "" for bits in (one.term_frequency, one.dependence))
        table.add_row(
            one.field.strip(), one.level, f"{one.m:.4g}", f"{one.u:.2g}", f"{one.match_weight:+.2f}", *adjusted
        )
    Console(highlight=False).print()
    Console(highlight=False).print(table)


@o.takes(o.OutputOptions, RecordRunOptions, MergeOptions, MergeCommandOptions)
def merge(inputs: Tables, options: dict[str, Any]) -> None:
    """Write one row per entity: rows that mean the same are merged, column by column.

    With -o golden.csv, golden.members.csv says which rows each entity has, and golden.cells.csv where every value
    comes from and which others were discarded.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.io.results import write_receipt
    from lookalike.kinds.records import api as records

    target = o.Target.of(options)
    output, force = target.output, target.force
    if output is None:
        raise UsageError("merge writes files: give -o OUT, for example -o golden.csv.")
    check(options)
    aside = {name: options.pop(name) for name in declared(MergeCommandOptions)}
    options["survive"] = dict(map(_survivorship, options["survive"] or ()))
    options["unique"] = "all" if options["unique"] == ["all"] else options["unique"] or ()
    files = {name: beside(output, name) for name in ("members", *(["cells"] if aside["cells"] else []))}
    outputs = show.Outputs.check(output, *(files.values() if output.suffix else ()), force=force)
    with terminal.progress(target.quiet) as progress:
        made = records.merge(_sources(inputs, link=aside["link"]), progress=progress, **options)
        with outputs.together():
            if output.suffix:
                wrote = outputs.write_table(made.golden, output)
                for name, path in files.items():
                    wrote += outputs.write_table(getattr(made, name), path)
                write_receipt(made.receipt, show.receipt_of(output), [output, *files.values()], force=force)
                wrote.append(show.receipt_of(output))
            else:
                wrote = [made.save(output, force=force)]
    show.finish(made, wrote, quiet=target.quiet, json=target.json)
    if options.get("previous") is not None and not target.quiet:
        moved = sum(made.changes["records"].to_pylist())
        terminal.err.say("Changed", f"{count(moved, 'records')} with another entity than in the previous run")
    after(made, {"save_settings": aside["save_settings"], "truth": None}, quiet=target.quiet)


def beside(output: Path, name: str) -> Path:
    """Return the path of a companion: golden.csv.gz has golden.members.csv.gz next to it."""
    ending = "".join(output.suffixes[-2:]) if output.suffix in (".gz", ".zst") else output.suffix
    return output.with_name(f"{output.name.removesuffix(ending)}.{name}{ending}")


def _sources(inputs: list[str], *, link: bool) -> Any:
    """Return the inputs as one table, or by the names of their files as several ones."""
    paths = o.paths(inputs) or []
    if not link:
        return paths
    named = {path.name.partition(".")[0] or path.name: path for path in paths}
    if len(named) < len(paths) or len(paths) < 2:
        raise UsageError("--link needs two or more inputs with different names, such as shop.csv club.csv.")
    return named


def _survivorship(text: str) -> tuple[str, str | list[str]]:
    column, equals, rules = text.partition("=")
    if not equals or not column or not rules:
        raise UsageError(f"--survive {text!r} is not understood; expected COL=RULE, such as --survive phone=longest.")
    return column, rules.split("/")


@o.takes(RecordRunOptions)
def score(
    pairs: Annotated[Path, typer.Argument(help="The pairs to score: left, right.")],
    inputs: Tables, options: dict[str, Any], output: o.Out = None, against: o.Against = None,
    force: o.RunOptions.Force = False, quiet: o.RunOptions.Quiet = False,
) -> None:  # fmt: skip
    """Score pairs that come from elsewhere: left, right, similarity, whether they match, and what each field adds.

    Weights and threshold are those that a run over the same input would learn; give --settings for ones that were
    saved.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.kinds.records import api as records

    outputs = show.Outputs.check(output, force=force)
    with terminal.progress(quiet) as progress:
        table = records.score(o.paths(inputs), pairs, against=o.paths(against), progress=progress, **options)
        if output is not None:
            outputs.write_table(table, output)
    if output is None:
        show.print_rows(table, "pairs")


app = App(help="Rows that mean the same person, product or paper.", no_args_is_help=True)
for name, command in RECORDS.commands().items():
    app.command(name)(command)
app.command()(preview)
app.command()(explain)
app.command()(merge)
app.command()(score)
