"""Damage the files of indexes of every kind at random and ask them: python benchmarks/index_damage.py --rounds 50

Each question is asked in its own forked process, which may take 30 seconds. Every answer has to be right or one
clear line; a wrong answer, a traceback, a crash or a hang is listed and makes the exit code 1. `--seconds` bounds the
whole run: each kind gets an equal share of the time, and what was left out is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
HANG_SECONDS = 30


def ask(question: Callable[[Path, str], Any], place: Path, kind: str) -> tuple[str, str]:
    """(what came, in words; the answer or the last line of an error)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(question, place, kind, writing)
    os.close(writing)
    text, until = b"", time.monotonic() + HANG_SECONDS
    while select.select([reading], [], [], max(0, until - time.monotonic()))[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        text += piece
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGKILL:
        return "hang", ""
    return ("answer" if code == 0 else "traceback" if code > 0 else "crash"), text.decode()


def _answer(question: Callable[[Path, str], Any], place: Path, kind: str, writing: int) -> None:
    """Write the answer to a pipe and end this process: code 0, or 1 with the error."""
    code = 0
    try:
        found = question(place, kind)
        text = repr(
            found if isinstance(found, str) else (found[:6], [(row["merged"], row["into"]) for row in found[6]])
        )
    except BaseException as error:
        text, code = f"{type(error).__name__}: {error}", 1
    with contextlib.suppress(OSError), os.fdopen(writing, "wb") as pipe:
        pipe.write(text.encode(errors="replace"))
    os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description="Damage indexes and see what they answer.")
    parser.add_argument("--rounds", type=int, default=50, help="damages for each kind")
    parser.add_argument("--seconds", type=float, default=600, help="for all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    from index_damage import answers, changed, damage, make
    from index_kinds import SAMPLES

    questions: dict[str, Callable[[Path, str], Any]] = {"ask": answers, "change": changed}
    draw, outcomes, failures = random.Random(given.seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for kind in SAMPLES:
            begin, good, done = time.monotonic(), Path(scratch, kind), 0
            make(good, kind)
            right = {}
            for how, question in questions.items():
                question(shutil.copytree(good, Path(scratch, f"{kind}-{how}")), kind)  # compiles what is needed
                right[how] = ask(question, shutil.copytree(good, Path(scratch, f"{kind}-{how}-right")), kind)[1]
            while done < given.rounds and time.monotonic() - begin < given.seconds / len(SAMPLES):
                bad = shutil.copytree(good, Path(scratch, "bad"))
                what, how = damage(bad, draw), draw.choice(["ask", "ask", "change"])
                outcome, text = ask(questions[how], bad, kind)
                if outcome == "answer":
                    outcome = "right" if text == right[how] else "noticed" if text[:1] in "'\"" else "wrong"
                outcomes[outcome] += 1
                done += 1
                if outcome not in ("right", "noticed"):
                    failures.append(f"{kind}, {how}, {what}: {outcome} {text[:300]}")
                shutil.rmtree(bad)
            sys.stdout.write(f"{kind}: {done} of {given.rounds} damages in {time.monotonic() - begin:.0f} s\n")
            sys.stdout.flush()
    sys.stdout.write(f"{dict(outcomes)}\n" + "".join(f"{line}\n" for line in failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
