"""What a forecast says is what then happens, over corpora of many shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.kinds.documents import forecast as forecasts

DOCUMENTS = 3000
Texts = list[list[str]]


def words(draw: random.Random, count: int, vocabulary: int = 20_000) -> list[str]:
    return [f"w{int(vocabulary ** draw.random())}" for _ in range(count)]


def edited(draw: random.Random, text: list[str], rate: float) -> list[str]:
    return [f"e{draw.randrange(10**6)}" if draw.random() < rate else word for word in text]


def articles(draw: random.Random) -> Texts:
    texts = [words(draw, draw.randint(60, 140)) for _ in range(DOCUMENTS * 4 // 5)]
    return texts + [edited(draw, draw.choice(texts), draw.choice([0.002, 0.01, 0.05])) for _ in range(DOCUMENTS // 5)]


def skewed(draw: random.Random) -> Texts:
    texts = [words(draw, 60) for _ in range(DOCUMENTS * 7 // 10)]
    for size in (DOCUMENTS // 10, *[20] * 20, *[5] * 40):
        template = words(draw, 60)
        texts += [edited(draw, template, 0.01) for _ in range(size)]
    return texts


def short(draw: random.Random) -> Texts:
    texts = [words(draw, draw.randint(6, 10)) for _ in range(DOCUMENTS * 4 // 5)]
    return texts + [edited(draw, draw.choice(texts), 0.05) for _ in range(DOCUMENTS // 5)]


def code(draw: random.Random) -> Texts:
    """A small vocabulary, lines that recur, a licence at the head of many."""
    lines = [words(draw, 8, 300) for _ in range(2000)]
    licence = words(draw, 30, 300)
    bodies = [[word for line in draw.choices(lines, k=draw.randint(4, 20)) for word in line] for _ in range(2500)]
    texts = [licence * draw.randint(0, 1) + body for body in bodies]
    return texts + [edited(draw, draw.choice(texts), 0.01) for _ in range(500)]


def copies(draw: random.Random) -> Texts:
    texts = [words(draw, 50) for _ in range(DOCUMENTS // 2)]
    return texts + [draw.choice(texts) for _ in range(DOCUMENTS // 2)]


def long(draw: random.Random) -> Texts:
    texts = [words(draw, 800) for _ in range(300)]
    return texts + [edited(draw, text, 0.005) for text in texts]


def footer(draw: random.Random) -> Texts:
    shared = words(draw, 60)
    texts = [words(draw, 40, 10**9) for _ in range(DOCUMENTS * 9 // 10)]
    return [text + shared for text in texts + [edited(draw, text, 0.03) for text in texts[: DOCUMENTS // 10]]]


def near_pairs(draw: random.Random) -> Texts:
    texts = [words(draw, 50) for _ in range(DOCUMENTS // 2)]
    return texts + [[*text[:-1], "changed"] for text in texts]


CORPORA: list[Callable[[random.Random], Texts]] = [articles, skewed, short, code, copies, long, footer, near_pairs]


def written(make: Callable[[random.Random], Texts], seed: int, folder: Path) -> Path:
    draw = random.Random(seed)
    texts = [" ".join(text) for text in make(draw)]
    draw.shuffle(texts)
    file = folder / f"{make.__name__}-{seed}.parquet"
    pq.write_table(pa.table({"text": texts}), file, row_group_size=max(1, len(texts) // 64))
    return file


ASKED = [(make, "auto") for make in CORPORA]
ASKED += [(make, method) for make in (skewed, code, footer) for method in ("lsh", "exact")] + [(near_pairs, "dcm")]


@pytest.mark.parametrize(("make", "method"), ASKED)
def test_what_was_read_whole_is_counted(make: Callable[[random.Random], Texts], method: str, tmp_path: Path) -> None:
    """The same sample chooses the same method, which finds the same pairs among the same candidates."""
    threshold = 0.5 if method == "auto" else 0.7
    file = written(make, 1, tmp_path)
    made = la.forecast(file, threshold=threshold, method=method)
    receipt = la.pairs(file, threshold=threshold, method=method).receipt
    counts = receipt["counts"]
    assert (made.complete, made.method, made.why) == (True, receipt["choice"]["method"], receipt["choice"]["why"])
    assert (made.pairs, made.candidates) == (counts["pairs"], counts["candidates"])
    assert made.pairs_interval == (made.pairs, made.pairs)
    assert made.candidates_interval == (made.candidates, made.candidates)


def test_common_shingles_are_dropped_as_in_the_run(tmp_path: Path) -> None:
    file = written(footer, 1, tmp_path)
    options: dict[str, Any] = {"threshold": 0.5, "method": "exact", "max_share": 0.1}
    counts = la.pairs(file, **options).receipt["counts"]
    reported = la.forecast(file, **options)
    assert (reported.pairs, reported.candidates) == (counts["pairs"], counts["candidates"])
    assert reported.pairs < la.forecast(file, threshold=0.5, method="exact").pairs


def test_intervals_hold_in_nine_of_ten_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """About a third of each corpus is read."""
    held, chosen, total = {"pairs": 0, "candidates": 0}, 0, 0
    for make in CORPORA:
        for seed in range(2):
            file = written(make, seed, tmp_path)
            counts = (result := la.pairs(file, threshold=0.7)).receipt["counts"]
            size = sum(len(text) for text in pq.read_table(file)["text"].to_pylist())
            monkeypatch.setattr(forecasts, "READ_BYTES", size // 3)
            made = la.forecast(file, threshold=0.7)
            assert not made.complete
            for name, interval in (("pairs", made.pairs_interval), ("candidates", made.candidates_interval)):
                held[name] += interval[0] <= counts[name] <= interval[1]
            chosen += made.method == result.receipt["choice"]["method"]
            total += 1
    assert held["pairs"] >= 0.9 * total
    assert held["candidates"] >= 0.9 * total
    assert chosen == total
