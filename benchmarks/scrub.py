"""Time and memory of `lookalike scrub` on generated text: python benchmarks/scrub.py --megabytes 1000 --memory 2GB

Documents of 450 words with Zipf-like frequencies; into three of ten, one of 2,000 passages of 60 to 200 words is
inserted. Prints core seconds (user and system time), megabytes of text for each, the time that passed, the peak
resident memory, and the largest size of the files besides the input and the output.

python benchmarks/scrub.py --edits 0.05 --gap 4 instead prints the share of copies of 100 words, 5 % of them changed, of
which nine tenths of the words are cut.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# promise: docs/how-to/clean-a-training-corpus.md | 98 % are cut this way and 1 % without `--gap`
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
BLOCK = 400 * 10**6  # bytes of text that are drawn; longer collections go on with it in words of other letters


def generate(path: Path, nbytes: int, seed: int = 7) -> None:
    """Write documents until the file has this size; after BLOCK bytes, the first ones with other letters."""
    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(LETTERS, rng.integers(3, 9))) for _ in range(50_000)])
    pool = [" ".join(rng.choice(words, rng.integers(60, 200))) for _ in range(2000)]
    number = 0
    with path.open("w") as file:
        while file.tell() < min(nbytes, BLOCK):
            text = " ".join(words[np.minimum((rng.pareto(1.1, 450) * 300).astype(np.int64), len(words) - 1)])
            if rng.random() < 0.3:
                text = f"{text[:1500]} {pool[rng.integers(len(pool))]} {text[1500:]}"
            file.write(json.dumps({"id": number, "text": text}) + "\n")
            number += 1
    letters = "".join(LETTERS).encode()
    for turn in range(1, -(-nbytes // BLOCK)):
        table = bytes.maketrans(letters, letters[turn:] + letters[:turn])
        with path.open("rb") as drawn, path.open("ab") as more:
            for old, line in enumerate(itertools.islice(drawn, number)):
                text = line.split(b": ", 2)[2].translate(table)
                more.write(b'{"id": %d, "text": ' % (turn * number + old) + text)
                if more.tell() >= nbytes:
                    break


def share_cut(edits: float, gap: int, copies: int = 2000, seed: int = 9) -> float:
    """Return the share of copies with changed words of which nine tenths of the words are cut."""
    import lookalike as la

    rng = np.random.default_rng(seed)
    words = np.array(["".join(rng.choice(LETTERS, rng.integers(3, 9))) for _ in range(50_000)])

    def drawn(size: int) -> list[str]:
        return words[np.minimum((rng.pareto(1.1, size) * 300).astype(np.int64), len(words) - 1)].tolist()

    passages = [drawn(100) for _ in range(copies)]
    changed = [[word if rng.random() > edits else f"new{rng.integers(10**6)}" for word in words] for words in passages]
    around = [(drawn(100), drawn(100)) for _ in range(2 * copies)]
    texts = [" ".join([*a, *b, *c]) for (a, c), b in zip(around, passages + changed, strict=True)]
    result = la.scrub(texts, gap=gap)
    removed = result.removed
    lost = np.bincount(removed["row"].to_numpy(), removed["tokens"].to_numpy(), 2 * copies)[copies:]
    return float((lost >= 90).mean())


def others(folder: Path) -> int:
    """Return the bytes of all files but the input and the drafts of the output."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and "out.jsonl" not in path.name and path.name != "in.jsonl":
                total += path.stat().st_blocks * 512
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=float)
    parser.add_argument("--gap", type=int, default=4)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--memory", default="2GB")
    given = parser.parse_args()
    if given.edits is not None:
        print(f"{given.edits:.0%} of the words changed, gap {given.gap}: {share_cut(given.edits, given.gap):.1%} cut")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder / "in.jsonl", given.megabytes * 10**6)
        command = ["scrub", "in.jsonl", "-o", "out.jsonl", "--removed", "removed.parquet", "--memory", given.memory]
        began, most = time.monotonic(), 0
        process = subprocess.Popen([sys.executable, "-m", "lookalike", *command], cwd=folder)
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            most = max(most, others(folder))
            time.sleep(0.2)
        _, status, usage = ended
        passed = time.monotonic() - began
        spent = usage.ru_utime + usage.ru_stime
        size = (folder / "in.jsonl").stat().st_size / 1e6
        print(f"exit {os.waitstatus_to_exitcode(status)}: {size:,.0f} MB, {spent:.1f} core seconds, "
              f"{size / spent:.1f} MB each, {passed:.1f} s ({size / passed:.1f} MB/s), peak "
              f"{usage.ru_maxrss / 1e3:,.0f} MB, other files {most / 1e6:,.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
