"""The probabilities that `records --weights em` states are not too high, and not much too low, on generated people."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from record_cases import common, typo, words

Row = dict[str, str | None]


def people(noise: float, relatives: float, seed: int, count: int = 600) -> tuple[pa.Table, list[int]]:
    """People of whom half have a copy; a share `noise` of its values has a typo, some are missing, some moved.

    relatives: the share of people who have the family name, street, town and phone of another one.
    """
    rng = np.random.default_rng(seed)
    first, family, towns, streets = (words(rng, n) for n in (60, 150, 25, 120))

    def person(like: Row | None) -> Row:
        row: Row = {
            "first": common(rng, first), "family": common(rng, family), "town": common(rng, towns),
            "street": f"{rng.integers(1, 200)} {common(rng, streets)} street",
            "phone": f"0{rng.integers(10**8, 10**9)}",
            "born": f"{rng.integers(1940, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
        }  # fmt: skip
        return row if like is None else row | {name: like[name] for name in ("family", "town", "street", "phone")}

    made: list[Row] = []
    for _ in range(count):
        made.append(person(made[int(rng.integers(len(made)))] if made and rng.random() < relatives else None))
    rows, who = list(made), list(range(count))
    for number in rng.permutation(count)[: count // 2].tolist():
        copy = person(None)
        for name, value in made[number].items():
            drawn = rng.random()
            if drawn < noise:
                copy[name] = typo(rng, str(value))
            elif drawn < 1.5 * noise:
                copy[name] = None
            elif drawn > 1.7 * noise or name in ("first", "family", "born"):
                copy[name] = value
        rows.append(copy)
        who.append(number)
    order = rng.permutation(len(rows)).tolist()
    table = pa.table({name: [rows[i][name] for i in order] for name in rows[0]})
    return table, [who[i] for i in order]


def linked(noise: float, relatives: float, without: list[str], seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """The basis, the probabilities of the pairs stated at 0.5 or more, and whether they are matches."""
    table, who = people(noise, relatives, seed)
    result = la.records.pairs(table.drop_columns(without), weights="em", threshold=0.5, audit=0)
    left, right = (result.pairs[side].to_pylist() for side in ("left", "right"))
    match = np.array([who[a] == who[b] for a, b in zip(left, right, strict=True)])
    return result.job.rules.basis or "", result.pairs["similarity"].to_numpy(), match


@pytest.mark.promise(
    "docs/how-to/records.md", "the mean probability of the pairs stated at 0.5 or more was within 0.05 of the share"
)
@pytest.mark.promise(
    "docs/how-to/records.md", "single values between 0.5 and 0.9 are often too low where many values are missing"
)
@pytest.mark.parametrize(("noise", "without"), [(0.1, []), (0.5, []), (0.3, ["town"])])
def test_as_many_pairs_are_matches_as_are_stated(noise: float, without: list[str]) -> None:
    runs = [linked(noise, 0.0, without, seed) for seed in range(2)]
    assert {basis for basis, _, _ in runs} <= {"measured", "assumed"}
    probability, match = (np.concatenate([run[part] for run in runs]) for part in (1, 2))
    assert len(match) > 300
    assert abs(probability.mean() - match.mean()) < 0.05
    assert match[probability >= 0.9].mean() > 0.9
    if noise == 0.5:
        assert match[probability < 0.9].mean() > probability[probability < 0.9].mean() + 0.1


@pytest.mark.promise("docs/how-to/records.md", "no probability is stated where pairs that differ in one field")
@pytest.mark.promise("docs/how-to/records.md", "of the pairs stated at 0.9 or more, nine in ten match")
def test_probabilities_are_withheld_where_relatives_would_make_them_too_high() -> None:
    """Some tables of few relatives keep theirs: of what they state at 0.9 or more, nine in ten match."""
    withheld, stated = [], []
    for noise, relatives, without in (
        (0.1, 0.03, []), (0.1, 0.07, ["born"]), (0.2, 0.1, ["town"]), (0.3, 0.03, ["town"]), (0.3, 0.07, []),
    ):  # fmt: skip
        for seed in range(2):
            basis, probability, match = linked(noise, relatives, without, seed)
            (withheld if basis == "related records" else stated).append(match[probability >= 0.9])
    assert len(withheld) >= 5
    assert len(stated) >= 2
    assert np.concatenate(stated).mean() > 0.9
    assert np.concatenate(withheld).mean() < 0.85  # they would have been wrong
