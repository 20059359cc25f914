"""Records of CSV are those of Arrow's parser, wherever a file is cut."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import delimited
from lookalike.io.delimited import Delimited

CHARACTERS = st.lists(st.sampled_from(['"', ",", "\n", "\r", "\r\n", "a", "é", " "]), max_size=40).map("".join)


def arrow_rows(path: Path) -> list[dict[str, str | None]]:
    """All rows, parsed as one block."""
    table = pv.read_csv(
        path,
        read_options=pv.ReadOptions(use_threads=False, block_size=1 << 20),
        parse_options=pv.ParseOptions(newlines_in_values=True),
        convert_options=pv.ConvertOptions(
            column_types={"a": pa.string(), "b": pa.string()}, null_values=[""], strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip
    return table.to_pylist()


@settings(max_examples=300, deadline=None)
@given(st.one_of(CHARACTERS, st.lists(CHARACTERS, max_size=6).map(lambda rows: "x,".join(rows))), st.integers(1, 9))
def test_records_are_those_of_arrow(tmp_path_factory: pytest.TempPathFactory, text: str, size: int) -> None:
    path = tmp_path_factory.getbasetemp() / "records.csv"
    path.write_bytes(f"a,b\n{text}".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", size)
        reader = Delimited(path, "a.csv", kind="CSV")
        try:
            expected = arrow_rows(path)
        except pa.ArrowInvalid:
            expected = None
        try:
            rows = [row for batch in reader.batches(reader.schema) for row in batch.to_pylist()]
        except InputError:
            assert expected is None
            return
        assert rows == expected
        pieces = [raw.data[s:e] for raw in reader.raw_rows() for s, e in zip(raw.starts, raw.ends, strict=True)]
        assert len(pieces) == len(rows)
        assert b"".join(pieces).translate(None, b"\r\n") == text.encode().translate(None, b"\r\n")
