"""The file index.json: the settings that were fixed when an index was created, with a checksum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lookalike.errors import DamagedIndex, InputError
from lookalike.index.checksums import row_sum
from lookalike.index.segment_file import RESTORE
from lookalike.io import disk
from lookalike.io.atomic import replacing

SETTINGS_FILE = "index.json"
FORMAT = 2
READABLE = (1, 2)  # format 1 has no checksums; the first write upgrades it to 2
CHECKSUM = "checksum"


def write(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings of an index, replacing earlier ones."""
    whole = settings | {CHECKSUM: _sum(settings)}
    with replacing(folder / SETTINGS_FILE, force=True) as draft, disk.open_file(draft.path, "wb") as file:
        file.write(json.dumps(whole, indent=1).encode() + b"\n")


def read(folder: Path) -> dict[str, Any]:
    """Read and verify the settings of the index in a folder."""
    path = folder / SETTINGS_FILE
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "no such index" if not folder.exists() else "no index"
        raise InputError(
            f"{what}: {folder} has no {SETTINGS_FILE}. Make one with Index.create or `lookalike index create`."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise DamagedIndex(f"{path} is damaged: it is not JSON ({error}). {RESTORE}") from error
    if not isinstance(settings, dict):
        raise DamagedIndex(f"{path} is damaged: expected a JSON object, found {type(settings).__name__}. {RESTORE}")
    check_format(str(folder), settings)
    expected = settings.pop(CHECKSUM, None)
    if expected != _sum(settings) and not (expected is None and settings["format"] == 1):
        raise DamagedIndex(f"{path} is damaged: it does not match its checksum. {RESTORE}")
    return settings


def check_format(place: str, settings: dict[str, Any]) -> None:
    """Raise InputError if this version of lookalike cannot read the format of an index."""
    if settings.get("format") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise InputError(
            f"{place} is an index of format {settings.get('format')}; this version of lookalike reads formats {known}. "
            "Use the version that made it."
        )


def _sum(settings: dict[str, Any]) -> int:
    return row_sum([json.dumps(settings, sort_keys=True)])
