"""Files on web servers and in object stores: read in parts, whole or not at all when written, and without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lookalike as la
from http_server import Site, web_site
from lookalike.cli.main import app
from lookalike.errors import InputChanged, InputError, LookalikeError, MissingInput, OutputError, UsageError
from lookalike.io import arrow_store, fsspec_stores, remote, stores
from lookalike.io.opening import remote_file, remote_path
from lookalike.io.remote import RemoteFile

pytestmark = pytest.mark.xdist_group("remote")
ROWS = [
    {"id": n, "text": f"the quick brown fox number {n // 2} jumps over the lazy dog and {n // 2 * 7} others"}
    for n in range(400)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
KEY, SECRET = "AKIAKEYOFTESTS", "secretoftests"


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stores, "FIRST_WAIT", 0.001)


@pytest.fixture
def site() -> Iterator[Site]:
    with web_site() as made:
        yield made


def small_blocks(monkeypatch: pytest.MonkeyPatch, nbytes: int = 1000) -> None:
    monkeypatch.setattr(remote, "BLOCK_BYTES", nbytes)


@pytest.mark.parametrize(("ranges", "tells_length"), [(True, True), (False, True), (False, False)])
def test_a_web_address_gives_what_the_file_gives(
    site: Site, monkeypatch: pytest.MonkeyPatch, ranges: bool, tells_length: bool
) -> None:
    small_blocks(monkeypatch)
    site.ranges, site.tells_length = ranges, tells_length
    site.files["/a.jsonl"] = LINES
    Path("a.jsonl").write_bytes(LINES)
    result = la.dedup(f"{site.url}/a.jsonl", threshold=0.9)
    assert result.kept.equals(la.dedup("a.jsonl", threshold=0.9).kept)
    assert result.kept.num_rows == 200
    assert site.sent < len(LINES) + 50 + 4 * len(LINES) * (
        not ranges
    )  # two passes, one transfer; the size is asked for


@pytest.mark.promise("docs/how-to/object-stores.md", "are tried again, five times in all")
@pytest.mark.parametrize("fault", ["503", "429", "drop", "cut"])
def test_requests_are_repeated(site: Site, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    small_blocks(monkeypatch)
    site.files["/a.jsonl"] = LINES
    site.faults = ["", fault, "", fault, fault, "", fault]
    assert la.pairs(f"{site.url}/a.jsonl", threshold=0.9).pairs.num_rows == 200
    assert not site.faults


@pytest.mark.parametrize("fault", ["cut", "drop", "503"])
def test_a_whole_file_is_fetched_again_after_a_fault(site: Site, fault: str) -> None:
    site.ranges = False
    site.files["/a.jsonl"] = LINES
    site.faults = ["", fault, fault]
    assert la.pairs(f"{site.url}/a.jsonl", threshold=0.9).pairs.num_rows == 200


@pytest.mark.parametrize(
    ("faults", "error", "words"),
    [
        (["404"], MissingInput, "no such file: "),
        (["403"], InputError, "access is denied"),
        (["503"] * 9, InputError, "HTTP 503"),
        (["", *["drop"] * 20], InputError, "cannot be read"),
        (["", "410"], MissingInput, "no such file"),
    ],
)
def test_a_server_that_refuses_is_one_line_without_secrets(
    site: Site, faults: list[str], error: type, words: str
) -> None:
    site.files["/a.csv"] = b"id,text\n1,a\n"
    site.faults = faults
    with pytest.raises(error) as caught:
        la.pairs(f"{site.url}/a.csv?sig=hush&token=hush")
    assert words in str(caught.value), site.requests
    assert "a.csv?..." in str(caught.value)
    assert "hush" not in "".join(map(repr, [caught.value, caught.value.__cause__]))
    assert "\n" not in str(caught.value)


def test_a_file_that_changes_while_it_is_read_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    site.files["/a.jsonl"] = LINES

    def change(path: str) -> None:
        if len(site.requests) == 8:
            site.files[path] = LINES.replace(b"quick", b"slow!")

    site.before = change
    with pytest.raises(InputChanged):
        la.pairs(f"{site.url}/a.jsonl")


def test_a_file_that_changes_after_its_last_part_is_noticed(site: Site) -> None:
    site.files["/a.jsonl"] = LINES
    site.before = lambda path: site.files.update({path: LINES[:-1] + b" "}) if len(site.requests) > 2 else None
    with pytest.raises(InputChanged):
        la.pairs(f"{site.url}/a.jsonl")


def test_only_the_columns_that_are_read_are_transferred(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch, 4096)
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "id": range(4000),
            "bulk": [rng.bytes(100) for _ in range(4000)],
            "text": [ROWS[n % 400]["text"] for n in range(4000)],
        }
    )
    pq.write_table(table, "t.parquet", row_group_size=1000)
    site.files["/t.parquet"] = data = Path("t.parquet").read_bytes()
    result = la.pairs(f"{site.url}/t.parquet", threshold=0.9)
    assert result.receipt["counts"]["documents"] == 4000
    assert site.sent < len(data) // 4
    assert all("whole" not in asked for asked in site.requests)


@pytest.mark.promise("docs/how-to/object-stores.md", "read in parts of 4 MB over eight connections")
def test_parts_are_requested_ahead_and_each_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (remote.BLOCK_BYTES, remote.CONNECTIONS, stores.ATTEMPTS) == (4 << 20, 8, 5)
    small_blocks(monkeypatch)
    site.files["/a.bin"] = bytes(range(256)) * 100
    file = RemoteFile(f"{site.url}/a.bin")
    assert file.read_at(0, 500) == site.files["/a.bin"][:500]
    assert file.transferred == 1000  # one part, until a second one follows
    assert file.read_at(900, 300) == site.files["/a.bin"][900:1200]
    for future in list(file._blocks.values()):
        future.result()
    assert len(file._blocks) == 2 + remote.BLOCKS_AHEAD
    assert file.read_at(25_000, 10_000) == site.files["/a.bin"][25_000:]
    assert file.read_at(0, 30_000) == site.files["/a.bin"]
    asked = [one.split("bytes=")[1] for one in site.requests]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.txt", "a.arrow", "v.npy", "a.json"])
def test_every_format_is_read_from_an_address(site: Site, name: str) -> None:
    import gzip
    import io

    texts = [row["text"] for row in ROWS[:20]]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([("text", pa.string())])) as writer:
        writer.write_table(pa.table({"text": texts}))
    array = io.BytesIO()
    np.save(array, np.eye(20, dtype=np.float32)[[n // 2 for n in range(20)]])
    csv = ("text\n" + "\n".join(texts)).encode()
    site.files[f"/{name}"] = {
        "a.csv": csv, "a.csv.gz": gzip.compress(csv), "a.txt": "\n".join(texts).encode(),
        "a.arrow": sink.getvalue().to_pybytes(), "v.npy": array.getvalue(), "a.json": json.dumps(ROWS[:20]).encode(),
    }[name]  # fmt: skip
    address = f"{site.url}/{name}"
    result = la.vectors.pairs(address, max_angle=10) if name == "v.npy" else la.pairs(address, threshold=0.9)
    assert result.pairs.num_rows == 10
    assert result.receipt["inputs"][0]["origin"]["paths"] == [address]


def test_an_empty_file_and_an_odd_address_are_one_line(site: Site) -> None:
    site.files |= {"/e.parquet": b"", "/x.xlsx": b"PK\0\0"}
    for address, words in (
        (f"{site.url}/e.parquet", "is empty"),
        (f"{site.url}/x.xlsx", "is not a text file"),
        ("https://me:hush@host/a.csv", "https://host/a.csv holds a user or password"),
        ("s3://bucket", "names no file"),
        ("ftp://host/a.csv", "is an address of an unknown kind"),
    ):
        with pytest.raises((InputError, UsageError), match=words) as caught:
            la.pairs(address)
        assert "hush" not in str(caught.value)


def test_web_addresses_are_not_written(site: Site) -> None:
    with pytest.raises(OutputError, match="can only be read"):
        la.pairs(["a text", "a text"]).write(f"{site.url}/out.csv")


def test_a_receipt_names_no_secret(site: Site) -> None:
    site.files["/a.jsonl"] = LINES
    done = CliRunner().invoke(app, ["pairs", f"{site.url}/a.jsonl?X-Amz-Signature=hush", "-o", "out"])
    assert done.exit_code == 0, done.output
    receipt = Path("out/receipt.json").read_text()
    assert json.loads(receipt)["counts"]["documents"] == 400  # the query does not hide the format
    assert "hush" not in receipt + done.output
    assert "a.jsonl?..." in receipt


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    pytest.importorskip("moto")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    stores._store.cache_clear()
    client = boto3.client("s3", endpoint_url=given["AWS_ENDPOINT_URL"])
    client.create_bucket(Bucket="books")
    made = boto3.resource("s3", endpoint_url=given["AWS_ENDPOINT_URL"]).Bucket("books")
    try:
        yield made
    finally:
        server.stop()
        stores._store.cache_clear()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def keys(bucket: Any, prefix: str) -> list[str]:
    return [one.key for one in bucket.objects.filter(Prefix=prefix)]


@pytest.mark.filterwarnings("default")  # of boto3 and moto
def test_folders_and_globs_of_a_bucket(bucket: Any) -> None:
    for number in range(4):
        bucket.put_object(
            Key=f"in/{number}/part.jsonl", Body=b"".join(LINES.splitlines(True)[number * 100 : number * 100 + 100])
        )
        bucket.put_object(
            Key=f"texts/{number}.md", Body=f"# text {number // 2}\nthe quick brown fox jumps over".encode()
        )
    bucket.put_object(Key="in/.hidden", Body=b"x")
    for address in (
        "s3://books/in",
        "s3://books/in/",
        "s3://books/in/*/part.jsonl",
        "s3://books/in/**/*.jsonl",
        Path("s3://books/in"),
    ):
        assert la.pairs(address, threshold=0.9).pairs.num_rows == 200
    assert la.pairs("s3://books/in/[01]/*", threshold=0.9).receipt["counts"]["documents"] == 200
    assert la.pairs("s3://books/texts/", threshold=0.9).pairs.to_pylist() == [
        {"left": "0.md", "right": "1.md", "similarity": 1.0}, {"left": "2.md", "right": "3.md", "similarity": 1.0}
    ]  # fmt: skip
    for address in ("s3://books/none/*.csv", "s3://books/none.csv", "s3://nobooks/a.csv"):
        with pytest.raises(InputError, match=r"no such file|no files match"):
            la.pairs(address)


@pytest.mark.filterwarnings("default")
def test_outputs_appear_whole_and_are_not_replaced(bucket: Any) -> None:
    bucket.put_object(Key="a.jsonl", Body=LINES)
    out = ["dedup", "s3://books/a.jsonl", "-o", "s3://books/out/clean.jsonl", "--removed", "s3://books/out/gone.csv"]
    done = CliRunner().invoke(app, out)
    assert done.exit_code == 0, done.output
    assert "Wrote    s3://books/out/clean.jsonl\n" in done.output
    assert keys(bucket, "out/") == ["out/clean.jsonl", "out/clean.jsonl.receipt.json", "out/gone.csv"]
    assert bucket.Object("out/clean.jsonl").get()["Body"].read() == b"".join(LINES.splitlines(True)[::2])
    receipt = bucket.Object("out/clean.jsonl.receipt.json").get()["Body"].read().decode()
    assert KEY not in receipt
    assert SECRET not in receipt + done.output
    assert not list(Path.cwd().iterdir())  # work folders and drafts are gone
    again = CliRunner().invoke(app, out)
    assert again.exit_code == 1
    assert str(again.exception).startswith("s3://books/out/clean.jsonl exists. Use `force`")
    assert CliRunner().invoke(app, [*out, "--force"]).exit_code == 0
    la.pairs("s3://books/a.jsonl").save("s3://books/result")
    assert keys(bucket, "result/")[-1] == "result/receipt.json"
    with pytest.raises(OutputError, match=r"s3://books/result/receipt.json exists"):
        la.pairs("s3://books/a.jsonl").save("s3://books/result")


@pytest.mark.promise("docs/how-to/object-stores.md", "they appear whole or not at all")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("error", [OSError("AWS Error ACCESS_DENIED"), KeyboardInterrupt()])
def test_an_upload_that_fails_leaves_nothing(
    bucket: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(arrow_store, "UPLOAD_BYTES", 6 << 20)
    fs = stores.store_of("s3://books/x")._fs  # type: ignore[attr-defined]
    written: list[int] = []

    class Stream:
        def __init__(self, stream: Any) -> None:
            self.write_, self.close = stream.write, stream.close

        def write(self, data: bytes) -> None:
            self.write_(data)
            written.append(len(data))
            if len(written) == 2:
                raise error

    class Breaking:
        def __getattr__(self, name: str) -> Any:
            return getattr(fs, name)

        def open_output_stream(self, path: str, **options: Any) -> Any:
            return Stream(fs.open_output_stream(path, **options))

    monkeypatch.setattr(stores.store_of("s3://books/x"), "_fs", Breaking())
    Path("big.bin").write_bytes(bytes(20 << 20))
    with pytest.raises((OutputError, KeyboardInterrupt)):
        stores.upload(Path("big.bin"), "s3://books/broken.bin")
    assert written == [6 << 20] * 2
    assert keys(bucket, "broken") == []


@pytest.mark.filterwarnings("default")
def test_a_bucket_that_denies_access_says_where_credentials_come_from(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: Any) -> Any:
        raise OSError(
            f"When reading information for key 'a' in bucket 'books': AWS Error ACCESS_DENIED during HeadObject: {KEY}"
        )

    monkeypatch.setattr(arrow_store.ArrowStore, "info", denied)
    with pytest.raises(InputError, match=r"access is denied\. Credentials are read from AWS_ACCESS_KEY_ID") as caught:
        la.pairs("s3://books/a.csv")
    assert KEY not in str(caught.value)


def test_an_index_and_records_read_addresses(site: Site) -> None:
    site.files["/a.jsonl"] = LINES
    la.Index.create("seen.index").close()
    done = CliRunner().invoke(app, ["index", "add", "seen.index", f"{site.url}/a.jsonl", "--if-new"])
    assert done.exit_code == 0, done.output
    assert "200" in done.output
    site.files["/p.csv"] = b"id,name,city\n1,Ann Lee,Bonn\n2,Ann Lee,Bonn\n3,Bob Ray,Rome\n"
    assert la.records.pairs(f"{site.url}/p.csv").receipt["counts"]["records"] == 3


def test_a_hub_address_is_read_and_written_through_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/datasets/me/data/a.jsonl", LINES)

    class Hub:
        def __getattr__(self, name: str) -> Any:
            def call(address: str = "", *more: Any, **options: Any) -> Any:
                places = [str(one).replace("hf://", "/") for one in (address, *more)] if address else []
                return getattr(memory, name)(*places, **options)

            return call

    monkeypatch.setattr(fsspec_stores, "_fsspec", lambda scheme: Hub())
    stores._store.cache_clear()
    result = la.pairs("hf://datasets/me/data/*.jsonl", threshold=0.9)
    assert result.pairs.num_rows == 200
    result.write("hf://datasets/me/data/pairs.csv")
    assert memory.cat("/datasets/me/data/pairs.csv").startswith(b'"left"')
    stores._store.cache_clear()


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    stores._store.cache_clear()
    with pytest.raises(LookalikeError, match=r'needs: pip install "lookalike\[remote\]"'):
        la.pairs("https://127.0.0.1:1/a.csv")


def test_a_remote_path_stands_in_for_a_path(site: Site) -> None:
    site.files["/a b.tar.csv"] = b"text\na\n"
    path = remote_path(f"{site.url}/a%20b.tar.csv?k=hush")
    assert (path.name, path.suffix, path.suffixes) == ("a b.tar.csv", ".csv", [".tar", ".csv"])
    assert "hush" not in f"{path} {path.as_posix()}"
    assert remote_file(Path("a.csv")) is None
