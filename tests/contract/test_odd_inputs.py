"""Every kind of item meets every odd table: the result is an answer, or an error of one line, and nothing half-written."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import LookalikeError
from lookalike.io.write import write_table

_spec = importlib.util.spec_from_file_location(
    "test_canonical", Path(__file__).parents[1] / "unit/io/test_canonical.py"
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
COLUMNS: dict[str, pa.Array] = _module.COLUMNS

Run = Callable[..., Any]
# kind: (the commands with the options they need, the option that names the compared column)
KINDS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "documents": (la, {"audit": 0}, "text"),
    "strings": (la.strings, {"max_edits": 1}, "text"),
    "records": (la.records, {"audit": 0}, "fields"),
    "vectors": (la.vectors, {"max_distance": 1.0, "audit": 0}, "column"),
    "faces": (la.faces, {"audit": 0}, "column"),
    "bits": (la.bits, {"max_bits": 1, "audit": 0}, "column"),
    "baskets": (la.baskets, {"audit": 0}, "item"),
}
CODES = ["ff", "ff", "0f", "00", "f0"]
TEXTS = ["alpha beta gamma", "alpha beta gamma", "one two three", "four", "five six"]
VECTORS = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [3.0, 4.0]]


def base() -> dict[str, Any]:
    return {"id": list("abcde"), "text": TEXTS, "vector": VECTORS, "code": CODES, "n": [1, 1, 2, 3, 4]}


def shapes() -> Iterator[tuple[str, pa.Table]]:
    whole = pa.table(base())
    names = ["id", "text", "text", "", "", "n", "vector", "vector"]
    places = [0, 1, 3, 3, 1, 4, 2, 2]
    yield "ordinary", whole
    yield "no rows", whole.slice(0, 0)
    yield "no columns", pa.table({})
    yield "one row", whole.slice(0, 1)
    yield "all equal", pa.concat_tables([whole.slice(0, 1)] * 5).set_column(0, "id", whole["id"])
    yield "all null", pa.table({name: pa.nulls(5, whole[name].type) for name in whole.column_names})
    yield "some null", whole.slice(1).take(pa.array([0, None, 1, None, 2])).set_column(0, "id", whole["id"])
    yield "odd names", pa.Table.from_arrays([whole.column(place) for place in places], names)
    yield "only names", pa.Table.from_arrays([whole.column(1), whole.column(1)], ["", ""])


FORMATS = ("memory", ".parquet", ".arrow", ".csv", ".jsonl")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answered(run: Run, *sources: Any, **options: Any) -> bool:
    """True for an answer, False for an error of one line; anything else is raised."""
    try:
        result = run(*sources, **options)
        result.to_arrow()
        if result.asked == "dedup":
            assert result.kept.num_rows == result.kept_count or result.job.noun == "baskets"  # rows are items there
            result.save("folder", force=True)
        return True
    except LookalikeError as error:
        caught = error
    assert "\n" not in str(caught).strip()
    assert len(str(caught)) > 20
    assert type(caught) is not LookalikeError
    return False


@pytest.mark.parametrize("shape", [name for name, _ in shapes()])
@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_table_gives_an_answer_or_one_line(kind: str, shape: str) -> None:
    module, options, column = KINDS[kind]
    table = dict(shapes())[shape]
    wanted = {
        "text": "text",
        "column": "code" if kind == "bits" else "vector",
        "fields": ["text", "n"],
        "item": "text",
    }[column]
    named = {column: wanted} | ({"set": "id"} if kind == "baskets" else {})
    answers = []
    for form in FORMATS:
        source: Any = table
        if form != "memory":
            try:
                write_table(table, f"in{form}", force=True)
            except LookalikeError:
                continue
            source = Path(f"in{form}")
        for command in ("pairs", "groups", "dedup") if form in ("memory", ".csv") else ("dedup",):
            answers.append(answered(getattr(module, command), source, **options, **named))
        answers.append(answered(module.dedup, source, **options))
        answers.append(answered(module.pairs, source, against=source, **options, **named))
    if shape == "ordinary":  # CSV has no lists, and all of its values are text
        assert answers.count(False) <= 5


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_gives_an_answer_or_one_line(name: str) -> None:
    values = COLUMNS[name]
    for kind, (module, options, column) in KINDS.items():
        table = pa.table({"id": list("abcde"), "odd": values})
        named = {column: ["odd"] if column == "fields" else "odd"} | ({"set": "id"} if kind == "baskets" else {})
        answered(module.dedup, table, **options, **named)
        table = pa.table({**base(), "id": values})
        wanted = {
            "text": "text",
            "column": "code" if kind == "bits" else "vector",
            "fields": ["text", "n"],
            "item": "text",
        }[column]
        named = {column: wanted} | ({"set": "id"} if kind == "baskets" else {"id": "id"})
        answered(module.dedup, table, **options, **named)
        table = pa.table({**base(), "odd": values})
        answered(module.dedup, table, keep="max:odd", **options, **named)
        answered(module.dedup, table.slice(0, 0), keep="priority:odd=a", **options, **named)


def test_a_column_of_any_type_for_single_functions() -> None:
    """An odd column as the label, or as the text: an answer or an error of one line."""
    for values in COLUMNS.values():
        table = pa.table({**base(), "odd": values})
        for run, options in (
            (la.classify, {"label": "odd", "text": "text"}),
            (la.classify, {"label": "code", "text": "odd", "against": table}),
            (la.nearest, {"text": "odd"}),
            (la.strings.nearest, {"text": "odd"}),
            (la.scrub, {"text": "odd"}),
            (la.passages, {"text": "odd"}),
            (la.stories, {"text": "odd"}),
        ):
            with suppress(LookalikeError):
                run(table, **options).to_arrow()
        with suppress(LookalikeError):
            la.decontaminate(table, {"odd": table.select(["odd"])}, text="text").matches.to_pylist()
        with suppress(LookalikeError):
            la.decontaminate(table, {"odd": table}, question="odd", text="text").matches.to_pylist()


@pytest.mark.parametrize("rule", ["most_frequent", "longest", "max", "newest:odd", "all", "fullest"])
def test_a_column_of_any_type_is_merged(rule: str) -> None:
    """Merged rows have values of the input, also in columns that Polars or DuckDB wrote."""
    for name, values in COLUMNS.items():
        table = pa.table({"id": list("abcde"), "text": TEXTS, "odd": values})
        try:
            merged = la.records.merge(table, fields=["text"], threshold=0.9, survive={"odd": rule}).to_arrow()
        except LookalikeError as error:
            raise AssertionError(name) from error
        assert merged.num_rows == 4
        given = [value for value in values.to_pylist() if value is not None]
        assert all(value in given for value in merged["odd"].to_pylist()[1:] if value is not None) or rule == "all"


# kind: (command, the options that it needs, its input column), with what takes the rows of a table
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "documents": ([], ["--text", "text"]),
    "strings": (["strings"], ["-d", "1", "--text", "text"]),
    "records": (["records"], ["--field", "text", "--field", "n"]),
    "vectors": (["vectors"], ["--max-distance", "1", "--column", "vector"]),
    "faces": (["faces"], ["--column", "vector"]),
    "bits": (["bits"], ["--max-bits", "1", "--column", "code"]),
    "baskets": (["baskets"], ["--item", "text", "--set", "id"]),
}
OTHER_COMMANDS = [
    words.split()
    for words in (
        "scrub INPUT --text text",
        "scrub INPUT --text text --level line",
        "scrub INPUT --text text --unit byte --gap 2",
        "decontaminate INPUT --text text --against OTHER",
        "decontaminate INPUT --text text --against OTHER --remove spans",
        "nearest INPUT --text text",
        "nearest INPUT --text text --in OTHER",
        "strings nearest INPUT --text text",
        "vectors nearest INPUT --column vector",
        "bits nearest INPUT --column code",
        "baskets nearest INPUT --item text --set id",
        "classify INPUT --text text --label code",
        "classify INPUT --text text --label code --against OTHER",
        "records merge INPUT",
    )
]
TASKS = {"pairs": "out.csv", "groups": "out.parquet", "dedup": "out.jsonl", "against": "out.csv"}


def called(arguments: list[str]) -> bool:
    """True for a command that succeeds, False for an error of one line; anything else fails."""
    before = {path.name for path in Path().iterdir()}
    done = CliRunner().invoke(app, arguments)
    if isinstance(done.exception, LookalikeError):
        assert "\n" not in str(done.exception).strip(), arguments
        assert {path.name for path in Path().iterdir()} == before, "something half-written"
        return False
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return True


@pytest.mark.parametrize("shape", [name for name, _ in shapes()])
def test_the_command_line_answers_or_says_why_not(shape: str) -> None:
    table = dict(shapes())[shape]
    sources = []
    for form in FORMATS[1:]:
        with suppress(LookalikeError):
            write_table(table, f"in{form}")
            sources.append(f"in{form}")
    answers = []
    numbers = itertools.count(sum(shape.encode()))  # another format for each command
    for command, options in COMMANDS.values():
        for task, output in TASKS.items():
            source = sources[next(numbers) % len(sources)]
            more = ["--against", source] if task == "against" else []
            verb = "pairs" if task == "against" else task
            answers.append(called([*command, verb, source, *options, *more, "-o", output, "--force", "-q"]))
    for command in ("passages", "stories"):
        for output in ("out.csv", "out.html") if command == "passages" else ("out.csv",):
            source = sources[next(numbers) % len(sources)]
            answers.append(called([command, source, "--text", "text", "-o", output, "--force", "-q"]))
    for words in OTHER_COMMANDS:
        source, other = sources[next(numbers) % len(sources)], sources[next(numbers) % len(sources)]
        output = ("out.csv", "out.parquet", "out.jsonl", "folder/")[next(numbers) % 4]
        named = {"INPUT": source, "OTHER": other}
        answers.append(called([*(named.get(word, word) for word in words), "-o", output, "--force", "-q"]))
    if shape == "ordinary":
        assert answers.count(False) <= 9  # no lists in CSV, and every row has a label


def test_odd_folders_of_pictures_on_the_command_line() -> None:
    from PIL import Image

    grey, other = Image.new("L", (40, 40), 90), Image.linear_gradient("L")
    folders: dict[str, dict[str, Any]] = {
        "empty": {},
        "one": {"a.png": other},
        "equal": {"a.png": other, "b.png": other, "c.jpg": other},
        "plain": {"a.png": grey, "b.png": grey},
        "odd names": {'a b,\n"c".png': other, "é.png": other, "a.PNG": other, ".png": other},
        "odd files": {"a.png": b"", "b.png": b"no picture", "c.png": other, "d.txt": b"text"},
    }
    for name, files in folders.items():
        Path(name).mkdir()
        for file, content in files.items():
            if isinstance(content, bytes):
                Path(name, file).write_bytes(content)
            else:
                content.save(Path(name, file), "jpeg" if file.endswith("jpg") else "png")
        for task, output in TASKS.items():
            more = (
                ["--against", "one"] if task == "against" and "one" in [path.name for path in Path().iterdir()] else []
            )
            verb = "pairs" if task == "against" else task
            answer = called(["images", verb, name, *more, "-o", output, "--force", "-q"])
            assert answer or name in ("empty", "odd files"), (name, task)
