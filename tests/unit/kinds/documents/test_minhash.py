"""MinHash against the pipeline's signatures of whole sets, and MinHashLSH against the planned curve."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Recipe, ShingleRule
from lookalike.errors import BadText, RecallWarning, RecipeMismatch, UsageError
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.minhash import PENDING, MinHash, MinHashLSH
from lookalike.kinds.documents.signatures import sketch

Scheme = Literal["fss-1", "minhash-1"]
SCHEMES: tuple[Scheme, ...] = ("fss-1", "minhash-1")
words = st.sets(st.text(max_size=4), max_size=40)
both_schemes = pytest.mark.parametrize("scheme", SCHEMES)


def minhash(tokens: Any, num_perm: int = 128, **options: Any) -> MinHash:
    made = MinHash(num_perm, **options)
    made.update_batch(tokens)
    return made


def slow(tokens: set[str], num_perm: int, seed: int, scheme: Scheme) -> Any:
    """The signature that the pipeline makes of the whole set at once."""
    rule = ShingleRule(unit="token", k=1)
    sets = shingle(pa.array([list(tokens)], pa.large_list(pa.large_string())), rule)
    return sketch(sets, Recipe(scheme=scheme, seed=seed, length=num_perm, shingles=rule)).values[0]


# MinHash


@settings(deadline=None)
@given(words, words, st.sampled_from([1, 2, 5, 16, 128]), st.sampled_from([0, 42, (1 << 64) - 1]))
@both_schemes
def test_a_merge_is_the_sketch_of_the_union(scheme: Scheme, a: set[str], b: set[str], k: int, seed: int) -> None:
    left, right = minhash(a, k, seed=seed, scheme=scheme), minhash(b, k, seed=seed, scheme=scheme)
    np.testing.assert_array_equal(left.digest(), slow(a, k, seed, scheme))
    left.merge(right)
    np.testing.assert_array_equal(left.digest(), slow(a | b, k, seed, scheme))
    np.testing.assert_array_equal(right.digest(), slow(b, k, seed, scheme))
    assert left == minhash(a | b, k, seed=seed, scheme=scheme)
    assert left.is_empty() == (not a | b)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "a", "b", "ä", "\0"]), max_size=20), st.randoms())
@both_schemes
def test_order_and_repetition_do_not_matter(scheme: Scheme, tokens: list[str], random: Any) -> None:
    once = minhash(set(tokens), 8, scheme=scheme)
    again = MinHash(8, scheme=scheme)
    for token in random.sample(tokens, len(tokens)):
        again.update(token.encode() if random.random() < 0.5 else token)
        again.digest()  # what is looked at in between changes nothing
    assert again == once


def test_more_tokens_than_wait_at_once() -> None:
    tokens = {str(i) for i in range(2 * PENDING + 10)}
    np.testing.assert_array_equal(minhash(tokens).digest(), slow(tokens, 128, 42, "fss-1"))


@both_schemes
def test_bytes_need_not_be_text(scheme: Scheme) -> None:
    assert minhash([b"\xff"], scheme=scheme) != minhash([b"\xfe"], scheme=scheme)
    assert minhash([b"\xff\x00"], scheme=scheme).jaccard(minhash([b"\xff"], scheme=scheme)) == 0.0


@both_schemes
@pytest.mark.parametrize("shared", [0, 30, 60, 100])
def test_the_estimate_is_near_the_truth(scheme: Scheme, shared: int) -> None:
    left, right = range(100), range(100 - shared, 200 - shared)
    truth = shared / (200 - shared)
    made = [minhash(map(str, one), 2048, scheme=scheme) for one in (left, right)]
    assert abs(made[0].jaccard(made[1]) - truth) <= 5 * math.sqrt(truth * (1 - truth) / 2048)
    assert made[0].jaccard(made[1]) == np.mean(made[0].digest() == made[1].digest())


@both_schemes
@pytest.mark.parametrize("n", [1, 2, 10, 100, 2000])
def test_the_count_is_near_the_truth(scheme: Scheme, n: int) -> None:
    made = minhash((str(i) for i in range(n)), 1024, scheme=scheme)
    assert abs(made.count() / n - 1) <= 5 / math.sqrt(1024)


@both_schemes
def test_the_count_has_no_bias(scheme: Scheme) -> None:
    counts = [minhash((f"{run} {i}" for i in range(50)), 64, seed=run, scheme=scheme).count() for run in range(200)]
    assert abs(np.mean(counts) / 50 - 1) <= 5 / math.sqrt(64 * 200)
    assert np.std(counts) / 50 <= 1.3 / math.sqrt(64)


@pytest.mark.parametrize("num_perm", [1, 2])
@both_schemes
def test_a_signature_may_be_short(scheme: Scheme, num_perm: int) -> None:
    made = minhash(["a", "b"], num_perm, scheme=scheme)
    assert len(made) == len(made.digest()) == num_perm
    assert 0 < made.count() < math.inf


@both_schemes
def test_an_empty_one_is_similar_to_nothing(scheme: Scheme) -> None:
    empty = MinHash(scheme=scheme)
    assert empty.is_empty()
    assert empty.count() == 0.0
    assert empty.jaccard(MinHash(scheme=scheme)) == empty.jaccard(minhash(["a"], scheme=scheme)) == 0.0
    assert empty == MinHash(scheme=scheme)
    assert set(empty.digest().tolist()) == {0xFFFFFFFF}
    empty.update("")
    assert not empty.is_empty()


def test_copies_grow_apart_and_clear_empties() -> None:
    one = minhash(["a"])
    pending, settled = one.copy(), (one.digest(), one.copy())[1]
    assert pending == one == settled
    one.update("b")
    assert pending == settled != one
    settled.merge(one)
    assert settled == one != pending
    one.clear()
    assert one.is_empty()
    assert one == MinHash()
    assert not settled.is_empty()


def test_what_it_was_made_with_can_be_read_and_counts_for_equality() -> None:
    made = MinHash(64, seed=7, scheme="minhash-1")
    assert (made.num_perm, made.seed, made.scheme, len(made)) == (64, 7, "minhash-1", 64)
    assert made.copy().recipe == made.recipe
    assert MinHash(64) != MinHash(64, seed=7) != MinHash(64, seed=7, scheme="minhash-1")
    assert MinHash() != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(MinHash())


def test_a_digest_is_a_copy() -> None:
    made = minhash(["a"], scheme="minhash-1")
    made.digest()[:] = 0
    assert made == minhash(["a"], scheme="minhash-1")


def test_many_at_once() -> None:
    sets = [["a", "b"], [], [b"c"]]
    made = MinHash.bulk(sets, num_perm=16, seed=3)
    assert made == [minhash(one, 16, seed=3) for one in sets]
    assert next(MinHash.generator(iter(sets), num_perm=16, seed=3)) == made[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_perm": 64}, "signatures differ in length: 128 and 64; make both with the same recipe."),
        ({"seed": 7}, "signatures differ in seed: 42 and 7; make both with the same recipe."),
        ({"scheme": "minhash-1"}, "signatures differ in scheme: 'fss-1' and 'minhash-1'; make both with"),
    ],
)
def test_different_recipes_refuse(options: Any, message: str) -> None:
    one, other, table = minhash(["a"]), minhash(["a"], **options), MinHashLSH()
    table.insert("one", one)
    for meet in (one.jaccard, one.merge, table.query, lambda other: table.insert("other", other)):
        with pytest.raises(RecipeMismatch, match=f"^{re.escape(message)}"):
            meet(other)
    assert one == minhash(["a"])
    assert list(table.keys) == ["one"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MinHash(0), "the signature length is 0; expected at least 1."),
        (lambda: MinHash(seed=-1), "seed is -1; expected a whole number from 0 to 2^64 - 1."),
        (
            lambda: MinHash(scheme="fss1"),  # type: ignore[arg-type]
            "scheme 'fss1' is unknown. Nearest: 'fss-1'. Choices: fss-1, minhash-1.",
        ),
        (
            lambda: MinHash().update(5),  # type: ignore[arg-type]
            "a token is 5; expected bytes or str. For a number, add str(number).",
        ),
        (
            lambda: MinHashLSH(params=(1, 2, 3)),  # type: ignore[arg-type]
            "params is (1, 2, 3); expected (bands, rows).",
        ),
        (lambda: MinHashLSH(1.5), "threshold is 1.5; expected a number above 0 and at most 1."),
    ],
)
def test_what_cannot_work_is_said_in_one_line(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        make()


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(BadText, match=r"^character 1 of token 'a\\ud800' is half of a surrogate pair; expected valid"):
        MinHash().update("a\ud800")


# MinHashLSH


@both_schemes
@pytest.mark.parametrize(
    "options", [{"threshold": 0.8}, {"threshold": 0.8, "recall": 0.6}, {"threshold": 0.5, "params": (8, 8)}]
)
def test_a_set_at_similarity_four_fifths_is_found_as_planned(scheme: Scheme, options: dict[str, Any]) -> None:
    if "params" in options:
        with pytest.warns(RecallWarning, match=r"^recall at threshold 0.5 is 0.0246 with 8 bands of 8 rows"):
            table = MinHashLSH(**options)
    else:
        table = MinHashLSH(**options)
        assert table.plan.probability(0.8) >= options.get("recall", 0.99)
    runs, found = 500, 0
    for run in range(runs):
        shared = [f"{run} {i}" for i in range(80)]
        table.insert(run, minhash(shared + [f"{run} left {i}" for i in range(10)], scheme=scheme))
        found += run in table.query(minhash(shared + [f"{run} right {i}" for i in range(10)], scheme=scheme))
    p = table.plan.probability(0.8)
    # five standard deviations, and the longer tail of rare misses
    assert abs(found - runs * p) <= 5 * math.sqrt(runs * p * (1 - p)) + 4


def test_the_plan_is_that_of_the_planner_or_by_hand() -> None:
    table = MinHashLSH(threshold=0.8)
    assert (table.b, table.r) == (table.plan.bands, table.plan.rows) == (16, 6)
    by_hand = MinHashLSH(threshold=0.8, num_perm=60, params=(12, 5))
    assert (by_hand.b, by_hand.r, len(by_hand.get_counts())) == (12, 5, 12)
    with pytest.raises(UsageError, match=r"^bands x rows is 20 x 5 = 100, num_hashes is 64; take fewer"):
        MinHashLSH(num_perm=64, params=(20, 5))


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30))
def test_a_table_is_what_is_in_it(steps: list[tuple[bool, int]]) -> None:
    """Against a plain dictionary; keys 2i and 2i+1 have equal sets."""
    sets = [minhash([str(key // 2)], 16) for key in range(6)]
    table, model = MinHashLSH(0.9, 16), dict[int, None]()
    for add, key in steps:
        if add != (key in model):
            if add:
                table.insert(key, sets[key])
                model[key] = None
            else:
                table.remove(key)
                del model[key]
        assert [k in table for k in range(6)] == [k in model for k in range(6)]
        assert list(table.keys) == list(model)
        assert table.is_empty() == (not model)
        assert sorted(table.query(sets[key])) == sorted(k for k in model if k // 2 == key // 2)
        assert [sum(band.values()) for band in table.get_counts()] == [len(model)] * table.b
        assert all(min(band.values(), default=1) > 0 for band in table.get_counts())  # no bucket stays behind empty


def test_an_empty_set_is_kept_and_never_found() -> None:
    table = MinHashLSH()
    table.insert("nothing", MinHash())
    table.insert("something", minhash(["a"]))
    assert "nothing" in table
    assert table.query(MinHash()) == []
    assert table.query(minhash(["a"])) == ["something"]
    table.remove("nothing")
    assert list(table.keys) == ["something"]


def test_a_minhash_that_grows_later_does_not_move() -> None:
    table, grows = MinHashLSH(), minhash(["a"])
    table.insert("key", grows)
    grows.update_batch(str(i) for i in range(100))
    assert table.query(grows) == []
    assert table.query(minhash(["a"])) == ["key"]


def test_a_key_is_once_or_not_at_all() -> None:
    table = MinHashLSH()
    table.insert("here", minhash(["a"]))
    with pytest.raises(
        UsageError, match=r"^key 'here' is in the table already; remove it first, or take another key\.$"
    ):
        table.insert("here", minhash(["b"]))
    with pytest.raises(UsageError, match=r"^key 'there' is not in the table of 1 key; insert it first\.$"):
        table.remove("there")
    assert table.query(minhash(["a"])) == ["here"]


def test_an_index_without_items_knows_its_length_only() -> None:
    table = MinHashLSH(num_perm=64)
    assert table.query(minhash(["a"], 64, seed=5)) == []
    with pytest.raises(RecipeMismatch, match=r"^signatures differ in length: 64 and 128; make both"):
        table.query(minhash(["a"]))


def test_names_of_datasketch() -> None:
    one, other = MinHash.bulk([["a", "b", "c"], ["b", "c", "d"]])
    assert MinHash.union(one, other) == MinHash.bulk([["a", "b", "c", "d"]])[0]
    assert one == MinHash.bulk([["a", "b", "c"]])[0]  # unchanged
    assert one.hashvalues.tolist() == one.digest().tolist()
    with pytest.raises(UsageError, match="union got no MinHash"):
        MinHash.union()
    table = MinHashLSH(threshold=0.5)
    with table.insertion_session() as session:
        session.insert("one", one)
    assert table.query(one) == ["one"]


def test_a_function_of_the_user_hashes_the_tokens() -> None:
    def letters(token: bytes) -> int:
        return int.from_bytes(token.lower(), "little") - (1 << 70)

    plain, loud = MinHash(hashfunc=letters), MinHash(hashfunc=letters)
    plain.update_batch(["milk", "bread"])
    loud.update_batch(["MILK", "Bread"])
    assert plain.jaccard(loud) == 1
    assert plain.copy().jaccard(loud) == 1
    assert MinHash.union(plain, loud).jaccard(plain) == 1
    for other in (MinHash(), MinHash(hashfunc=hash)):
        other.update("milk")
        with pytest.raises(RecipeMismatch, match="different functions `hashfunc`"):
            plain.jaccard(other)
        with pytest.raises(RecipeMismatch):
            plain.merge(other)
