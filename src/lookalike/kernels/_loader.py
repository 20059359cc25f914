"""Load machine code of kernels into the process without the compiler, whose import alone takes longer than a small run.

Only for Linux on x86-64 with CPython; `fingerprint` is empty elsewhere, and numba then loads its own cache.
A kernel's image needs numba's runtime (its allocator, and the conversion of arrays), which consists of three
extension modules that import nothing of numba.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import importlib.machinery
import importlib.util
import mmap
import os
import platform
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lookalike.kernels._image import Image, UnsupportedCode

HARMLESS_SETTINGS = {"NUMBA_NUM_THREADS"}
DIGEST_SIZE = 16
CPU_FIELDS = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")
CPU_LEVEL = "x86-64-v3"  # the processors that the machine code in a wheel is for, by the compiler's name
CPU_LEVEL_FLAGS = frozenset(
    b"abm avx avx2 bmi1 bmi2 cx16 f16c fma lahf_lm movbe pni popcnt sse4_1 sse4_2 ssse3 xsave".split()
)


@cache
def fingerprint() -> bytes:
    """Return a digest of all that machine code depends on except the sources; empty where it cannot be loaded."""
    if sys.platform != "linux" or sys.implementation.name != "cpython" or platform.machine() != "x86_64":
        return b""
    if {name for name in os.environ if name.startswith("NUMBA_")} - HARMLESS_SETTINGS:
        return b""  # settings of the compiler: let it decide
    try:
        return _digest(_cpu(), sys.version)
    except (OSError, UnsupportedCode):
        return b""


@cache
def fingerprint_of_level() -> bytes:
    """Return a digest of all that the machine code in a wheel depends on except the sources; empty if it cannot run."""
    try:
        flags = _cpu().rpartition(b"flags")[2].split()
        return (
            _digest(CPU_LEVEL.encode(), "{}.{}".format(*sys.version_info))
            if flags and CPU_LEVEL_FLAGS <= {*flags}
            else b""
        )
    except (OSError, UnsupportedCode):
        return b""


def _digest(processor: bytes, python: str) -> bytes:
    """Return a digest of a processor and of the versions of Python and of the packages that machine code depends on."""
    versions = [_package(name).joinpath("_version.py").read_bytes() for name in ("numba", "llvmlite")]
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for part in (*versions, processor, python.encode(), sys.abiflags.encode(), np.__version__.encode()):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


@cache
def _package(name: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise UnsupportedCode(f"{name} is not installed as files")
    return Path(spec.origin).parent


def _cpu() -> bytes:
    """Return the lines of /proc/cpuinfo that describe the first processor."""
    with open("/proc/cpuinfo", "rb") as lines:
        first = []
        for line in lines:
            if not line.strip():
                break
            if line.split(b":")[0].strip() in CPU_FIELDS:
                first.append(line)
    return b"".join(first)


@cache
def _extension(name: str) -> ModuleType:
    """Import one of numba's extension modules alone; a later `import numba` imports it again."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    folder = _package("numba").joinpath(*name.split(".")[1:-1])
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        file = folder / f"{name.rpartition('.')[2]}{suffix}"
        if file.exists():
            loader = importlib.machinery.ExtensionFileLoader(name, str(file))
            spec = importlib.util.spec_from_file_location(name, file, loader=loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            sys.modules.pop(name, None)
            return module
    raise UnsupportedCode(f"no extension module {name}")


@cache
def _helpers() -> dict[str, int]:
    """Return the addresses of numba's runtime and of Python objects, by the names that numba gives them."""
    addresses = {"_Py_NoneStruct": id(None)}
    for value in vars(builtins).values():
        if isinstance(value, type) and issubclass(value, BaseException):
            addresses[f"PyExc_{value.__name__}"] = id(value)
    for module in ("numba._helperlib", "numba._dynfunc"):
        helpers = _extension(module).c_helpers
        addresses |= {f"numba_{name}": address for name, address in helpers.items()}
        addresses |= helpers
    for name, address in _extension("numba.core.runtime._nrt_python").c_helpers.items():
        addresses[name if name.startswith("_") else f"NRT_{name}"] = address
    return addresses


@cache
def _address(symbol: str) -> int:
    """Return the address of an external symbol, or raise UnsupportedCode."""
    address = _helpers().get(symbol)
    if address is not None:
        return address
    try:
        value = ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p).value
    except AttributeError:
        value = None
    if value is None:
        raise UnsupportedCode(f"unknown symbol {symbol}")
    return value


@cache
def _protect() -> Any:
    """Return mprotect(2)."""
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return protect


def load(image: Image, function: Callable[..., Any]) -> Any:
    """Return the compiled function of an image, ready to be called, or raise UnsupportedCode."""
    targets = [_address(symbol) for symbol in image.symbols]
    dynamic = _extension("numba._dynfunc")
    environment = dynamic.Environment(function.__globals__)
    memory = mmap.mmap(-1, image.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[: len(image.code)] = image.code
    addresses = [base, *targets]
    for place, target, addend in struct.iter_unpack("<qqq", image.relocations):
        struct.pack_into("<Q", memory, place, addresses[target] + addend & 0xFFFFFFFFFFFFFFFF)
    struct.pack_into("<Q", memory, image.environment, id(environment))
    if _protect()(base, image.code_size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise UnsupportedCode("the system does not permit new executable memory")
    module = sys.modules[function.__module__]
    text = f"compiled wrapper for {function.__qualname__!r}"
    return dynamic.make_function(
        module, function.__name__, text, base + image.entry, environment, (memory, environment)
    )
