"""Standard input and output, and pipes, as inputs and outputs."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from lookalike.cli.streams import streams
from lookalike.errors import OutputError

ROSE_TEXT = "a rose is a rose is a rose and nothing but a rose will ever be a rose"
STREAM_LINES = [
    json.dumps({"id": "a", "text": ROSE_TEXT, "n": 9007199254740993}),
    json.dumps({"id": "b", "text": "entirely different words stand in this line, and no others at all"}),
    json.dumps({"id": "c", "text": ROSE_TEXT.upper() + "!"}),
    json.dumps({"id": "d", "text": "something else again"}),
]
STREAM_BODY = "".join(line + "\n" for line in STREAM_LINES).encode()


def run(folder: Path, *words: str, given: bytes = STREAM_BODY) -> subprocess.CompletedProcess[bytes]:
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-m", "lookalike", *words], input=given, capture_output=True, cwd=folder,
                          env=os.environ | {"TMPDIR": str(temporary)}, check=False)  # fmt: skip
    assert list(temporary.iterdir()) == []
    return done


def test_dedup_in_a_pipe_keeps_the_lines_in_order(tmp_path: Path) -> None:
    done = run(tmp_path, "dedup", "-", "-o", "-", "--format", "jsonl")
    assert done.stdout.decode().splitlines() == [STREAM_LINES[0], STREAM_LINES[1], STREAM_LINES[3]]
    assert b"Found" in done.stderr  # messages are on standard error only
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert run(tmp_path, "dedup", "-", "-o", "-", "-q").stdout == done.stdout


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_on_standard_output(tmp_path: Path, form: str) -> None:
    out = run(tmp_path, "pairs", "-", "-o", "-", "--format", form, "-q").stdout
    if form == "parquet":
        table = pq.read_table(BytesIO(out))
    elif form == "jsonl":
        table = pa.Table.from_pylist([json.loads(line) for line in out.splitlines()])
    else:
        table = pacsv.read_csv(BytesIO(out), parse_options=pacsv.ParseOptions(delimiter="\t" if form == "tsv" else ","))
    assert table.to_pylist() == [{"left": "a", "right": "c", "similarity": 1.0}]


@pytest.mark.parametrize("form", ["csv", "text", "gzip"])
def test_formats_of_standard_input(tmp_path: Path, form: str) -> None:
    texts = [json.loads(line)["text"] for line in STREAM_LINES]
    bodies = {
        "csv": "id,text\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(texts)),
        "text": "".join(text + "\n" for text in texts),
    }
    body = gzip.compress(STREAM_BODY) if form == "gzip" else bodies[form].encode()
    done = run(tmp_path, "groups", "-", "--format", "jsonl" if form == "gzip" else form, "-q", given=body)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


def test_process_substitution(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(STREAM_BODY)
    words = f"{sys.executable} -m lookalike pairs <(cat x.jsonl) --against <(cat x.jsonl) -q"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert len(done.stdout.splitlines()) == 1 + 6, done.stderr


@pytest.mark.parametrize(
    ("words", "given", "message"),
    [
        (
            "pairs -",
            b"a,b\n",
            "InputError: standard input does not show its format. Give --format, for example --format csv.",
        ),
        ("pairs - --format parquet", b"a,b\n", "InputError: standard input does not show its format. Give"),
        (
            "pairs - --against -",
            STREAM_BODY,
            "UsageError: standard input (-) can be read once; give a file for the other input.",
        ),
        ("dedup - -o - --json", STREAM_BODY, "UsageError: -o - and --json both write to standard output; give"),
        (
            "pairs - --engine spark",
            STREAM_BODY,
            "UsageError: standard input and pipes are read on one machine; on Spark",
        ),
        ("pairs - --format xlsx", STREAM_BODY, "Invalid value for '--format'"),
    ],
)
def test_refusals(tmp_path: Path, words: str, given: bytes, message: str) -> None:
    done = run(tmp_path, *words.split(), given=given)
    assert done.returncode != 0
    assert message in done.stderr.decode()
    assert done.stdout == b""


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"id": n, "text": f"{n} {n + 1} {n + 2} {n + 3} {n + 4} {n + 5}"}) + "\n"
        for n in range(0, 90_000, 9)
    )
    (tmp_path / "x.jsonl").write_text(lines)
    words = f"set -o pipefail; cat x.jsonl | {sys.executable} -m lookalike dedup - -o - -q | head -1"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)


def test_a_message_names_the_stream(tmp_path: Path) -> None:
    body = b'{"id": "a", "text": "x"}\n' * 2
    done = run(tmp_path, "pairs", "-", given=body)
    assert done.stderr.startswith(b"DuplicateIds: the id 'a' occurs 2 times in standard input; ids must")


def test_a_stream_that_does_not_fit_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    expected = pytest.raises(OutputError, match=f"does not fit into {tmp_path}, the folder of temporary files")
    with expected, streams({"format": None}, ["-"]) as opened:
        opened.files(["-"])
    assert list(tmp_path.iterdir()) == []
