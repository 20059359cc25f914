"""Changes that are committed together have the answers, and leave the index, that they have one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from index_kinds import SAMPLES, Sample
from lookalike.errors import OutputError, UsageError
from lookalike.index import group_commit
from lookalike.index.group_commit import Addition, Change, Postponed, Removal, commit
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


def applied(index: Index, step: list[Change]) -> list[tuple[Change, Any]]:
    """Apply one change, or additions that replace items in one call of `add`, and return the result of each."""
    if len(step) == 1:
        return [(step[0], group_commit._alone(index, step[0]))]
    additions = [change for change in step if isinstance(change, Addition)]
    stored = set(index)
    items, ids = ([one for change in additions for one in getattr(change, name)] for name in ("items", "ids"))
    added = index.add(items, ids=ids)
    out = [(change, Added(len(change.items), len(stored & set(change.ids or ())))) for change in additions]
    assert added == Added(sum(one.count for _, one in out), sum(one.replaced for _, one in out))
    return out


@pytest.mark.promise("docs/how-to/serve.md", "with the answers that they would have had one by one")
@pytest.mark.parametrize("sample", FEW, ids=lambda sample: sample.kind)
@pytest.mark.parametrize("seed", range(3))
def test_together_is_as_one_by_one(tmp_path: Path, sample: Sample, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    items = sample.items(40, seed)
    order: list[list[Change]] = []
    inner_commit, inner_alone = group_commit._commit, group_commit._alone

    def recorded_commit(index: Index, changes: Any) -> Any:
        stored = set(index)
        outcomes = inner_commit(index, changes)
        plain = [change if isinstance(change, Removal) else change.addition for change in changes]
        steps = [change for change in plain if isinstance(change, Addition) and change.if_new]
        nonlocal together_if_new
        together_if_new += sum(
            isinstance(change, Addition) and bool(stored & set(change.ids or ())) for change in steps
        )
        steps += [change for change in plain if isinstance(change, Removal)]
        others = [change for change in plain if isinstance(change, Addition) and not change.if_new]
        replacing = [change for change in others if stored & set(change.ids or ())]
        order.extend([change] for change in steps)
        if replacing:
            order.append(replacing)
            replaced_together.append(len(replacing))
        order.extend([change] for change in others if change not in replacing)
        return outcomes

    def recorded_alone(index: Index, change: Change) -> Any:
        order.append([change])
        return inner_alone(index, change)

    together = Index.create(tmp_path / "together", kind=sample.kind, **sample.options)
    apart = Index.create(tmp_path / "apart", kind=sample.kind, **sample.options)
    sizes, together_if_new = [], 0
    replaced_together: list[int] = []
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
            assert sorted(id(change) for step in order for change in step) == sorted(map(id, changes))
            expected = {id(change): outcome for step in order for change, outcome in applied(apart, step)}
            assert [repr(outcome) for outcome in outcomes] == [repr(expected[id(change)]) for change in changes]
            assert list(together) == list(apart)
        assert state(together) == state(apart)
    assert sum(changes for changes, _ in sizes) > sum(commits for _, commits in sizes)
    assert seed == 2 or max(replaced_together) > 1
    assert seed == 2 or together_if_new > 0


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
        again = commit(index, [Addition([f"another item {n}"], [f"n{n}"]) for n in range(50)])
        assert index.store._manifest.get("change") == 3  # type: ignore[attr-defined]
        assert (sum(one.replaced for one in again), len(index)) == (48, 50)  # type: ignore[union-attr]


def test_removals_wait_while_many_items_are_not_in_groups(tmp_path: Path) -> None:
    changes = [Removal(3), Removal(99), Addition(["another text"], [4]), Addition(["new text"], [7])]
    with Index.create(tmp_path / "index", k=2) as index:
        index.add([f"item number {n} here" for n in range(5)])
        outcomes = commit(index, changes, most_ungrouped=4)
        assert [type(outcome) for outcome in outcomes] == [Postponed, int, Postponed, Added]
        assert list(index) == [0, 1, 2, 3, 4, 7]
        index.groups()
        assert commit(index, changes[:3], most_ungrouped=4) == [1, 0, Added(1, 1)]
