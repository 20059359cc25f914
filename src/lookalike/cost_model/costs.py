"""Unit costs of the steps of a run on one core: the shipped values, or values measured on this machine."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, OutputError
from lookalike.io.atomic import replacing

VERSION = 2  # of the file format; files of other versions are refused


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Unit costs in nanoseconds of CPU time on one core; `start` is in seconds.

    The defaults were measured on two cores of an AMD EPYC virtual machine, otherwise idle.
    """

    start: float = 0.3  # start of a process, with compiled kernels, until the first item
    byte_kept: float = 1.8  # to allocate a byte of zeroed memory
    byte_read: float = 0.7  # to read a byte of text from a zstd Parquet file
    byte_shingled: float = 2.1  # to convert a byte of text to a set of hashed word shingles
    item_shingled: float = 40.0  # fixed cost per text, in addition to its bytes
    element_printed: float = 0.16  # per element, to compute the fingerprint that finds equal sets
    item_collapsed: float = 120.0
    element_sketched: float = 0.27
    slot: float = 7.9  # per slot of a signature
    key_sorted: float = 0.26  # per key and per doubling of the number of keys in a band
    bucket_pair: float = 10.0  # per pair in a bucket, to compare the signatures
    element_verified: float = 3.5  # per element of the two sets of a pair
    element_scanned: float = 1.2  # per element of each further set that is compared with one of the two
    element_audited: float = 4.1
    element_indexed: float = 4.0  # this and the next four: the exact join
    posting: float = 22.0
    posting_visited: float = 1.6  # in the inverted list of an element
    element_listed: float = 9.5
    triple: float = 0.56
    byte_crossing: float = 2.6  # this and the next two: Spark. Per byte of Arrow between Java and Python
    row_shuffled: float = 750.0  # per row, to sort, write, fetch and read it
    byte_shuffled: float = 7.4

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


SHIPPED = Costs()


@dataclass(frozen=True)
class CostSource:
    """Unit costs and their origin: the file of a calibration, or None for the shipped values."""

    costs: Costs
    file: Path | None

    def words(self) -> str:
        """Describe the origin of the costs in words.

        >>> CostSource(SHIPPED, None).words()
        'shipped with the package'
        """
        if self.file is None:
            return "shipped with the package"
        return f"measured on this machine ({self.file})"


def costs_file() -> Path:
    """Return the path of the calibration file."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "lookalike" / "costs.json"


def known_costs() -> CostSource:
    """Return the measured costs if a calibration file exists, otherwise the shipped costs."""
    file = costs_file()
    try:
        held = json.loads(file.read_text())
    except FileNotFoundError:
        return CostSource(SHIPPED, None)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}). Remove it, or measure the costs again.") from None
    return CostSource(_checked(held, file), file)


def keep_costs(costs: Costs) -> Path:
    """Write the calibration file that `known_costs` reads, atomically, and return its path."""
    file = costs_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}. Set XDG_CACHE_HOME to a folder of yours.") from None
    with replacing(file, force=True) as draft:
        draft.path.write_text(json.dumps({"version": VERSION, "costs": costs.as_dict()}, indent=2) + "\n")
    return file


def _checked(held: Any, file: Path) -> Costs:
    names = {field.name for field in fields(Costs)}
    costs = held.get("costs") if isinstance(held, dict) and held.get("version") == VERSION else None
    if not isinstance(costs, dict) or costs.keys() != names:
        raise InputError(f"{file} is of another version of lookalike. Remove it, or measure the costs again.")
    for name, value in costs.items():
        if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise InputError(
                f"{name} in {file} is {value!r}; expected nanoseconds. Remove it, or measure the costs again."
            )
    return Costs(**{name: float(value) for name, value in costs.items()})
