"""Which stored text holds a snippet, and who quotes a text: an index of passages, next to datasketch's LSH Ensemble.

    python benchmarks/index_passages.py [DOCUMENTS [ENSEMBLE]]

Generated texts of 40 to 120 words with the frequencies of a language (1/rank over 50,000 words), 1,000,000 of them by
default, of which LSH Ensemble gets the first 100,000. Queries are 500 snippets of 20 words from stored texts; one is
found if the text that it comes from is in the answer. Milliseconds for each query, one at a time: elapsed, and of the
processor. The recall of `index.query` and `index.passages` must be 1. LSH Ensemble (containment 0.8, 256 hashes, 32
partitions) works on sets of 3-shingles.
Writes .bench/index_passages.json.
"""

# promise: docs/how-to/index.md | A snippet of 20 words is found among a million in 0.28 ms
# promise: docs/how-to/index.md | LSH Ensemble with 256 hashes finds 0.66 of them
# promise: docs/how-to/index.md | one for about five words
# promise: docs/how-to/index.md | compares with the LSH Ensemble of datasketch

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from machine import machine, versions

DOCUMENTS, ENSEMBLE, SNIPPETS, WORDS = 1_000_000, 100_000, 500, 20
VOCABULARY = 50_000


def texts(count: int, seed: int = 5) -> Iterator[list[str]]:
    """Generate texts in batches."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number}" for number in range(VOCABULARY)])
    chance = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    chance /= chance[-1]
    for low in range(0, count, 10_000):
        sizes = rng.integers(40, 121, min(10_000, count - low))
        drawn = words[np.minimum(np.searchsorted(chance, rng.random(int(sizes.sum()))), VOCABULARY - 1)]
        ends = np.cumsum(sizes)
        yield [" ".join(drawn[end - size : end]) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]


def snippets(count: int) -> tuple[list[str], list[int]]:
    """Return snippets, and the numbers of the texts that they come from."""
    rng = np.random.default_rng(9)
    chosen = np.sort(rng.choice(count, SNIPPETS, replace=False))
    out, first = [], 0
    for batch in texts(count):
        for number in chosen[(chosen >= first) & (chosen < first + len(batch))]:
            words = batch[number - first].split()
            at = int(rng.integers(0, len(words) - WORDS + 1))
            out.append(" ".join(words[at : at + WORDS]))
        first += len(batch)
    return out, chosen.tolist()


def asked(ask: Callable[[str], Any], given: list[str], true: list[int]) -> dict[str, Any]:
    """Return times and recall of queries, one by one. ask: a snippet to the ids that it finds."""
    seconds, core, found = [], [], 0
    for snippet in given[:20]:
        ask(snippet)
    for snippet, number in zip(given, true, strict=True):
        begin, cpu = time.perf_counter(), time.thread_time()
        ids = ask(snippet)
        seconds.append(time.perf_counter() - begin)
        core.append(time.thread_time() - cpu)
        found += number in ids
    out: dict[str, Any] = {"recall": found / len(given)}
    for name, times in (("ms", seconds), ("core_ms", core)):
        out |= {f"p{at}_{name}": round(1e3 * float(np.quantile(times, at / 100)), 3) for at in (50, 99)}
    return out


def ours(count: int) -> dict[str, Any]:
    import lookalike as la

    given, true = snippets(count)
    with tempfile.TemporaryDirectory(dir=".bench") as folder:
        begin, cpu = time.perf_counter(), time.process_time()
        with la.Index.create(f"{folder}/index", kind="passages") as index:
            index.add_batches((pa.array(batch, pa.large_string()), None) for batch in texts(count))
            run: dict[str, Any] = {
                "documents": count, "add_seconds": round(time.perf_counter() - begin, 1),
                "add_core_seconds": round(time.process_time() - cpu, 1), "bytes": index.info()["bytes"],
                "query": asked(lambda one: {match.id for match in index.query([one], threshold=0.8)[0]}, given, true),
                "passages": asked(lambda one: {match.id for match in index.passages([one])[0]}, given, true),
            }  # fmt: skip
    return run


def ensemble(count: int) -> dict[str, Any]:
    from datasketch import MinHash, MinHashLSHEnsemble

    def shingles(text: str) -> list[bytes]:
        words = text.split()
        return [" ".join(words[at : at + 3]).encode() for at in range(len(words) - 2)]

    given, true = snippets(count)
    begin, entries, first = time.perf_counter(), [], 0
    for batch in texts(count):
        sets = [sorted(set(shingles(text))) for text in batch]
        sketches = MinHash.bulk(sets, num_perm=256)
        entries += [(first + at, sketch, len(one)) for at, (sketch, one) in enumerate(zip(sketches, sets, strict=True))]
        first += len(batch)
    index = MinHashLSHEnsemble(threshold=0.8, num_perm=256, num_part=32)
    index.index(entries)

    def ask(text: str) -> set[int]:
        (sketch,) = MinHash.bulk([shingles(text)], num_perm=256)
        return set(index.query(sketch, len(set(shingles(text)))))

    run: dict[str, Any] = {"documents": count, "add_seconds": round(time.perf_counter() - begin, 1)}
    return run | {"query": asked(ask, given, true), "answers": sum(len(ask(one)) for one in given) / len(given)}


def main() -> None:
    count, fewer = (*map(int, sys.argv[1:]), *(DOCUMENTS, ENSEMBLE)[len(sys.argv) - 1 :])
    Path(".bench").mkdir(exist_ok=True)
    made: dict[str, Any] = {"machine": machine(), "versions": versions()}
    made["lookalike"] = [ours(size) for size in sorted({fewer, count})]
    print(json.dumps(made["lookalike"]))
    try:
        made["LSH Ensemble"] = ensemble(fewer)
    except ImportError as error:
        made["LSH Ensemble"] = str(error)
    print(json.dumps(made["LSH Ensemble"]))
    Path(".bench/index_passages.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
