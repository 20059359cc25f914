"""Result folders and receipts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError, OutputError
from lookalike.io.results import read_folder, write_folder, write_json

TABLES = {"pairs": pa.table({"left": ["a"], "right": ["b"], "similarity": [0.9]}), "groups": pa.table({"id": [1, 2]})}
RECEIPT = {"threshold": 0.8, "counts": {"documents": 3}, "name": "größe"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def unsealed(folder: str) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables and the receipt as they were given, without what saving adds."""
    tables, receipt = read_folder(folder)
    assert receipt.pop("outputs").keys() == {f"{name}.parquet" for name in tables}
    assert len(receipt.pop("seal")) == 64
    return tables, receipt


def test_a_folder_comes_back_as_it_was() -> None:
    write_folder(TABLES, RECEIPT, "out")
    assert sorted(os.listdir("out")) == ["groups.parquet", "pairs.parquet", "receipt.json"]
    assert os.listdir() == ["out"]
    assert unsealed("out") == (TABLES, RECEIPT)


def test_a_folder_under_a_name_with_an_equals_sign_brings_no_new_columns() -> None:
    write_folder(TABLES, RECEIPT, "threshold=0.8")
    tables, _ = read_folder("threshold=0.8")
    assert tables == TABLES


def test_an_earlier_result_is_replaced_only_by_force() -> None:
    write_folder(TABLES, RECEIPT, "out")
    with pytest.raises(OutputError) as caught:
        write_folder({}, {"new": 1}, "out")
    assert str(caught.value) == "out exists. Use `force` to replace it, or another name."
    assert unsealed("out") == (TABLES, RECEIPT)
    write_folder({}, {"new": 1}, "out", force=True)
    assert unsealed("out") == ({}, {"new": 1})
    assert os.listdir() == ["out"]


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_with_other_things_is_never_replaced(force: bool) -> None:
    Path("home").mkdir()
    Path("home/letters").write_text("precious")
    with pytest.raises(OutputError):
        write_folder(TABLES, RECEIPT, "home", force=force)
    assert (os.listdir(), os.listdir("home")) == (["home"], ["letters"])


def test_after_a_failure_there_is_no_folder_and_the_old_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lookalike.io.results.pq.write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(TABLES, RECEIPT, "out")
    assert os.listdir() == []
    write_folder({}, RECEIPT, "out")
    with pytest.raises(KeyboardInterrupt):
        write_folder(TABLES, {}, "out", force=True)
    assert os.listdir() == ["out"]
    assert unsealed("out") == ({}, RECEIPT)


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder({}, RECEIPT, "out")
    rename = os.rename

    def fail_once(old: Any, new: Any) -> None:
        if str(old).endswith(".tmp"):
            raise PermissionError(13, "Permission denied")
        rename(old, new)

    monkeypatch.setattr("lookalike.io.atomic.os.rename", fail_once)
    with pytest.raises(OutputError, match=r"^cannot write out: Permission denied\.$"):
        write_folder(TABLES, {}, "out", force=True)
    assert os.listdir() == ["out"]
    assert unsealed("out") == ({}, RECEIPT)


def test_what_is_not_a_result_folder_is_refused() -> None:
    with pytest.raises(InputError, match=r"^nowhere is not a result folder: it has no receipt\.json\.$"):
        read_folder("nowhere")
    Path("out").mkdir()
    Path("out/receipt.json").write_text("{")
    with pytest.raises(InputError, match=r"^out/receipt\.json is not valid JSON \("):
        read_folder("out")
    Path("out/receipt.json").write_text("{}")
    Path("out/pairs.parquet").write_text("no")
    with pytest.raises(InputError, match=r"^out/pairs\.parquet cannot be read as Parquet: "):
        read_folder("out")


def test_a_receipt_is_readable_and_replaced_only_by_force() -> None:
    write_json(RECEIPT, "receipt.json")
    text = Path("receipt.json").read_text(encoding="utf-8")
    assert json.loads(text) == RECEIPT
    assert '"name": "größe"' in text
    with pytest.raises(OutputError, match=r"^receipt\.json exists\. Use `force`"):
        write_json({}, "receipt.json")
    write_json({}, "receipt.json", force=True)
    assert json.loads(Path("receipt.json").read_text()) == {}
    with pytest.raises(OutputError, match=r"^no such folder: no\."):
        write_json({}, "no/receipt.json")
    assert os.listdir() == ["receipt.json"]


def test_tables_are_compressed() -> None:
    write_folder(TABLES, RECEIPT, "out")
    assert pq.ParquetFile("out/pairs.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
