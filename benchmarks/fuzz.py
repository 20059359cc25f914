"""Mutated inputs for every reader: python benchmarks/fuzz.py [--inputs N] [--minutes N] [--first SEED] [--only READER]

The readers take turns, so that all have had as many inputs when the time is over. Each input is repeated by its reader
and seed: python tests/fuzzing.py READER SEED
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import fuzzing

ROUND = 200  # inputs of a reader before the next reader has its turn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000_000, help="divided among the readers")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="when to stop, if that is earlier")
    parser.add_argument("--first", type=int, default=1_000_000, help="first seed; the tests use those from 0")
    parser.add_argument("--only", choices=list(fuzzing.READERS))
    options = parser.parse_args()
    logging.disable()  # the service logs each request that is not HTTP
    names = [options.only] if options.only else list(fuzzing.READERS)
    last, until = options.first + options.inputs // len(names), time.monotonic() + 60 * options.minutes
    inputs, seconds, problems = Counter[str](), Counter[str](), defaultdict[str, Counter[str]](Counter)
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        for begin in range(options.first, last, ROUND):
            for name in names if time.monotonic() < until else ():
                start = time.process_time()
                for seed in range(begin, min(begin + ROUND, last)):
                    inputs[name] += 1
                    try:
                        fuzzing.run(name, seed, Path(folder))
                    except AssertionError as error:
                        kind = str(error).partition(": ")[2][:120]
                        if not problems[name][kind]:
                            print(f"{name} {seed}: {kind}", flush=True)
                        problems[name][kind] += 1
                seconds[name] += time.process_time() - start  # type: ignore[assignment]
    for name in names:
        print(f"{name}: {inputs[name]:,} inputs, {seconds[name]:.0f} core seconds, {problems[name].total()} failures")
    print(f"{inputs.total():,} inputs, {sum(one.total() for one in problems.values())} failures")
    return min(1, len(problems))


if __name__ == "__main__":
    sys.exit(main())
