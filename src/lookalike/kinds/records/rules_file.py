"""Read and write the rules of record linkage as a TOML file that can be edited by hand."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, UsageError, nearest
from lookalike.io.atomic import check_place, replacing
from lookalike.kinds.records.rules import COMPARISONS, KEYS, FieldRule, RecordRules

HEAD = f"""\
# What lookalike compares in these records. Edit it and use it again as the settings of a run.
# compare: {", ".join(COMPARISONS)}.
# keys, any of: {", ".join(KEYS)}. A line without weight, or without threshold: found from the data.
"""
SURVIVE = "survive"
OF_RULES = ("threshold", "whole", "rivals", "prior", "basis", SURVIVE, "fields")
OF_FIELDS = ("column", "compare", "keys", "sources", "weight", "bits", "explained")


def write_settings(rules: RecordRules, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the rules to a TOML file, atomically."""
    path = Path(path)
    check_place(path, force=force)
    text = settings_text(rules).encode()
    with replacing(path, force=force) as draft:
        draft.nbytes = len(text)
        draft.path.write_bytes(text)


def settings_text(rules: RecordRules) -> str:
    """Return the rules as TOML.

    >>> print(settings_text(RecordRules(fields=(FieldRule(column="name", weight=1.5),))).split("\\n\\n")[1].strip())
    [[fields]]
    column = "name"
    compare = "words"
    keys = ["value", "words", "joined"]
    weight = 1.5
    """
    made = rules.as_dict()
    fields = made.pop("fields")
    parts = [HEAD + _lines(made)]
    parts += ["[[fields]]\n" + _lines(field).rstrip("\n") for field in fields]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def read_survivorship(path: str | os.PathLike[str]) -> dict[str, str | list[str]]:
    """Read the table [survive] of the settings: the survivorship rule, or a list of rules, of each column."""
    survive = _parsed(path).get(SURVIVE, {})
    good = isinstance(survive, dict) and all(
        isinstance(rule, str) or (isinstance(rule, list) and rule and all(isinstance(one, str) for one in rule))
        for rule in survive.values()
    )
    if not good:
        raise InputError(f"{os.fspath(path)}: [{SURVIVE}] names a rule or a list of rules for each column.")
    return dict(survive)


def _parsed(path: str | os.PathLike[str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        made = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the settings {name}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not valid TOML: {error}.") from error
    _check_names(made, OF_RULES, name)
    return made


def read_settings(path: str | os.PathLike[str]) -> RecordRules | None:
    """Read the rules from a TOML file that was written by `write_settings` or by hand.

    None if the file only has survivorship rules (`read_survivorship`).
    """
    name = os.fspath(path)
    made = _parsed(path)
    if set(made) == {SURVIVE}:
        return None
    made.pop(SURVIVE, None)
    fields = made.pop("fields", None)
    if not isinstance(fields, list) or not all(isinstance(field, dict) and "column" in field for field in fields):
        raise InputError(f"{name} has no [[fields]] with a column each; save the rules of a run to see the form.")
    try:
        return RecordRules(fields=tuple(_field(field, name) for field in fields), **made)
    except UsageError as error:
        raise InputError(f"{name}: {error}") from error
    except TypeError as error:
        raise InputError(f"{name} holds a value of the wrong type ({error}).") from error


def _field(made: dict[str, Any], name: str) -> FieldRule:
    _check_names(made, OF_FIELDS, name)
    lists: dict[str, Any] = {key: tuple(made[key]) for key in ("keys", "sources", "bits") if key in made}
    if "explained" in made:
        lists["explained"] = {column: tuple(lift) for column, lift in made["explained"].items()}
    return FieldRule(**{**made, **lists})


def _check_names(made: dict[str, Any], known: tuple[str, ...], name: str) -> None:
    for key in made:
        if key not in known:
            raise InputError(f"{name} has an unknown entry {key!r}.{nearest(key, known)} Known: {', '.join(known)}.")


def _lines(made: dict[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in made.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # the shortest digits that read back as the same number
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key, ensure_ascii=False)} = {_value(part)}" for key, part in value.items())
            + "}"
        )
    # Strings and booleans have the same syntax in JSON and TOML, except for U+007F, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
