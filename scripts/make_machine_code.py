"""Compile the kernels of `needed.json` for all processors of one level, to be shipped in a wheel: see `make wheel`.

python scripts/make_machine_code.py FOLDER
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from lookalike.kernels import _loader, warming


def compile_module(needed: list[warming.Needed], target: Path) -> int:
    """Write the machine code of kernels of one module below a folder; returns how many were written."""
    from lookalike.kernels._compiler import compile_for
    from lookalike.kernels._folders import IN_WHEEL
    from lookalike.kernels.examples import arguments_of

    written = 0
    for one in needed:
        _, image = compile_for(one.kernel.dispatcher, arguments_of(one.kinds))
        file = one.kernel.file_in_wheel(one.kinds)
        if image is not None and file is not None:
            place = target / file.relative_to(IN_WHEEL)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(image.to_bytes())
            written += 1
    return written


def main(target: Path) -> None:
    if not _loader.fingerprint_of_level():
        sys.exit(f"this machine cannot run code for {_loader.CPU_LEVEL}; expected Linux on such a processor")
    shutil.rmtree(target, ignore_errors=True)
    modules: dict[str, list[warming.Needed]] = defaultdict(list)
    for needed in warming.listed():
        modules[needed.module].append(needed)
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"NUMBA_CPU_NAME": _loader.CPU_LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
        with ProcessPoolExecutor(warming.cores(), mp_context=get_context("spawn")) as pool:
            largest_first = sorted(modules.values(), key=lambda kernels: -sum(needed.size for needed in kernels))
            written = sum(pool.map(compile_module, largest_first, [target] * len(modules)))
    print(f"{written} kernels for {_loader.CPU_LEVEL} in {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
