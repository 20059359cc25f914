"""Damage the files of indexes of every kind at random and ask them: python benchmarks/index_damage.py --rounds 50

Each question is asked in a process of its own. Every answer has to be right or one clear line; a wrong answer, a
traceback, a crash or a hang is listed and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from index_damage import answers, changed
found = (changed if sys.argv[4] == "change" else answers)(Path(sys.argv[2]), sys.argv[3])
print(repr(found if isinstance(found, str) else (found[:6], [(row["merged"], row["into"]) for row in found[6]])))
"""


def ask(place: Path, kind: str, how: str) -> tuple[str, str]:
    """(what came, in words; what was printed)."""
    command = [sys.executable, "-c", CHILD, str(TESTS), str(place), kind, how]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "hang", ""
    if done.returncode:
        last = (done.stderr.splitlines() or [""])[-1]
        return ("traceback" if done.returncode > 0 else "crash"), last
    return "answer", done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Damage indexes and see what they answer.")
    parser.add_argument("--rounds", type=int, default=50, help="damages for each kind")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    from index_damage import damage, make
    from index_kinds import SAMPLES

    draw, outcomes, failures = random.Random(given.seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for kind in SAMPLES:
            good = Path(scratch, kind)
            make(good, kind)
            right = {}
            for how in ("ask", "change"):
                shutil.copytree(good, Path(scratch, "copy"))
                right[how] = ask(Path(scratch, "copy"), kind, how)[1]
                shutil.rmtree(Path(scratch, "copy"))
            for _ in range(given.rounds):
                bad = Path(scratch, "bad")
                shutil.copytree(good, bad)
                done, how = damage(bad, draw), draw.choice(["ask", "ask", "change"])
                outcome, text = ask(bad, kind, how)
                if outcome == "answer":
                    outcome = "right" if text == right[how] else "noticed" if text[:1] in "'\"" else "wrong"
                outcomes[outcome] += 1
                if outcome not in ("right", "noticed"):
                    failures.append(f"{kind}, {how}, {done}: {outcome} {text[:300]}")
                shutil.rmtree(bad)
    sys.stdout.write(f"{dict(outcomes)}\n" + "".join(f"{line}\n" for line in failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
