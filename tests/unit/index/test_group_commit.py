"""Changes that are committed together have the answers, and leave the index, that they have one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from index_kinds import SAMPLES, Sample
from lookalike.errors import OutputError, UsageError
from lookalike.index import group_commit
from lookalike.index.group_commit import Addition, Change, Removal, commit
from lookalike.index.index import Added, Index

FEW = [SAMPLES[name] for name in ("documents", "bits", "strings")]


def state(index: Index) -> Any:
    """Return all that an index says of its items."""
    ids = list(index)
    return ids, [index.item(name) for name in ids], index.groups().to_pylist(), index.merges().drop("when").to_pylist()


def drawn(draw: random.Random, items: list[Any], *, automatic: bool) -> list[Change]:
    """Draw changes that often meet each other's ids and items."""
    out: list[Change] = []
    for _ in range(draw.randint(2, 12)):
        if draw.random() < 0.3:
            out.append(Removal(draw.randrange(30)))
            continue
        chosen = draw.choices(items, k=draw.choice([1, 1, 2, 3]))
        ids = [draw.randrange(30) for _ in chosen]
        out.append(Addition(chosen, None if automatic and draw.random() < 0.5 else ids, draw.random() < 0.4))
    return out


@pytest.mark.promise("docs/how-to/serve.md", "with the answers that they would have had one by one")
@pytest.mark.parametrize("sample", FEW, ids=lambda sample: sample.kind)
@pytest.mark.parametrize("seed", range(3))
def test_together_is_as_one_by_one(tmp_path: Path, sample: Sample, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    items = sample.items(40, seed)
    order: list[Change] = []
    inner_commit, inner_alone = group_commit._commit, group_commit._alone

    def recorded_commit(index: Index, changes: Any) -> Any:
        outcomes = inner_commit(index, changes)
        plain = [change if isinstance(change, Removal) else change.addition for change in changes]
        order.extend(sorted(plain, key=lambda change: 1 if isinstance(change, Removal) else 0 if change.if_new else 2))
        return outcomes

    def recorded_alone(index: Index, change: Change) -> Any:
        order.append(change)
        return inner_alone(index, change)

    together = Index.create(tmp_path / "together", kind=sample.kind, **sample.options)
    apart = Index.create(tmp_path / "apart", kind=sample.kind, **sample.options)
    sizes = []
    with together, apart:
        for _ in range(8):
            changes = drawn(draw, items, automatic=seed == 2)
            order.clear()
            with monkeypatch.context() as patch:
                patch.setattr(group_commit, "_commit", recorded_commit)
                patch.setattr(group_commit, "_alone", recorded_alone)
                before = together.store._manifest.get("change")  # type: ignore[attr-defined]
                outcomes = commit(together, changes)
                sizes.append((len(changes), together.store._manifest.get("change") - before))  # type: ignore[attr-defined]
            assert sorted(map(id, order)) == sorted(map(id, changes))
            expected = {id(change): inner_alone(apart, change) for change in order}
            assert [repr(outcome) for outcome in outcomes] == [repr(expected[id(change)]) for change in changes]
            assert list(together) == list(apart)
        assert state(together) == state(apart)
    assert sum(changes for changes, _ in sizes) > sum(commits for _, commits in sizes)


def test_an_error_concerns_its_own_change_only(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", k=2) as index:
        text = "a rose is a rose is a rose"
        changes = [
            Addition([text], ["a"]),
            Addition([text], ["b", "c"]),
            Addition([text], [7]),
            Addition([3.5], ["d"]),
            Addition([text], ["e"]),
            Removal("nobody"),
        ]
        outcomes = commit(index, changes)
        assert [type(outcome) for outcome in outcomes] == [Added, UsageError, UsageError, UsageError, Added, int]
        assert str(outcomes[2]) == "the ids of this index are strings; these are whole numbers."
        assert list(index) == ["a", "e"]


def test_a_full_disk_fails_all_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutputError("disk full")

    with Index.create(tmp_path / "index", k=2) as index:
        monkeypatch.setattr(index.store, "add", full)
        outcomes = commit(index, [Addition(["a b c"], ["a"]), Addition(["d e f"], ["b"])])
        assert [str(outcome) for outcome in outcomes] == ["disk full"] * 2
        assert len(index) == 0


def test_changes_of_one_transaction_are_one_commit(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", k=2) as index:
        commit(index, [Addition([f"item number {n} here"], [f"n{n}"]) for n in range(50)])
        assert index.store._manifest.get("change") == 1  # type: ignore[attr-defined]
        assert commit(index, [Removal("n1"), Removal("n1"), Removal("n2")]) == [1, 0, 1]
        assert index.store._manifest.get("change") == 2  # type: ignore[attr-defined]
        assert len(index) == 48
