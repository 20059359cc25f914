"""The import and the help load nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


PEOPLE = "name,town\nAnn Lee,York\nAnne Lee,York\nBob Stone,Hull\nCy Old,Bath\n"


@pytest.mark.parametrize(
    "words",
    [
        "pairs people.csv --text name -o out.parquet",
        "dedup people.csv --text name -o out.jsonl",
        "records pairs people.csv -o out.csv",
        "baskets pairs people.csv --set town --item name -t 0.2 -o out.parquet",
        "strings pairs people.csv --text name -o out.csv",
    ],
)
def test_no_command_loads_pandas(words: str, tmp_path: Path) -> None:
    """Arrow asks pandas about every list and every scalar that it is given, and loads it for that: half a second."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    probe = (
        f"import sys; from lookalike.cli.main import app; app({words.split()!r}, standalone_mode=False); "
        "assert 'pandas' not in sys.modules, sorted(n for n in sys.modules if n.startswith('pandas'))[:3]"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
