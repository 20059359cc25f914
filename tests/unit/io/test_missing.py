"""A missing input is a FileNotFoundError too, as callers of Python expect."""

from __future__ import annotations

from pathlib import Path

import pytest

import lookalike as la
from lookalike.errors import InputError


def test_a_missing_input_is_a_file_not_found(tmp_path: Path) -> None:
    for call in (
        lambda: la.pairs(tmp_path / "in.csv"),
        lambda: la.vectors.pairs(tmp_path / "in.npy", max_angle=1),
        lambda: la.images.pairs(tmp_path / "pictures"),
    ):
        with pytest.raises(FileNotFoundError, match="no such file") as caught:
            call()
        assert isinstance(caught.value, InputError)
        assert str(caught.value).startswith("no such file")


def test_a_missing_input_of_an_index_is_not_taken_for_a_failed_write(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", kind="vectors", dimensions=2) as index:
        for source in (tmp_path / "in.npy", tmp_path / "in.csv"):
            with pytest.raises(FileNotFoundError, match="no such file"):
                index.add_from(source)
        assert len(index) == 0
