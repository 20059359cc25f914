"""Every kind of item meets every odd table: the result is an answer, or an error of one line, and nothing half-written."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
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
    "bits": (la.bits, {"max_bits": 1, "audit": 0}, "code"),
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
    wanted = {"text": "text", "column": "vector", "code": "code", "fields": ["text", "n"], "item": "text"}[column]
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
        wanted = {"text": "text", "column": "vector", "code": "code", "fields": ["text", "n"], "item": "text"}[column]
        named = {column: wanted} | ({"set": "id"} if kind == "baskets" else {"id": "id"})
        answered(module.dedup, table, **options, **named)
        table = pa.table({**base(), "odd": values})
        answered(module.dedup, table, keep="max:odd", **options, **named)
        answered(module.dedup, table.slice(0, 0), keep="priority:odd=a", **options, **named)
