"""Mutated files for every reader, and those that failed once; `make bench-fuzz` runs millions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fuzzing

INPUTS = 60  # for each reader
SLOW = {
    "index manifest": 30,
    "index segment": 30,
    "index settings": 30,
    "baskets": 40,
    **dict.fromkeys((name for name in fuzzing.READERS if name.startswith("agent")), 12),
}
FAILED_ONCE = {
    "jsonl": [b'null\n{"text": "a"}\n', b"null\n"],
    "json": [b'[null, {"text": "a"}]'],
    "npy": [b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4)"],
    "verdicts": [
        b'{"left": 1, "right": 2, "verdict": "same", "by": []}\n', b'{"left": [[]], "right": [1], "verdict": "same"}\n',
        b"[" * 20_000,
    ],
    "journal": [
        b'{"format": "lookalike-journal-1"}\n{"failed": []}\n',
        b'{"format": "lookalike-journal-1"}\n{"begin": 1, "mode": "move", "file": "a", "kept": "b", "size": 1, '
        b'"modified_ns": 1}\n',
    ],
    "loaded": [b"[" * 20_000, b"[]", b"1"],
}  # fmt: skip
FAILED_SEEDS = {"arrow": [162], "json": [331], "undo": [46, 30002032], "index manifest": [57, 126, 1000502, 30003138, 30005290], "baskets": [1000552], "rules": [458], "weights": [2],
                "judgement /api/judge": [52, 9000352], "matrix": [9001455, 20000444, 20000993, 20001383],
                "agent seen_before": [9000429], "agent who_quotes": [9001564], "agent find_duplicates": [9000560], "judgement /api/find": [43], "judgement /api/import": [283],
                "work folder": [119, 128, 184, 390], "receipt": [5000109, 9001383, 9001691], "journal": [2, 138],
                "verdicts": [104], "loaded": [45], "npy": [0]}  # fmt: skip


@pytest.mark.promise("docs/explanation/security.md", "mutated files")
@pytest.mark.parametrize("name", fuzzing.READERS)
def test_mutated_files(name: str, tmp_path: Path) -> None:
    for seed in (*range(SLOW.get(name, INPUTS)), *FAILED_SEEDS.get(name, ())):
        fuzzing.run(name, seed, tmp_path)


@pytest.mark.parametrize("name", FAILED_ONCE)
def test_files_that_failed_once(name: str, tmp_path: Path) -> None:
    for data in FAILED_ONCE[name]:
        fuzzing.run(name, 0, tmp_path, data)


def test_a_file_that_begins_with_null_is_one_line(tmp_path: Path) -> None:
    """The JSON parser of Arrow 26 ended the process with a segmentation fault."""
    (tmp_path / "in.jsonl").write_text('null\n{"text": "a b c"}\n')
    command = [sys.executable, "-m", "lookalike", "pairs", str(tmp_path / "in.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "in.jsonl line 1: expected a JSON object, found null" in done.stderr


def test_mutations_differ_and_repeat() -> None:
    import random

    data = json.dumps(fuzzing.ROWS).encode()
    made = [fuzzing.mutated(data, random.Random(seed)) for seed in range(300)]
    assert made == [fuzzing.mutated(data, random.Random(seed)) for seed in range(300)]
    assert len(set(made)) > 250
