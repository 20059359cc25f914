"""Mutated inputs for every reader: an answer or an error of lookalike in one line, and nothing else.

python tests/fuzzing.py READER SEED    repeats an input, and writes it to the current folder
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import shutil
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from PIL import Image

import fuzzed_requests
import lookalike as la
from lookalike.errors import LookalikeError
from lookalike.evaluation.ground_truth import read_pairs
from lookalike.evaluation.recheck import Unreadable, check_result
from lookalike.io.action_journal import read_journal
from lookalike.io.pictures import capture_time, load_frames, number_of_tags
from lookalike.io.read import open_collection
from lookalike.io.verdicts import read_verdicts
from lookalike.kinds.baskets.sparse_matrix import read_npz
from lookalike.kinds.bits.source import open_codes
from lookalike.kinds.documents.weights import named_weights
from lookalike.kinds.records.rules_file import read_settings
from lookalike.kinds.scrub.undo import undo_scrub
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace

ROWS = [
    {"id": 1, "text": "a b c d e f g", "n": 1.5}, {"id": 2, "text": 'x "quoted", y\n z', "n": None},
    {"id": 3, "text": "漢字 é \u200d 🙂", "n": -2}, {"id": 4, "text": "", "n": 1e300},
]  # fmt: skip
TOKENS = [
    b'"', b"'", b",", b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]",
    b"null", b"true", b"NaN", b"1e999", b"-0", b"9223372036854775808", b"18446744073709551616", b"\xc3\x28", b":", b"\\",
    b"\x1f\x8b", b"PAR1", b"ARROW1", b"=1+1", b"../../etc/passwd", b"a" * 3000, b"[" * 2000, b"\t", b" ", b"",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, -1, 1 << 63, 1 << 70, 1.5, float("inf"), "", "x", "\ud800", "\0", [], {}, [[]], {"a": 1}, [None], ["x", 1],
]  # fmt: skip
RULES = b"""threshold = 3.5

[[fields]]
column = "name"
compare = "words"
keys = ["value", "words"]
weight = 1.5
"""
WARC = (
    b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://a/\r\n"
    b"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\na b c d e f g\r\n\r\n"
) * 2
BROKEN_PICTURE = (OSError, ValueError, MemoryError)  # a run leaves such pictures out
Read = Callable[[Path], Any]


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Change bytes, or the tree of JSON, in one to four places."""
    for _ in range(draw.randrange(1, 5)):
        if draw.random() < 0.4:
            with contextlib.suppress(ValueError, RecursionError):
                data = _mutated_json(data, draw)
                continue
        at = draw.randrange(len(data) + 1)
        other = draw.randrange(len(data) + 1)
        low, high = min(at, other), min(max(at, other), min(at, other) + draw.choice([1, 4, 40]))
        how = draw.randrange(6)
        if how == 0 and data:
            at %= len(data)
            data = data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
        elif how == 1:
            data = data[:at] + draw.choice(TOKENS) + data[at:]
        elif how == 2:
            data = data[:low] + data[high:]
        elif how == 3:
            data = data[:at] + data[low:high] * draw.choice([1, 2, 50]) + data[at:]
        elif how == 4:
            data = data[:low] + draw.choice(TOKENS) + data[high:]
        else:
            number = draw.choice([0, 1, 127, 255, 65535, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1])
            data = data[:at] + number.to_bytes(8, "little")[: draw.choice([1, 2, 4, 8])] + data[at + 4 :]
    return data[: draw.randrange(len(data) + 1)] if draw.random() < 0.1 else data


def _mutated_json(data: bytes, draw: random.Random) -> bytes:
    """Change a value, a key or the type of something in one of the JSON documents of the lines, or in the whole."""
    lines = data.split(b"\n") if data.count(b"\n{") or b"}\n" in data else [data]
    number = draw.randrange(len(lines))
    tree = json.loads(lines[number])
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    walk(tree)
    if not places:
        raise ValueError
    node, key = draw.choice(places)
    how = draw.randrange(4)
    if how == 0:
        node[key] = draw.choice(VALUES)
    elif how == 1:
        del node[key]
    elif how == 2 and isinstance(node, dict):
        node[draw.choice(["", "x", "left", "id", "\0"])] = node.pop(key)
    elif isinstance(node, list):
        node.insert(0, draw.choice(VALUES))
    else:
        node[key] = [node[key]]
    lines[number] = json.dumps(tree).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


# The readers, each with a file that it can read


def _collection(path: Path) -> Any:
    opened = open_collection(path)
    return [len(batch) for batch in opened.texts()], sum(batch.num_rows for batch in opened.rows())


def _result(path: Path) -> Any:
    with contextlib.suppress(Unreadable):
        return check_result(path.parent, sample=None)


def _loaded(path: Path) -> Any:
    return la.load(path.parent).pairs.num_rows


def _undone(path: Path) -> Any:
    return undo_scrub(path.parent / "kept.jsonl", path, path.parent / "again.jsonl", force=True)


def _opened_index(path: Path) -> Any:
    with la.Index.open(path.parent, read_only=True) as index:
        return len(index), index.query(["a b c d e f"]), index.check().is_sound


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def _arrow() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(pa.Table.from_pylist(ROWS), sink, compression="uncompressed")
    return sink.getvalue()


def _npy() -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.arange(24, dtype=np.float32).reshape(6, 4))
    return sink.getvalue()


def _lines() -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def _csv() -> bytes:
    return 'id,text,n\r\n1,a b c d e f g,1.5\r\n2,"x ""quoted"", y\n z",\r\n3,漢字 é,-2\r\n'.encode()


def _verdicts(folder: Path) -> bytes:
    file = la.Verdicts(folder / "v.jsonl")
    for number in range(3):
        file.add(number, number + 1, "same", by="a", note="n")
    file.represent(2, by="a")
    return file.path.read_bytes()


def _journal(_: Path) -> bytes:
    change = {"begin": 1, "mode": "move", "file": "/a", "kept": "/b", "size": 3, "modified_ns": 5, "place": "/c"}
    rows = [{"format": "lookalike-journal-1"}, change, {"done": 1}, {**change, "begin": 2}, {"failed": 2}]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _saved(folder: Path) -> Path:
    (folder / "in.jsonl").write_bytes("".join(json.dumps({"id": i, "text": f"a b c d e {i % 2} f g"}) + "\n"
                                      for i in range(6)).encode())  # fmt: skip
    return la.pairs(folder / "in.jsonl", threshold=0.3).save(folder / "result")


def _scrubbed(folder: Path) -> Path:
    (folder / "in.jsonl").write_bytes(b'{"text": "a b c d e f g h x"}\n{"text": "y a b c d e f g h z"}\n')
    la.scrub(folder / "in.jsonl", min_tokens=5).write(folder / "kept.jsonl", removed=folder / "removed.parquet")
    return folder / "removed.parquet"


def _index(folder: Path) -> Path:
    with la.Index.create(folder / "i", kind="documents", k=2) as index:
        index.add(["a b c d e f", "a b c d e g", "x y z"], ids=["a", "b", "c"])
        index.compact()
    return folder / "i"


def _ascii(text: str, _: Path) -> bytes:
    return text.encode()


def _json(body: Any, _: Path) -> bytes:
    return json.dumps(body).encode()


def _matrix() -> bytes:
    sink = io.BytesIO()
    np.savez(sink, format=b"csr", shape=[3, 4], data=[1, 1, 1], indices=[0, 2, 3], indptr=[0, 1, 2, 3])
    return sink.getvalue()


def _picture(name: str) -> bytes:
    sink, picture = io.BytesIO(), Image.effect_noise((20, 20), 60)
    tags = Image.Exif()
    tags[0x0112] = 6
    picture.save(
        sink, name, **({"save_all": True, "append_images": [picture.rotate(90)]} if name == "GIF" else {"exif": tags})
    )
    return sink.getvalue()


def _pictures(path: Path) -> Any:
    """Read a picture as a run does: its pixels, its orientation and its tags."""
    with contextlib.suppress(*BROKEN_PICTURE):
        load_frames(path, "a")
    return capture_time(path), number_of_tags(path)


def _work_folder(folder: Path) -> Path:
    run = CheckpointFolder(folder / "work", {"input": "x"})
    with contextlib.closing(run):
        space = Workspace(MemoryBudget(1 << 62), folder=folder / "work", run=run)
        space.part("a", lambda: ({"rows": np.arange(9)}, {"count": 9}))
    return folder / "work"


def _resumed(path: Path) -> Any:
    run = CheckpointFolder(path.parent, {"input": "x"})
    with contextlib.closing(run):
        space = Workspace(MemoryBudget(1 << 62), folder=path.parent, run=run)
        found, _ = space.part("a", lambda: ({"rows": np.arange(9)}, {"count": 9}))
        assert found["rows"].tolist() == list(range(9))


READERS: dict[str, tuple[str, Callable[[Path], bytes | Path], Read]] = {  # name: file, what is valid, who reads it
    "csv": ("in.csv", lambda _: _csv(), _collection),
    "tsv": ("in.tsv", lambda _: _csv().replace(b",", b"\t"), _collection),
    "jsonl": ("in.jsonl", lambda _: _lines(), _collection),
    "json": ("in.json", lambda _: json.dumps(ROWS).encode(), _collection),
    "gzip": ("in.jsonl.gz", lambda _: gzip.compress(_lines(), mtime=0), _collection),
    "text": ("in.txt", lambda _: _lines(), _collection),
    "parquet": ("in.parquet", lambda _: _parquet(), _collection),
    "arrow": ("in.arrow", lambda _: _arrow(), _collection),
    "npy": ("in.npy", lambda _: _npy(), lambda path: la.vectors.pairs(path, min_cosine=0.9).pairs.num_rows),
    "codes": ("in.csv", lambda _: b"id,code\n1,00ff\n2,00fe\n3,ff00\n", lambda path: open_codes(path).read()),
    "baskets": ("in.csv", lambda _: b"c,p\na,x\na,y\nb,x\nb,y\n", lambda path: la.baskets.pairs(path, threshold=0.5)),
    "verdicts": ("v.jsonl", _verdicts, lambda path: read_verdicts(path).counts()),
    "journal": ("j.jsonl", _journal, lambda path: list(read_journal(path))),
    "receipt": ("receipt.json", lambda folder: _saved(folder), _result),
    "result": ("pairs.parquet", lambda folder: _saved(folder), _result),
    "loaded": ("receipt.json", lambda folder: _saved(folder), _loaded),
    "undo": ("removed.parquet", _scrubbed, _undone),
    "rules": ("r.toml", lambda _: RULES, read_settings),
    "truth": ("t.csv", lambda _: b"left,right\na,b\nb,c\n", lambda path: len(read_pairs(path).ids[0])),
    "weights": ("w.csv", lambda _: b"item,weight\na,1.5\nb,2\n", named_weights),
    "matrix": ("m.npz", lambda _: _matrix(), read_npz),
    "picture png": ("a.png", lambda _: _picture("PNG"), _pictures),
    "picture jpeg": ("a.jpg", lambda _: _picture("JPEG"), _pictures),
    "picture gif": ("a.gif", lambda _: _picture("GIF"), _pictures),
    "web archive": ("a.warc", lambda _: WARC, _collection),
    "work folder": ("progress.json", _work_folder, _resumed),
    **{
        f"address {text}": ("path", partial(_ascii, text), fuzzed_requests.address)
        for text in fuzzed_requests.ADDRESSES
    },
    "http": ("request", lambda _: fuzzed_requests.raw_request(), fuzzed_requests.http_bytes),
    **{name: (file, partial(_json, body), read) for name, (file, body, read) in fuzzed_requests.READERS.items()},
    "index settings": ("index.json", _index, _opened_index),
    "index manifest": ("manifest.sqlite", _index, _opened_index),
    "index segment": ("00000000.seg", _index, _opened_index),
}


@cache
def _valid(name: str, place: Path) -> Path:
    """Return a folder with a valid file for a reader."""
    folder = place / f"valid {name.replace('/', ' ')}"
    folder.mkdir()
    file, make, _ = READERS[name]
    made = make(folder)
    if isinstance(made, bytes):
        (folder / file).write_bytes(made)
        return folder
    return made if made.is_dir() else made.parent


def run(name: str, seed: int, place: Path, data: bytes | None = None) -> bytes:
    """Let a reader read a mutated file; raise AssertionError for anything but an answer or an error in one line.

    data: the content of the file instead of a mutation.
    """
    file, _, read = READERS[name]
    valid = _valid(name, place)
    here = place / "now"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(valid, here)
    if not (here / file).exists():  # the name of a segment depends on what was written before it
        file = next(path.name for path in sorted(here.iterdir()) if path.suffix == Path(file).suffix)
    given = mutated((here / file).read_bytes(), random.Random(f"{name} {seed}")) if data is None else data
    (here / file).write_bytes(given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(here / file)
    except LookalikeError as error:
        if not str(error) or "\n" in str(error).strip():
            raise AssertionError(f"{name} {seed}: the message is not one line: {str(error)!r}") from error
    except Exception as error:
        raise AssertionError(f"{name} {seed}: {type(error).__name__}: {error}") from error
    return given


if __name__ == "__main__":
    import tempfile

    Path("fuzzed").write_bytes(b"")
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path("fuzzed").write_bytes(run(sys.argv[1], int(sys.argv[2]), Path(folder)))
        except AssertionError:
            Path("fuzzed").write_bytes((Path(folder) / "now" / READERS[sys.argv[1]][0]).read_bytes())
            raise
