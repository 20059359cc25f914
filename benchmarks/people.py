"""Generated people with typos at known rates: names, addresses, phones and dates of birth, and who is who."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
BEGINS, MIDDLES, ENDS = (
    ["b", "br", "c", "ch", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w"],
    ["a", "e", "i", "o", "u", "ea"],
    ["n", "r", "l", "s", "ck"],
)
SYLLABLES = [c + v + e for c in BEGINS for v in MIDDLES for e in ("", *ENDS)]
KINDS = ("street", "road", "avenue", "lane", "close", "drive")
FIELDS = ("given_name", "surname", "street", "town", "postcode", "phone", "date_of_birth")
TYPO, MISSING, MOVED, SWAPPED = (
    0.15,
    0.05,
    0.08,
    0.02,
)  # per field; per field; phone and address per copy; names per copy
COPIES = 0.3  # of the rows are copies of others


def words(rng: np.random.Generator, count: int, syllables: tuple[int, int]) -> np.ndarray:
    """This many different made-up names."""
    made: dict[str, None] = {}
    while len(made) < count:
        size = int(rng.integers(*syllables, endpoint=True))
        made["".join(SYLLABLES[i] for i in rng.integers(0, len(SYLLABLES), size))] = None
    return np.array(list(made), dtype=object)


def common(rng: np.random.Generator, values: np.ndarray, rows: int) -> np.ndarray:
    """Values drawn as names are: a few often, most seldom (Zipf with exponent 0.9)."""
    chance = 1 / np.arange(1, len(values) + 1) ** 0.9
    return values[rng.choice(len(values), rows, p=chance / chance.sum())]


def originals(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """People without mistakes."""
    towns = words(rng, 3000, (2, 3))
    town = np.minimum((rng.pareto(1.2, rows) * 40).astype(int), 2999)
    street = common(rng, words(rng, 30_000, (2, 3)), rows)
    kind = np.array(KINDS, dtype=object)[rng.integers(0, len(KINDS), rows)]
    number = rng.integers(1, 250, rows).astype(str).astype(object)
    days = np.datetime64("1930-01-01") + rng.integers(0, 80 * 365, rows).astype("timedelta64[D]")
    return {
        "given_name": common(rng, words(rng, 5000, (1, 3)), rows),
        "surname": common(rng, words(rng, 50_000, (2, 3)), rows),
        "street": number + " " + street + " " + kind,
        "town": towns[town],
        "postcode": (10_000 + town * 27 + rng.integers(0, 27, rows)).astype(str).astype(object),
        "phone": np.array([f"0{n:09d}" for n in rng.integers(10**8, 10**9, rows)], dtype=object),
        "date_of_birth": days.astype(str).astype(object),
    }


def typo(rng: np.random.Generator, text: str) -> str:
    """One slip: a letter lost, doubled, changed, or swapped with its neighbour; digits stay digits."""
    at, kind = int(rng.integers(0, len(text))), int(rng.integers(0, 4))
    one = str(rng.integers(0, 10)) if text[at].isdigit() else str(LETTERS[rng.integers(0, 26)])
    if kind == 0 and len(text) > 2:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + one + text[at:]
    if kind == 2 or at + 1 == len(text):
        return text[:at] + one + text[at + 1 :]
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def people(rows: int, seed: int) -> tuple[pa.Table, int]:
    """(the rows in random order with id and person, how many true pairs there are)."""
    rng = np.random.default_rng(seed)
    copies = int(rows * COPIES)
    clean = originals(rng, rows - copies)
    source = rng.integers(0, rows - copies, copies)
    other = originals(np.random.default_rng(seed + 1), copies)
    moved = rng.random(copies) < MOVED
    changed = rng.random(copies) < MOVED
    swapped = rng.random(copies) < SWAPPED
    columns: dict[str, Any] = {}
    for name in FIELDS:
        values = clean[name][source].copy()
        replaced = moved if name in ("street", "town", "postcode") else changed if name == "phone" else None
        if replaced is not None:
            values[replaced] = other[name][replaced]
        for i in np.flatnonzero(rng.random(copies) < TYPO):
            values[i] = typo(rng, values[i])
        columns[name] = values
    given = columns["given_name"].copy()
    columns["given_name"][swapped] = columns["surname"][swapped]
    columns["surname"][swapped] = given[swapped]
    order = rng.permutation(rows)
    table: dict[str, Any] = {"id": pa.array(np.arange(rows))}
    for name in FIELDS:
        values = np.concatenate([clean[name], columns[name]])[order]
        table[name] = pa.array(values, pa.string(), mask=rng.random(rows) < MISSING)
    person = np.concatenate([np.arange(rows - copies), source])[order]
    table["person"] = pa.array(person)
    counts = np.bincount(person)
    return pa.table(table), int((counts * (counts - 1) // 2).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="a folder for people.csv, people.parquet and truth.parquet")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import pyarrow.csv as pacsv

    table, _ = people(given.rows, given.seed)
    given.output.mkdir(parents=True, exist_ok=True)
    plain = table.drop_columns(["person"])
    pq.write_table(plain, given.output / "people.parquet")
    pacsv.write_csv(plain, given.output / "people.csv")
    pq.write_table(table.select(["id", "person"]).rename_columns(["id", "group"]), given.output / "truth.parquet")


if __name__ == "__main__":
    main()
