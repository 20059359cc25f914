"""The command `lookalike evaluate`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from lookalike.cli import options as o
from lookalike.core.formatting import count, readable_thresholds, share
from lookalike.core.options import Option
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.core.arrays import Scale
    from lookalike.evaluation.agreement import GroupCurve, PairCurve
    from lookalike.evaluation.api import Evaluation
    from lookalike.evaluation.judged_quality import JudgedQuality
    from lookalike.evaluation.reliability import Reliability

TRUTH = "Truth"


class EvaluateOptions(TypedDict, total=False):
    """The options of `evaluate`."""

    truth_id: Annotated[
        str | None, Option(None, "Column of the ids, where the truth is groups.", unset="guessed", panel=TRUTH)
    ]
    truth_group: Annotated[
        str | None, Option(None, "Column of the groups, where the truth is groups.", unset="guessed", panel=TRUTH)
    ]
    two_tables: Annotated[
        bool | None,
        Option(None, "Left and right are ids of two tables.", unset="as the receipt of the answer says, else one",
               flags=("--two-tables/--one-table",), panel=TRUTH),
    ]  # fmt: skip
    verdicts: Annotated[
        list[Path] | None,
        Option(None, "Instead of a truth: files of verdicts on drawn pairs (repeatable).", unset="none", panel=TRUTH),
    ]
    target_precision: Annotated[
        float | None,
        Option(None, "With `verdicts`: choose the lowest threshold with a lower limit of the precision of this.",
               unset="no choice", panel=TRUTH),
    ]  # fmt: skip
    groups: Annotated[
        bool, Option(False, "Also compare the groups that the pairs connect, at each threshold.", panel=o.WHAT)
    ]
    reliability: Annotated[
        bool | None,
        Option(None, "Compare similarities, as probabilities, with the share of true pairs.",
               unset="as the receipt says", flags=("--reliability/--no-reliability",), panel=o.WHAT),
    ]  # fmt: skip
    worst: Annotated[
        int,
        Option(10, "Number of misses and of false pairs to list.", range="[0, inf)",
               expected="0 or more misses to list"),
    ]  # fmt: skip
    output: Annotated[
        list[Path] | None,
        Option(None, "A report (.json) or a picture (.svg, .png, .html); repeatable.", unset="none",
               flags=("-o", "--output")),
    ]  # fmt: skip
    force: o.Force
    json: Annotated[bool, Option(False, "Print the report as JSON on standard output.")]


@o.takes(EvaluateOptions)
def evaluate(
    pairs: Annotated[
        str, typer.Argument(help="Pairs (left, right, similarity or distance), groups (id, group), or a result folder.")
    ],
    options: dict[str, Any],
    truth: Annotated[
        str | None,
        o.option(
            TRUTH,
            metavar="PATH",
            help="True pairs (left, right, or the first two columns), or true groups (id, group).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare pairs or groups with the truth: precision, recall and F1 at every threshold, and the worst misses.

    Pairs of one table have no direction and count once; with --two-tables (7, 3) is not (3, 7), and (5, 5) is a
    pair. Groups are compared pairwise, by B-cubed and by the adjusted Rand index, over the ids of both sides; an id
    that one side does not list is a single-member group there.

    With --verdicts, precision, recall among the pairs of the result and F1 are estimated with 95 % intervals from pairs
    that were drawn at random and judged (see lookalike verdicts next).
    """
    from lookalike.cli.terminal import err
    from lookalike.evaluation.api import evaluate as compare
    from lookalike.io.atomic import together
    from lookalike.io.json_rows import json_document
    from lookalike.io.results import write_json

    output: list[Path] = options.pop("output") or []
    force, as_json = options.pop("force"), options.pop("json")
    verdicts, target = options.pop("verdicts"), options.pop("target_precision")
    if (truth is None) == (not verdicts):
        raise UsageError("expected one of `truth` and `verdicts`; they measure in different ways.")
    for path in output:
        _check(path, force=force, judged=bool(verdicts))
    if verdicts:
        _judged(pairs, verdicts, target, output, force=force, as_json=as_json)
        return
    if target is not None:
        raise UsageError("`target_precision` goes with `verdicts`.")
    evaluation = compare(pairs, truth, **options)
    for note in evaluation.notes:
        err.say("Note:", note, style="yellow")
    sys.stdout.write(json_document(evaluation.as_dict()).decode() if as_json else _text(evaluation))
    with together(output, force=force):
        for path in output:
            if path.suffix.lower() == ".json":
                write_json(evaluation.as_dict(), path, force=force)
            else:
                from lookalike.evaluation.plots import save_evaluation

                save_evaluation(evaluation, path, force=force)
    for path in output:
        err.say("Wrote", str(path))


def _judged(
    pairs: str, verdicts: list[Path], target: float | None, output: list[Path], *, force: bool, as_json: bool
) -> None:
    """Estimate the quality from verdicts, print it and write it."""
    from lookalike.cli.terminal import err
    from lookalike.evaluation.judged_quality import quality
    from lookalike.io.json_rows import json_document
    from lookalike.io.results import write_json

    made = quality(pairs, verdicts, target_precision=target)
    sys.stdout.write(json_document(made.as_dict()).decode() if as_json else judged_text(made))
    for path in output:
        write_json(made.as_dict(), path, force=force)
        err.say("Wrote", str(path))


def judged_text(made: JudgedQuality) -> str:
    """Format the estimates as a table, with the chosen threshold."""
    with_all = any(one.recall_of_all is not None for one in made.points)
    whole = all(one.threshold.is_integer() for one in made.points) and made.column != "similarity"
    rows = []
    for one in made.points:
        parts = [one.precision, one.recall, one.f1, *([one.recall_of_all] if with_all else [])]
        cells = [f"{_share(part.value)} ({_share(part.low)} to {_share(part.high)})" if part else "–" for part in parts]
        mark = "chosen" if one.threshold == made.chosen else ""
        rows.append(
            [format(one.threshold, ".6g" if whole else ".4f"), f"{one.reported:,}", f"{one.judged:,}", *cells, mark]
        )
    head = ["threshold", "pairs", "judged", "precision", "recall", "F1", *(["recall of all"] if with_all else []), ""]
    drawn, known = made.counts["drawn"], made.counts["judged"]
    others = f" · {known - drawn:,} others judged, not drawn" if known > drawn else ""
    said = [f"verdicts: {count(drawn, 'drawn pairs')} judged, {made.counts['same']:,} of them the same{others}"]
    said.append(_table(head, rows))
    said.append("Estimates with 95 % intervals. Recall: of the true pairs of this result, the share at the threshold.")
    if with_all:
        said[-1] += " Recall of all:\ntimes the recall of the search, without true pairs beyond its threshold."
    if made.target is not None:
        said.append(_target_words(made))
    return "\n\n".join(said) + "\n"


def _target_words(made: JudgedQuality) -> str:
    more = "" if made.more is None else f"; about {count(made.more, 'more verdicts')} may allow a lower one"
    if made.chosen is not None:
        return f"Threshold {made.chosen:g} keeps a precision of {made.target:g}{more}."
    need = "" if made.more is None else f"; about {count(made.more, 'more verdicts')} may show one"
    return f"No threshold is shown to keep a precision of {made.target:g}{need}."


def _check(path: Path, *, force: bool, judged: bool = False) -> None:
    """Raise an error, before any work, for an output that could not be written. judged: only JSON can be written."""
    from lookalike.errors import nearest
    from lookalike.io.atomic import check_place

    known, kind = (".json",) if judged else (".json", ".svg", ".png", ".html"), path.suffix.lower()
    if kind not in known:
        raise UsageError(
            f"cannot write an evaluation as {path.suffix or path.name!r}.{nearest(kind, known)} "
            f"Choices: {', '.join(known)}."
        )
    check_place(path, force=force)


def _text(made: Evaluation) -> str:
    reported, true, both = (made.counts[f"{name}_pairs"] for name in ("reported", "true", "correct"))
    parts = [f"pairs: {reported:,} reported · {true:,} true · {both:,} both"]
    if made.pairs is not None and len(made.pairs):
        parts.append(_table(_pair_head(made.scale), _rows(made.pairs, _pair_cells)))
        parts.append(f"average precision {_share(made.pairs.average_precision)}")
    if made.reliability is not None and len(made.reliability.pairs):
        parts.append(reliability_text(made.reliability))
    if made.groups is not None and len(made.groups):
        parts.append("Groups\n" + _table(_group_head(made.scale), _rows(made.groups, _group_cells)))
    for title, table in (("True pairs not found", made.misses), ("Pairs found that are not true", made.false_pairs)):
        if table.num_rows:
            parts.append(f"{title}, the worst {table.num_rows:,}\n" + _listed(table))
    return "\n\n".join(parts) + "\n"


def reliability_text(made: Reliability) -> str:
    """Format the bins of stated probabilities as a table, with the expected calibration error."""
    rows = [
        [f"{low:g} to {high:g}", f"{pairs:,}", _share(stated), _share(share), f"{at_least:.4f} to {at_most:.4f}"]
        for low, high, pairs, stated, share, (at_least, at_most) in zip(
            made.low, made.high, made.pairs, made.stated, made.share, made.intervals, strict=True
        )
    ]
    head = ["probability", "pairs", "mean stated", "share true", "95 % interval"]
    return f"{_table(head, rows)}\nexpected calibration error {_share(made.error)}"


def _rows(curve: PairCurve, cells: Any) -> list[list[str]]:
    """Return a row per readable threshold at which the result changes, the best F1 and the loosest; strictest first."""
    if math.isnan(curve.threshold[0]):
        return [["none", *cells(curve, 0), ""]]
    strictest, loosest, best = (float(curve.threshold[place]) for place in (0, -1, curve.best))
    low, high = sorted((strictest, loosest))
    # Of thresholds with equal results, the strictest is shown.
    candidates = sorted({*readable_thresholds(low, high), loosest, best}, key=lambda t: curve.sign * t)
    shown = sorted({curve.at(t): t for t in candidates}.items())
    few = curve.take([place for place, _ in shown])
    whole = curve.sign < 0 and all(t.is_integer() for _, t in shown)
    kind = ".4f" if high <= 1.0 and not whole else ".6g"
    return [[format(t, kind), *cells(few, row), "best F1" if t == best else ""] for row, (_, t) in enumerate(shown)]


def _threshold_head(scale: Scale) -> str:
    return "threshold" if scale.sign > 0 else f"{scale.column} ≤"


def _pair_head(scale: Scale) -> list[str]:
    return [_threshold_head(scale), "reported", "correct", "precision", "recall", "F1", ""]


def _pair_cells(curve: PairCurve, place: int) -> list[str]:
    counts = [f"{curve.reported[place]:,}", f"{curve.correct[place]:,}"]
    return counts + [_share(values[place]) for values in (curve.precision, curve.recall, curve.f1)]


def _group_head(scale: Scale) -> list[str]:
    bcubed = ["B³ precision", "recall", "F1"]
    return [_threshold_head(scale), "groups", "pairs", "precision", "recall", "F1", *bcubed, "adjusted Rand", ""]


def _group_cells(curve: GroupCurve, place: int) -> list[str]:
    shares = (curve.precision, curve.recall, curve.f1, curve.bcubed_precision, curve.bcubed_recall, curve.bcubed_f1)
    counts = [f"{curve.groups[place]:,}", f"{curve.reported[place]:,}"]
    return counts + [_share(values[place]) for values in (*shares, curve.adjusted_rand)]


def _listed(table: Any) -> str:
    score = table.column_names[-1]
    whole = score != "similarity" and all(value is None or value.is_integer() for value in table[score].to_pylist())
    scores = [f"{value:.0f}" if whole and value is not None else _share(value) for value in table[score].to_pylist()]
    sides = [(_one_line(row["left"]), _one_line(row["right"])) for row in table.to_pylist()]
    return _table([score, "left", "right"], [[s, *ids] for s, ids in zip(scores, sides, strict=True)], left=(1, 2))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Format a table with columns of fixed width, right-aligned except for those in `left`."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        [cell.ljust(widths[i]) if i in left else cell.rjust(widths[i]) for i, cell in enumerate(line)]
        for line in (head, *rows)
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _one_line(value: object) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(value))


def _share(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else share(value)
