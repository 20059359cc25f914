"""Compare `lookalike scrub` with removal by a suffix array: python benchmarks/scrub_suffix_array.py --megabytes 50

The text is that of `benchmarks/scrub.py`. The suffix array is built by pydivsufsort (pip install pydivsufsort) over the
words as numbers, with a unique number after each document; a word is removed if it is in a run of 50 words that
occurs twice, all copies of it, or all but the first. Each runs in a separate process. Printed are seconds, core
seconds, peak memory, the runs of 50 words that repeat before, the words removed, and what still repeats afterwards
according to another suffix array.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from scrub import generate

# promise: docs/how-to/clean-a-training-corpus.md | `scrub` removed 359,195 words in 3.6 core seconds
# promise: docs/how-to/clean-a-training-corpus.md | No run of 50 words was left twice by either
RUN = 50  # words
Numbers = np.ndarray[Any, Any]


def numbered(path: Path) -> tuple[Numbers, Numbers]:
    """Return the words of all documents as numbers, a unique number after each document, and where these are."""
    known: defaultdict[str, int] = defaultdict(count().__next__)
    documents = [
        np.array([known[word] for word in re.findall(r"\w+", json.loads(line)["text"].lower())], np.int64)
        for line in path.open()
    ]
    ends = np.cumsum([len(words) + 1 for words in documents]) - 1
    parts = [part for number, words in enumerate(documents) for part in (words, [len(known) + number])]
    return np.concatenate(parts).astype(np.int32), ends


def repeated_runs(words: Numbers) -> tuple[Numbers, Numbers]:
    """Return the first words of the runs that occur twice, and those that are not the first of their copies."""
    from pydivsufsort import divsufsort, kasai

    order = divsufsort(words)
    same = kasai(words, order)[: len(words) - 1] >= RUN  # with the next one in the order
    repeats, later = np.zeros(len(words), np.bool_), np.zeros(len(words), np.bool_)
    repeats[order[:-1][same]] = repeats[order[1:][same]] = True
    group = np.concatenate([[0], np.cumsum(~same)])
    first = np.full(group[-1] + 1, len(words), np.int64)
    np.minimum.at(first, group, order)
    later[order] = first[group] != order
    return repeats, later & repeats


def covered(starts: Numbers) -> Numbers:
    """Return which words are in a run that starts at one of these words."""
    edges = np.zeros(len(starts) + RUN + 1, np.int64)
    edges[: len(starts)] += starts
    edges[RUN : len(starts) + RUN] -= starts
    return np.cumsum(edges)[: len(starts)] > 0


def by_suffix_array(path: Path) -> None:
    words, ends = numbered(path)
    repeats, later = repeated_runs(words)
    inside = np.ones(len(words), np.bool_)
    inside[ends] = False
    for name, cut in (("all copies", covered(repeats)), ("all but the first", covered(later))):
        rest = words[~cut]
        left = repeated_runs(rest)[0].sum()
        removed = (cut & inside).sum()
        print(f"  {name}: {repeats.sum():,} places of repeated runs, {removed:,} of {inside.sum():,} words removed, "
              f"{left:,} places of repeated runs afterwards")  # fmt: skip


def by_lookalike(path: Path) -> None:
    command = ["scrub", str(path), "-o", str(path.with_name("out.jsonl")), "--memory", "2GB", "-q", "--force"]
    subprocess.run([sys.executable, "-m", "lookalike", *command], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--only", choices=["suffix-array", "lookalike"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        (by_suffix_array if given.only == "suffix-array" else by_lookalike)(given.file)
        return
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "in.jsonl"
        generate(path, given.megabytes * 10**6)
        for only in ("lookalike", "suffix-array"):
            begin = time.monotonic()
            process = subprocess.Popen([sys.executable, __file__, "--only", only, "--file", str(path)])
            _, status, usage = os.wait4(process.pid, 0)
            print(f"{only}: exit {os.waitstatus_to_exitcode(status)}, {time.monotonic() - begin:.1f} s, "
                  f"{usage.ru_utime + usage.ru_stime:.1f} core s, peak {usage.ru_maxrss / 1e3:,.0f} MB")  # fmt: skip
        before, after = (numbered(path.with_name(name))[0] for name in ("in.jsonl", "out.jsonl"))
        print(f"  one copy stays (lookalike): {len(before) - len(after):,} words removed, "
              f"{repeated_runs(after)[0].sum():,} places of repeated runs afterwards")  # fmt: skip


if __name__ == "__main__":
    main()
