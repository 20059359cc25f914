"""Whether the probabilities of `records --weights em` are true, on generated and on real tables.

python benchmarks/records_calibration.py [--half development|held_out|named] [--largest RECORDS]

For each set with a truth: what the probability rests on; the pairs stated at 0.5 or more; the expected calibration
error and the F1 at 0.5 with agreement by chance measured on all pairs (now), and taken from the
candidates wherever the dependence of fields could not be measured (before). Halves are those of records_study.py; the
packages that it fetches are left out. Writes .bench/records_calibration.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shapes
from machine import machine, versions
from records_study import HALVES, Prepared, tasks
from records_unseen import generated
from unseen_sets import Task

HERE = Path(__file__).parent
# promise: docs/how-to/records.md | One that states none now was right
# promise: docs/how-to/records.md | compares the stated probabilities with the truth
# promise: docs/how-to/records.md | too low where one entity has hundreds of rows


def sets(half: str, home: Path) -> Iterator[Task]:
    """The sets of a half, one seed each."""
    if half == "named":
        yield from tasks(half, home)
        return
    development = half == "development"
    for shape in shapes.development() if development else shapes.held_out():
        yield shape.task(1)
    for number, task in enumerate(generated(range(1, 2) if development else range(2, 3))):
        if (number % 2 == 0) == development:
            yield task


def from_candidates(table: Any) -> Any:
    """The model as it was before: agreement by chance from the candidates where dependence cannot be measured."""
    from lookalike.kinds.records.em_composite import estimate
    from lookalike.kinds.records.em_three_class import fit_from_fields
    from lookalike.kinds.records.match_probability import MatchModel, _of_all_fields

    chances = fit_from_fields(table)
    if chances is not None:
        return MatchModel(chances.prior, *_of_all_fields(chances, table), "measured")
    evidence = estimate(table)
    return MatchModel(evidence.prior, evidence.bits, None, "few fields")


def measured(prepared: Prepared, model: Any) -> dict[str, Any]:
    """Basis, calibration and F1 with this model of matches. Pairs of records count, not pairs of equal records."""
    from lookalike.evaluation.reliability import reliability
    from lookalike.kinds.records import search as record_search

    kept, record_search.match_model = record_search.match_model, model
    try:
        rules, score = prepared.search.scores(prepared.rules, "em", None, False)
    finally:
        record_search.match_model = kept
    table = prepared.search.table
    pairs, true = prepared.weights(table)
    stated = score >= np.float32(0.5)
    probability = np.repeat(score[stated].astype(np.float64), pairs[stated])
    each = np.arange(int(pairs[stated].sum())) - np.repeat(np.cumsum(pairs[stated]) - pairs[stated], pairs[stated])
    made = reliability(probability, each < np.repeat(true[stated], pairs[stated]))
    judged = prepared.judge(table, score, 0.5)
    return {"basis": rules.basis, "f1": judged["f1"], "best_f1": judged["best_f1"], **made.as_dict()}


def row(name: str, now: dict[str, Any], before: dict[str, Any]) -> str:
    pairs = sum(part["pairs"] for part in now["bins"])
    shown = [f"{x['expected_calibration_error']:.3f} | {x['f1']:.3f}" for x in (before, now)]
    return f"| {name} | {now['basis']} | {pairs:,} | {shown[0]} | {shown[1]} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--half", choices=HALVES, default="development")
    parser.add_argument("--largest", type=int, default=12_000, help="leave out sets of more records")
    given = parser.parse_args()
    os.environ.setdefault("LOOKALIKE_DATA", str(HERE.parent.parent / "shared/data"))
    from lookalike.kinds.records.match_probability import match_model

    home = (HERE.parent / ".bench").resolve()
    home.mkdir(exist_ok=True)
    out: dict[str, Any] = {"machine": machine(), "versions": versions(), "half": given.half, "sets": {}}
    sys.stdout.write(
        "| set | rests on | pairs | error before | F1 before | error now | F1 now |\n" + "|---" * 7 + "|\n"
    )
    for task in sets(given.half, home):
        if task.truth and sum(table.num_rows for table in task.tables) <= given.largest:
            prepared = Prepared.of(task)
            now, before = measured(prepared, match_model), measured(prepared, from_candidates)
            out["sets"][task.name] = {"now": now, "before": before}
            sys.stdout.write(row(task.name, now, before))
            sys.stdout.flush()
    for basis in dict.fromkeys(one["now"]["basis"] for one in out["sets"].values()):
        same = [one for one in out["sets"].values() if one["now"]["basis"] == basis]
        means = [
            np.nanmean([one[when][key] for one in same])
            for when in ("before", "now")
            for key in ("expected_calibration_error", "f1")
        ]
        sys.stdout.write(f"| mean of {len(same)} | {basis} | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |\n")
    (home / "records_calibration.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
