"""The structure of the code can only improve: bounds on the figures that scripts/house.py prints."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts/house.py"))
PARSED = SCRIPT["modules"]()

# Lower a bound when its figure falls; never raise it.
BOUNDS: dict[str, tuple[Any, int]] = {
    "class names in two modules": (lambda: SCRIPT["repeated_classes"](PARSED), 0),
    "constant names with several values": (lambda: SCRIPT["ambiguous_constants"](PARSED), 20),
    "functions with more than 8 parameters": (lambda: SCRIPT["long_signatures"](PARSED), 0),
    "messages outside the command line that name flags": (lambda: SCRIPT["flags_in_messages"](PARSED), 0),
    "messages in two modules": (lambda: SCRIPT["repeated_messages"](PARSED), 0),
    "lines with words of the list": (SCRIPT["archaic_words"], 0),
    "lines of tests and benchmarks with words of the list": (SCRIPT["archaic_words_in_tests"], 0),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_structure_does_not_get_worse(name: str) -> None:
    find, bound = BOUNDS[name]
    found = find()
    assert len(found) <= bound, found


@pytest.mark.parametrize(
    ("module", "bound"),
    [("lookalike", 8), ("lookalike.result", 25), *((f"lookalike.kinds.{kind}.api", 30) for kind in SCRIPT["KINDS"])],
)
def test_an_import_loads_few_modules(module: str, bound: int) -> None:
    assert SCRIPT["loaded_by"](f"import {module}") <= bound
