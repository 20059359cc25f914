"""Schedules of faults by the hundred thousand: python benchmarks/faults.py [--schedules N] [--first SEED] [--only NAME]

Each schedule is repeated by its name and seed: python tests/fault_schedules.py NAME SEED
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import fault_schedules

SHARES = {
    "verdicts": 0.2, "journal": 0.15, "links": 0.15, "carry": 0.1, "outputs": 0.1, "work-folder": 0.1, "index": 0.2,
}  # fmt: skip
SHOWN_CALLS = 3000  # characters of a failure that are printed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1_000_000, help="first seed; the tests use those from 0")
    parser.add_argument("--only", choices=list(SHARES))
    options = parser.parse_args()
    failed = 0
    for name, share in SHARES.items():
        count = options.schedules if options.only else round(share * options.schedules)
        if options.only not in (None, name):
            continue
        begin, calls, stopped = time.process_time(), 0, 0
        for seed in range(options.first, options.first + count):
            try:
                system = fault_schedules.run(name, seed)
            except Exception as error:  # every failure is shown, and the others are run
                failed += 1
                print(f"{name} {seed} failed: {type(error).__name__}: {str(error)[:SHOWN_CALLS]}", flush=True)
            else:
                calls, stopped = calls + system.calls, stopped + system.stopped
        seconds = time.process_time() - begin
        print(
            f"{name}: {count:,} schedules, {calls:,} calls, {stopped:,} stops, {seconds:.0f} core seconds", flush=True
        )
    print(f"{failed} schedules failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
