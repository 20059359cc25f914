"""The import and the help load nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from lookalike.cli.main import COMMANDS, build, listing

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


def modules_after(code: str) -> list[str]:
    """Return the modules that a new process has loaded after this code."""
    probe = f"{code}; import sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return done.stderr.split()


def test_the_import_loads_one_module() -> None:
    assert [name for name in modules_after("import lookalike") if name.startswith("lookalike")] == ["lookalike"]


@pytest.mark.parametrize("command", ["pairs", "records", "index", "plan", "vectors", "serve"])
def test_a_help_loads_little_more_than_its_command(command: str) -> None:
    """A command is found by its name, without the modules of the others, and typer reads its options without pydantic."""
    code = f"import sys; sys.argv[1:] = [{command!r}, '--help']; import lookalike.cli.main as m\ntry: m.main()\nexcept SystemExit: pass\n"
    loaded = modules_after(f"exec({code!r})")
    assert not HEAVY & set(loaded)
    assert "pydantic" not in loaded
    most = 34 if command == "index" else 30  # an index has the options of many kinds
    assert sum(name.startswith("lookalike") for name in loaded) <= most


def described(command: Any) -> Any:
    """Return all that a user sees of a command or of a group of commands."""
    if hasattr(command, "commands"):
        return command.help, {name: described(below) for name, below in command.commands.items()}
    return command.help, [(p.name, p.opts, p.secondary_opts, str(p.default), p.required) for p in command.params]


def test_a_command_alone_is_the_same_as_among_the_others() -> None:
    whole = described(typer.main.get_command(build()))
    assert list(whole[1]) == list(COMMANDS)
    for command in COMMANDS:
        assert described(typer.main.get_command(build(command))) == (whole[0], {command: whole[1][command]})


def test_the_list_of_commands_is_shown_without_loading_them(capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails, run scripts/make_cli_reference.py."""
    shown = []
    for app in (build(), listing()):
        with pytest.raises(SystemExit):
            app(["--help"], prog_name="lookalike")
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    code = "import sys; sys.argv[1:] = ['--help']; import lookalike.cli.main as m\ntry: m.main()\nexcept SystemExit: pass\n"
    loaded = modules_after(f"exec({code!r})")
    assert not HEAVY & set(loaded)
    assert sum(name.startswith("lookalike") for name in loaded) <= 12


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
