"""Mutated inputs for every reader: python benchmarks/fuzz.py [--inputs N] [--first SEED] [--only READER]

Each input is repeated by its reader and seed: python tests/fuzzing.py READER SEED
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import fuzzing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000_000, help="divided among the readers")
    parser.add_argument("--first", type=int, default=1_000_000, help="first seed; the tests use those from 0")
    parser.add_argument("--only", choices=list(fuzzing.READERS))
    options = parser.parse_args()
    names = [options.only] if options.only else list(fuzzing.READERS)
    share = options.inputs // len(names)
    failures = 0
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for name in names:
        begin, problems, first = time.process_time(), Counter[str](), dict[str, int]()
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            for seed in range(options.first, options.first + share):
                try:
                    fuzzing.run(name, seed, Path(folder))
                except AssertionError as error:
                    kind = str(error).partition(": ")[2][:80]
                    problems[kind] += 1
                    first.setdefault(kind, seed)
        seconds = time.process_time() - begin
        print(f"{name}: {share:,} inputs, {seconds:.0f} core seconds, {problems.total()} failures", flush=True)
        for kind, count in problems.most_common(20):
            print(f"  {count} times, first with seed {first[kind]}: {kind}", flush=True)
        failures += problems.total()
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
