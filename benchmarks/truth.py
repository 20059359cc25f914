"""The exact answer: every pair of documents with Jaccard similarity of at least 4/5, and no other.

    python benchmarks/truth.py CORPUS            makes CORPUS.truth.parquet (left < right, similarity)
    python benchmarks/truth.py CORPUS --check    compares with a comparison of all pairs of the first 2,000 documents

Prefix, length and position filters over sets ordered from rare to common elements; equal sets are joined once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import uint64

from compiler import jit, mix
from sets import K, kind_of, sets_of

NUM, DEN = 4, 5  # The threshold as a fraction: integers decide about a pair that lies exactly on it.


@jit
def overlap_from(elements: Any, i: Any, i_end: Any, j: Any, j_end: Any, needed: Any) -> Any:
    """How many elements two sorted ranges share; or some number below `needed` once that is out of reach."""
    shared = 0
    while i < i_end and j < j_end:
        if shared + min(i_end - i, j_end - j) < needed:
            break
        if elements[i] == elements[j]:
            shared += 1
            i += 1
            j += 1
        elif elements[i] < elements[j]:
            i += 1
        else:
            j += 1
    return shared


@jit
def join(elements: Any, offsets: Any, postings: Any, place: Any, prefix_starts: Any, owner: Any, run_start: Any) -> Any:
    # elements u64[], offsets i64[n+1]: the sets, by growing size; prefix_starts i64[n+1]: first prefix entry of a set
    # postings i64[m]: prefix entries sorted by (element, set); place i64[m]: where entry e is in postings;
    # owner i64[m]: the set of entry e; run_start i64[m]: where the run of the element at a place begins
    """(left, right, shared) of all pairs at or above the threshold; a pair is met at its first common element."""
    left, right, shared = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    seen = np.full(len(offsets) - 1, -1, np.int64)
    found = 0
    for x in range(len(offsets) - 1):
        size = offsets[x + 1] - offsets[x]
        for entry in range(prefix_starts[x], prefix_starts[x + 1]):
            i = offsets[x] + entry - prefix_starts[x]
            for at in range(place[entry] - 1, run_start[place[entry]] - 1, -1):
                y = owner[postings[at]]
                other = offsets[y + 1] - offsets[y]
                if DEN * other < NUM * size:
                    break
                if seen[y] == x:
                    continue
                seen[y] = x
                j = offsets[y] + postings[at] - prefix_starts[y]
                needed = (NUM * (size + other) + NUM + DEN - 1) // (NUM + DEN)
                common = 1 + overlap_from(elements, i + 1, offsets[x + 1], j + 1, offsets[y + 1], needed - 1)
                if common >= needed:
                    if found == len(left):
                        left, right = np.append(left, left), np.append(right, right)
                        shared = np.append(shared, shared)
                    left[found], right[found], shared[found] = y, x, common
                    found += 1
    return left[:found], right[:found], shared[:found]


@jit
def digests(elements: Any, offsets: Any) -> Any:
    """One number per set, equal for equal sets."""
    out = np.zeros(len(offsets) - 1, np.uint64)
    for d in range(len(out)):
        for i in range(offsets[d], offsets[d + 1]):
            out[d] = mix(out[d] + uint64(1)) ^ elements[i]
    return out


def _join_distinct(elements: Any, offsets: Any, chosen: Any) -> tuple[Any, Any, Any]:
    """Join the sets `chosen`; (left, right, similarity) as positions in `chosen`."""
    sizes = np.diff(offsets)[chosen]
    by_size = np.argsort(sizes, kind="stable")
    sizes = sizes[by_size]
    inner = np.concatenate([[0], np.cumsum(sizes)])
    source = np.repeat(offsets[chosen[by_size]] - inner[:-1], sizes) + np.arange(inner[-1])
    sorted_sets = elements[source]
    del source
    prefix = sizes - (NUM * sizes + DEN - 1) // DEN + 1
    prefix_starts = np.concatenate([[0], np.cumsum(prefix)])
    owner = np.repeat(np.arange(len(sizes)), prefix)
    values = sorted_sets[inner[owner] + np.arange(prefix_starts[-1]) - prefix_starts[owner]]
    postings = np.argsort(values, kind="stable")
    place = np.empty_like(postings)
    place[postings] = np.arange(len(postings))
    values = values[postings]
    new = np.r_[True, values[1:] != values[:-1]]
    run_start = np.flatnonzero(new)[np.cumsum(new) - 1]
    left, right, shared = join(sorted_sets, inner, postings, place, prefix_starts, owner, run_start)
    similarity = shared / (sizes[left] + sizes[right] - shared)
    return by_size[left], by_size[right], similarity


def exact_pairs(elements: Any, offsets: Any) -> tuple[Any, Any, Any]:
    """(left, right, similarity) of every pair of documents at or above the threshold, left < right."""
    filled = np.flatnonzero(np.diff(offsets))
    _, first, group, sizes = np.unique(
        digests(elements, offsets)[filled], return_index=True, return_inverse=True, return_counts=True
    )
    members = filled[np.argsort(group, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    a, b, similarity = _join_distinct(elements, offsets, filled[first])
    alike = np.flatnonzero(sizes > 1)
    a, b = np.concatenate([a, alike]), np.concatenate([b, alike])
    similarity = np.concatenate([similarity, np.ones(len(alike))])
    # Put the members of each group of equal sets back: every one of a with every one of b.
    product = sizes[a] * sizes[b]
    which = np.repeat(np.arange(len(a)), product)
    step = np.arange(len(which)) - np.repeat(np.cumsum(product) - product, product)
    left = members[starts[a[which]] + step // sizes[b[which]]]
    right = members[starts[b[which]] + step % sizes[b[which]]]
    keep = (a[which] != b[which]) | (left < right)
    left, right = np.minimum(left, right)[keep], np.maximum(left, right)[keep]
    order = np.lexsort((right, left))
    return left[order], right[order], similarity[which][keep][order]


def truth_of(corpus: Path) -> pa.Table:
    """The exact pairs of a corpus, from the file next to it where it exists."""
    path = corpus.with_suffix(".truth.parquet")
    if not path.exists():
        left, right, similarity = exact_pairs(*sets_of(corpus))
        passing = path.with_suffix(".part")
        pq.write_table(pa.table({"left": left, "right": right, "similarity": similarity}), passing)
        passing.replace(path)
    return pq.read_table(path)


def slow_words(text: str) -> list[str]:
    """The words of a text, one character at a time: the obvious twin of sets.plain and sets.shingle."""
    words, alone = [""], False
    for character in text.casefold():
        kind = kind_of(character)
        if kind in " a" or (alone and kind == "w"):
            words.append("")
            alone = kind == "a"
        if kind != " ":
            words[-1] += character
    return [word for word in words if word]


def check(corpus: Path, documents: int = 2000) -> dict[str, int]:
    """Compare the join with all pairs of the first documents; raises where they differ."""
    texts = pq.read_table(corpus, columns=["text"]).column(0)[:documents].to_pylist()
    words = [slow_words(text) for text in texts]
    sets = [{tuple(w[i : i + K]) for i in range(max(1, len(w) - K + 1))} if w else set() for w in words]
    expected = {}
    for j, right in enumerate(sets):
        for i in range(j):
            small, large = sorted((len(sets[i]), len(right)))
            if small and DEN * small >= NUM * large:
                shared = len(sets[i] & right)
                if DEN * shared >= NUM * (small + large - shared):
                    expected[i, j] = shared / (small + large - shared)
    table = truth_of(corpus).to_pydict()
    pairs = zip(table["left"], table["right"], table["similarity"], strict=True)
    got = {(left, right): similarity for left, right, similarity in pairs if right < documents}
    if got != expected:
        wrong = sorted(set(got.items()) ^ set(expected.items()))
        raise SystemExit(f"the exact join is wrong: {len(wrong)} pairs differ, the first is {wrong[0]}.")
    return {"documents": len(texts), "pairs_compared": len(sets) * (len(sets) - 1) // 2, "pairs": len(got)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        print(json.dumps(check(given.corpus)))
        return
    similarity = truth_of(given.corpus).column("similarity").to_numpy()
    print(json.dumps({"pairs": len(similarity), "pairs_80_85": int((similarity < 0.85).sum())}))


if __name__ == "__main__":
    main()
