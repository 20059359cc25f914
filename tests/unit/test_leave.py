"""A command ends without dismantling the interpreter, but with everything that belongs to an end."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAY = "import atexit, sys; atexit.register(print, 'registered'); print('said', end=' '); "


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", [0, 1, 130])
def test_output_is_complete_and_the_exit_code_kept(code: int) -> None:
    done = run(f"{SAY} from lookalike.__main__ import leave; leave({code})")
    assert (done.returncode, done.stdout) == (code, "said registered\n")


def test_the_interpreter_is_not_dismantled() -> None:
    done = run(
        "import sys\nclass Last:\n    def __del__(self): sys.stdout.write('dismantled')\n"
        "last = Last()\nfrom lookalike.__main__ import leave\nleave(0)"
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_thread_that_is_at_work_finishes() -> None:
    done = run(
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print('finished'))).start()\n"
        "from lookalike.__main__ import leave\nleave(3)"
    )
    assert (done.returncode, done.stdout) == (3, "finished\n")


@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("nonsense", 2), ("pairs missing.csv", 1)])
def test_commands_end_with_their_code(words: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lookalike", *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert done.stdout or done.stderr
