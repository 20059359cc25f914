"""Compile several kernels at once, in one process per core: those of a command on its first run, or all of them.

`needed.json` lists the kernels that each command calls, with the types of their arguments;
`scripts/make_needed_kernels.py` records it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

KERNEL_LIST = Path(__file__).with_name("needed.json")
FEW_KERNELS = 3  # so few kernels are compiled where they are called


class Needed(NamedTuple):
    """A kernel, the types of its arguments as `kind_of` describes them, and the size of its machine code in bytes."""

    module: str
    name: str
    kinds: tuple[Any, ...]
    size: int

    @property
    def kernel(self) -> Any:
        return getattr(import_module(f"lookalike.{self.module}"), self.name)

    def missing(self) -> bool:
        """Return whether the kernel has to be compiled and the result can be kept."""
        from lookalike.kernels._folders import cache_home

        file, in_wheel = self.kernel.file(self.kinds), self.kernel.file_in_wheel(self.kinds)
        if file is None or cache_home() not in file.parents:
            return False
        return not (file.exists() or (in_wheel is not None and in_wheel.exists()))


@cache
def _list() -> tuple[list[Needed], dict[str, list[int]]]:
    """Return all listed kernels, and for each command the positions of those that it calls."""
    content = json.loads(KERNEL_LIST.read_text())
    return [Needed(m, n, _tuples(kinds), size) for m, n, kinds, size in content["kernels"]], content["commands"]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def listed() -> list[Needed]:
    """Return the kernels of all commands."""
    return _list()[0]


def missing(command: str | None = None) -> list[Needed]:
    """Return the kernels of a command, or of all commands, that have to be compiled."""
    kernels, commands = _list()
    chosen = range(len(kernels)) if command is None else commands.get(command, [])
    return [kernels[i] for i in chosen if kernels[i].missing()]


def cores() -> int:
    """Return the number of processes that compile at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_together(kernels: Iterable[Needed]) -> None:
    """Compile kernels in one process per core; what a process fails to compile is compiled when it is called."""
    modules: dict[str, list[Needed]] = {}
    for needed in kernels:
        modules.setdefault(needed.module, []).append(needed)
    shares: list[list[Needed]] = [[] for _ in range(cores())]
    for module in sorted(modules.values(), key=lambda module: -sum(needed.size for needed in module)):
        min(shares, key=lambda share: sum(needed.size for needed in share)).extend(module)
    running = []
    for share in filter(None, shares):
        command = [sys.executable, "-m", "lookalike.kernels.warming"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **quiet)  # type: ignore[call-overload]
        process.stdin.write(json.dumps(share))
        process.stdin.close()
        running.append(process)
    for process in running:
        process.wait()


def _compile(share: list[list[Any]]) -> None:
    """Compile the kernels of one process."""
    from lookalike.kernels.examples import arguments_of

    for fields in share:
        needed = Needed(*_tuples(fields))
        needed.kernel.compiled(needed.kinds, arguments_of(needed.kinds))


class _Request:
    """The command whose kernels are to be compiled when one of them is missing."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.lock = threading.Lock()
        self.done = False


_request = _Request()


def compile_on_first_miss(words: list[str]) -> None:
    """Let the first kernel that is missing compile all that a command needs.

    words: of the command line, such as ["records", "pairs", "people.csv"].
    """
    _request.words = words


def compile_requested() -> bool:
    """Compile the kernels of the requested command once; returns whether a missing kernel may exist now."""
    if not _request.words:
        return False
    with _request.lock:
        if not _request.done:
            _request.done = True
            names = (" ".join(_request.words[:length]) for length in (2, 1))
            kernels = missing(next((name for name in names if name in _list()[1]), ""))
            if len(kernels) > FEW_KERNELS:
                try:
                    compile_together(kernels)
                except OSError:
                    pass  # no new process: each kernel is compiled where it is called
    return True


if __name__ == "__main__":
    _compile(json.load(sys.stdin))
