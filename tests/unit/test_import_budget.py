"""The import and the help load nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"numba", "numpy", "pyarrow", "pandas", "altair", "pyspark", "fastapi"}


@pytest.mark.parametrize(
    "code",
    [
        "import lookalike",
        "import lookalike.cli.main",
        "import lookalike; lookalike.plan(0.8)",
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    probe = f"import sys; {code}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY & set(loaded) == set()


def test_public_names_resolve() -> None:
    import lookalike as la

    assert all(getattr(la, name) is not None for name in la.__all__)
    assert callable(la.plan)
