"""The measured recall of an index: the twin is a comparison of all pairs without keys."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from index_kinds import SAMPLES, scores
from lookalike.errors import UsageError
from lookalike.index.index import QuerySample
from lookalike.index.store import Blobs, StoredKeys

pytestmark = pytest.mark.filterwarnings("ignore::lookalike.errors.RecallWarning")

LOSSY: dict[str, Any] = {"kind": "sets", "threshold": 0.5, "bands": 3, "rows": 4}  # finds about a sixth at 0.5


def groups(count: int, seed: int) -> list[list[int]]:
    """Groups of similar sets whose sizes fall as 1 / rank."""
    draw, out = random.Random(seed), []
    for rank in range(1, 200):
        base = [draw.getrandbits(40) for _ in range(30)]
        for _ in range(max(2, count // (4 * rank))):
            out.append([draw.getrandbits(40) if draw.random() < 0.15 else element for element in base])
    return out[:count]


@pytest.fixture(params=["folder", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "index")
    new_schema: Callable[[], str] = request.getfixturevalue("new_schema")
    return f"{request.getfixturevalue('postgres')}&schema={new_schema()}"


@pytest.mark.promise("docs/how-to/index.md", "compares a sample of the stored items with all others, exactly")
def test_a_whole_sample_is_brute_force(place: str) -> None:
    items = groups(150, 1)
    with la.Index.create(place, **LOSSY) as index:
        index.add(items)
        index.remove([3, 70])
        kept = [number for number in range(150) if number not in (3, 70)]
        true = found = 0
        for number in kept:
            others = [other for other in kept if other != number]
            near = scores(index, items[number], [items[other] for other in others])
            partners = {other for other, score in zip(others, near, strict=True) if score is not None}
            true += len(partners)
            found += len(partners & {match.id for match in index.query([items[number]])[0]})
        measured = index.measure_recall(sample=1000)
        assert (measured.sampled, measured.queried, measured.items) == (148, 148, 148)
        assert (measured.share.true, measured.share.found) == (true, found)
        assert 0.1 < found / true < 0.9
        assert measured.recall == pytest.approx(found / true)
        assert measured.interval == pytest.approx((found / true, found / true))
        sample = QuerySample()
        index.query_table(items[:20], k=1, sample=sample)
        asked = index.recall_of(sample)
        assert asked is not None
        assert (asked.sampled, asked.queried) == (20, 20)
        with pytest.raises(UsageError, match=r"^sample is 0; expected at least 1\.$"):
            index.measure_recall(sample=0)


@pytest.mark.promise("docs/how-to/index.md", "with its 95 % interval")
def test_the_interval_covers(tmp_path: Path) -> None:
    """Over samples of a fixed index, of skewed groups and of pairs; a binomial law of .95 is below 180 in 1e-5."""
    for name, items in (("groups", groups(600, 2)), ("pairs", [s for n in range(300) for s in groups(2, n + 9)])):
        with la.Index.create(tmp_path / name, **LOSSY) as index:
            index.add(items)
            truth = index.measure_recall(sample=len(items)).recall
            assert truth is not None
            measured = [index.measure_recall(sample=100, seed=seed).interval for seed in range(200)]
            held = sum(interval is not None and interval[0] <= truth <= interval[1] for interval in measured)
            assert held >= 180, (name, held)


def test_keys_that_are_lost_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of a kind that misses none, whose queries look up only a part of their keys."""
    sample = SAMPLES["bits"]
    with la.Index.create(tmp_path / "index", kind="bits", **sample.options) as index:
        index.add(sample.items(80, 1))
        assert index.measure_recall(sample=80).recall == 1
        kind = type(index.kind)
        probes = kind.probes

        def fewer(self: Any, features: Blobs) -> StoredKeys:
            whole = probes(self, features)
            return replace(whole, values=np.where(whole.values % 3 == 0, whole.values, np.uint64(1)))

        monkeypatch.setattr(kind, "probes", fewer)
        measured = index.measure_recall(sample=80).recall
        assert measured is not None
        assert measured < 0.9


def test_a_sample_of_queries_in_batches_is_uniform() -> None:
    held = np.zeros(60, np.int64)
    for seed in range(400):
        sample = QuerySample(size=6, seed=seed)
        for low, high in ((0, 1), (1, 30), (30, 60)):
            sample.add(Blobs.of([bytes([row]) for row in range(low, high)]))
        rows = list(sample.features.data)
        assert (len(rows), sample.count) == (6, 60)
        held[rows] += 1
    assert abs(held - 40).max() < 5 * 6  # five standard deviations of a binomial count


@pytest.mark.promise("docs/how-to/index.md", "An index that may miss items says so with every answer")
@pytest.mark.promise("docs/how-to/index.md", "`--audit 300` asks for a number")
@pytest.mark.promise("docs/how-to/index.md", "The receipt of a query that is written to a file has it as well")
def test_the_receipt_of_a_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in groups(60, 3)))
    assert lookalike("index", "create", "sets", "--kind", "sets", "-t", "0.5", "-q").code == 0
    lookalike("index", "add", "sets", "items.jsonl", "--column", "tokens", "-q")
    done = lookalike("index", "query", "sets", "items.jsonl", "--column", "tokens", "-o", "matches.csv")
    assert "Recall   planned 0.99" in done.err
    assert " · measured 0.9938 (0.9938 to 0.9938) on 324 pairs of 60 queries\n" in done.err
    receipt = json.loads(Path("matches.csv.receipt.json").read_text())
    assert (receipt["asked"], receipt["recall_measured"]["recall"]) == ("index query", pytest.approx(322 / 324))
    said = lookalike("verify", "matches.csv")
    assert said.code == 0
    assert "the tables of `index query` are compared with their hashes only" in said.out + said.err
    done = lookalike("index", "query", "sets", "items.jsonl", "--column", "tokens", "--audit", "0")
    assert "not measured: --audit 300 compares 300 of the queries with all items" in done.err
    monkeypatch.setattr("lookalike.index.recall.CHEAP_BYTES", 10)
    done = lookalike("index", "query", "sets", "items.jsonl", "--column", "tokens")
    assert "not measured: --audit 300" in done.err
    done = lookalike("index", "recall", "sets", "--audit", "20", "--json")
    assert json.loads(done.out)["items"] == 60
