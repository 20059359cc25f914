"""pairs, groups and dedup from the command line: every format, every message, pipes and exit codes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import lookalike as la

ROSE = "a rose is a rose is a rose and nothing but a rose will ever be a rose"
ROWS = [
    {"id": "a", "text": ROSE, "score": 1},
    {"id": "b", "text": "Entirely different words stand in this line, and no others at all.", "score": 2},
    {"id": "c", "text": ROSE.upper() + "!", "score": 3},
    {"id": "d", "text": "", "score": 4},
]


def write(path: Path) -> Path:
    """ROWS in the format of the extension."""
    table = pa.Table.from_pylist(ROWS)
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(table, path)
    elif name.endswith((".arrow", ".feather")):
        feather.write_feather(table, path)
    elif ".jsonl" in name:
        body = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
        path.write_bytes(gzip.compress(body) if name.endswith(".gz") else pa.compress(body, "zstd", asbytes=True)
                         if name.endswith(".zst") else body)  # fmt: skip
    else:
        options = pacsv.WriteOptions(delimiter="\t" if ".tsv" in name else ",")
        with pa.output_stream(path, compression="gzip" if name.endswith(".gz") else None) as out:
            pacsv.write_csv(table, out, options)
    return path


@pytest.mark.parametrize(
    "name", ["x.parquet", "x.arrow", "x.feather", "x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.csv", "x.csv.gz", "x.tsv"]
)
def test_every_format_in_and_out(tmp_path: Path, lookalike, name: str) -> None:
    source, target = write(tmp_path / name), tmp_path / f"clean{name[1:]}"
    done = lookalike("dedup", source, "-o", target, "--removed", tmp_path / "removed.csv")
    assert done.code == 0, done.err
    assert (tmp_path / "removed.csv").read_text().replace('"', "") == "id,kept,similarity\nc,a,1\n"
    again = lookalike("pairs", target, "-o", tmp_path / "pairs.parquet")
    assert again.code == 0, again.err
    assert pq.read_table(tmp_path / "pairs.parquet").num_rows == 0
    assert json.loads((tmp_path / f"{target.name}.receipt.json").read_text())["counts"]["kept"] == 3


def test_every_output_has_a_receipt_of_its_own(tmp_path: Path, lookalike) -> None:
    source = write(tmp_path / "x.csv")
    for name in ("q.csv", "q.jsonl", "f-0.3.parquet", "f-0.5.parquet"):
        done = lookalike("pairs", source, "-o", tmp_path / name)
        assert done.code == 0, done.err
        assert (tmp_path / f"{name}.receipt.json").is_file()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_file_names_need_not_be_utf8(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"x{suffix}")
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9" + suffix.encode())
    source.rename(odd)
    target = os.fsdecode(os.fsencode(tmp_path) + b"/out\xe9" + suffix.encode())
    command = [sys.executable, "-m", "lookalike", "dedup", odd, "-o", target]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.path.exists(target)
    receipt = json.loads(Path(target + ".receipt.json").read_text())
    assert receipt["counts"]["kept"] == 3


@pytest.mark.parametrize(("kilobytes", "name"), [(300_000, "x.csv"), (300_000, "x.jsonl"), (700_000, "x.csv")])
def test_little_address_space_gives_one_line(tmp_path: Path, kilobytes: int, name: str) -> None:
    """Too little for Arrow, for its threads, and for the compiler."""
    command = f"ulimit -v {kilobytes}; exec {sys.executable} -m lookalike pairs {write(tmp_path / name)}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        b"OutOfMemory: the system gave no more memory. Allow more (ulimit -v), or work with less: --memory 1GB.\n"
    )


def test_pairs_have_the_users_ids(tmp_path: Path, lookalike) -> None:
    done = lookalike("pairs", write(tmp_path / "x.csv"), "-o", tmp_path / "pairs.jsonl")
    assert done.code == 0
    assert json.loads((tmp_path / "pairs.jsonl").read_text()) == {"left": "a", "right": "c", "similarity": 1.0}


def test_text_lines_and_folders(tmp_path: Path, lookalike) -> None:
    (tmp_path / "lines.txt").write_text(f"{ROSE}\nother words\n{ROSE}\n")
    assert lookalike("pairs", tmp_path / "lines.txt").out == "left\tright\tsimilarity\n0\t2\t1\n"
    folder = tmp_path / "texts"
    (folder / "sub").mkdir(parents=True)
    (folder / "one.txt").write_text(ROSE)
    (folder / "sub" / "two.txt").write_text(ROSE + "\n")
    assert lookalike("pairs", folder).out == "left\tright\tsimilarity\none.txt\tsub/two.txt\t1\n"


@pytest.mark.promise(
    "docs/reference/formats.md",
    "Each text file is one document, whether files are named one by one, by a glob, or by their folder",
)
@pytest.mark.parametrize("suffixes", [(".txt", ".txt"), (".md", ".txt"), (".py", ".py"), ("", ".txt.gz")])
def test_named_text_files_are_documents(tmp_path: Path, lookalike, monkeypatch, suffixes: tuple[str, str]) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"a{suffixes[0]}", f"b{suffixes[1]}"]
    text = ROSE.replace(" will", "\nwill").encode() + b"\n"
    for name in names:
        Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    (tmp_path / "folder").mkdir()
    for name in names:
        (tmp_path / "folder" / name).write_bytes(Path(name).read_bytes())
    for inputs in (names, [f"./{names[0]}", names[1]]):
        done = lookalike("pairs", *inputs)
        assert done.out == f"left\tright\tsimilarity\n{names[0]}\t{names[1]}\t1\n", done.err
        assert "Read     2 files as documents" in done.err
    assert lookalike("pairs", "folder").out == done.out
    assert lookalike("pairs", "folder", names[0]).out.count("\t1\n") == 3
    passages = lookalike("passages", *names)
    assert passages.out.splitlines()[1].startswith(f"{names[0]}\t{names[1]}\t0\t"), passages.err
    assert lookalike("passages", names[0], "--against", names[1]).out == passages.out
    assert lookalike("stories", *names).out.splitlines()[1:] == [f"{name}\t0\t2\t{names[0]}" for name in names]
    by_lines = lookalike("pairs", *names, "--lines")
    assert by_lines.out.splitlines()[1:] == ["0\t2\t1", "1\t3\t1"]
    assert "Read     4 lines as documents" in by_lines.err
    result = la.pairs([Path(name) for name in names])
    assert result.pairs.to_pylist() == [{"left": names[0], "right": names[1], "similarity": 1.0}]
    assert result.receipt["inputs"][0]["lines"] is False
    assert la.pairs([Path(name) for name in names], lines=True).pairs.num_rows == 2


@pytest.mark.promise("docs/reference/formats.md", "A text file that is the only input of a run is read line by line")
def test_a_text_file_alone_is_read_line_by_line(tmp_path: Path, lookalike) -> None:
    for name in ("a.txt", "a.md"):
        (tmp_path / name).write_text(f"{ROSE}\nother\n{ROSE}\n")
        done = lookalike("pairs", tmp_path / name)
        assert done.out == "left\tright\tsimilarity\n0\t2\t1\n"
        assert "Read     3 lines as documents" in done.err
    assert la.forecast(tmp_path / "a.txt").documents == 3
    assert la.forecast([tmp_path / "a.txt", tmp_path / "a.md"]).documents == 2
    (tmp_path / "b.txt").write_text("x")
    refused = lookalike("dedup", tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "clean.txt")
    assert refused.err.endswith(
        "this table has the columns id, text. Use .jsonl, .csv or .parquet. Or read text files line by line, with --lines.\n"
    )
    done = lookalike("dedup", tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "clean.txt", "--lines")
    assert (tmp_path / "clean.txt").read_text() == f"{ROSE}\nother\nx", done.err


def test_a_table_among_texts_is_read_as_a_text_with_a_warning(tmp_path: Path, lookalike) -> None:
    (tmp_path / "docs").mkdir()
    write(tmp_path / "docs" / "rows.jsonl")
    (tmp_path / "docs" / "a.txt").write_text(ROSE)
    warning = (
        "Warning: rows.jsonl is read as one document, because the folder also holds text files. "
        "To read its rows, give a glob such as '*.jsonl'."
    )
    assert warning in " ".join(lookalike("pairs", tmp_path / "docs").err.split())
    assert warning in " ".join(lookalike("passages", tmp_path / "docs").err.split())
    write(tmp_path / "docs" / "more.csv")
    assert "2 files such as more.csv are read as one document each" in lookalike("pairs", tmp_path / "docs").err


@pytest.mark.parametrize("method", ["auto", "lsh", "exact", "dcm"])
def test_no_documents_are_no_error(tmp_path: Path, lookalike, method: str) -> None:
    (tmp_path / "none.txt").touch()
    assert lookalike("pairs", tmp_path / "none.txt", "--method", method).out == "left\tright\tsimilarity\n"
    assert lookalike("groups", tmp_path / "none.txt", "--method", method).out == "id\tgroup\tsize\trepresentative\n"
    done = lookalike("dedup", tmp_path / "none.txt", "--method", method, "-o", tmp_path / "clean.txt")
    assert done.code == 0
    assert "Read     0 lines as documents" in done.err
    assert (tmp_path / "clean.txt").read_text() == ""


def test_the_demo_ends_with_what_to_try(tmp_path: Path, lookalike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(Path(json.__file__).parents[1] / "encodings"))
    done = lookalike("demo", "-o", tmp_path / "demo")
    assert done.code == 0
    assert "files  " in done.out
    assert "compare" in done.out.split("Try next:")[1]
    assert {path.name for path in (tmp_path / "demo").iterdir()} >= {
        "groups.parquet",
        "removed.parquet",
        "receipt.json",
    }
    assert f"open {tmp_path / 'demo.html'}" in done.out
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert '"kind":"text"' in page  # the texts are there
    assert "explore" in done.out.split("Try next:")[1]


def test_groups_and_a_result_folder(tmp_path: Path, lookalike) -> None:
    source = write(tmp_path / "x.parquet")
    assert lookalike("groups", source).out == "id\tgroup\tsize\trepresentative\na\t0\t2\ta\nc\t0\t2\ta\n"
    assert (
        lookalike("groups", source, "--keep", "max:score", "--grouping", "stars", "-o", tmp_path / "result").code == 0
    )
    groups = pq.read_table(tmp_path / "result" / "groups.parquet")
    assert groups["representative"].to_pylist() == ["c", "c"]
    assert json.loads((tmp_path / "result" / "receipt.json").read_text())["asked"] == "groups"


def test_against_another_collection(tmp_path: Path, lookalike) -> None:
    other = tmp_path / "test.txt"
    other.write_text(f"{ROSE}\n")
    source = write(tmp_path / "x.jsonl")
    done = lookalike("pairs", source, "--against", other)
    assert done.out.splitlines()[1:] == [f"a\t{other}\t1", f"c\t{other}\t1"]
    assert "Read     4 rows and 1 file as documents" in done.err
    by_lines = lookalike("pairs", source, "--against", other, "--lines")
    assert by_lines.out.splitlines()[1:] == ["a\t0\t1", "c\t0\t1"]
    assert "Read     4 rows and 1 line as documents" in by_lines.err
    assert lookalike("dedup", source, "--against", other, "-o", tmp_path / "clean.jsonl").code == 0
    kept = [json.loads(line)["id"] for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert kept == ["b", "d"]


def test_json_prints_the_receipt_and_nothing_else(tmp_path: Path, lookalike) -> None:
    done = lookalike("pairs", write(tmp_path / "x.csv"), "--json", "--quiet", "--method", "lsh")
    receipt = json.loads(done.out)
    assert done.err == ""
    assert receipt["counts"]["documents"] == 4
    assert receipt["counts"]["empty"] == 1
    assert receipt["plan"]["bands"] * receipt["plan"]["rows"] <= 128
    assert receipt["recall_measured"]["sampled"] == 2


def test_no_verify_says_so(tmp_path: Path, lookalike) -> None:
    done = lookalike("pairs", write(tmp_path / "x.csv"), "--no-verify", "-o", tmp_path / "out.csv")
    assert "signatures agree in at least this share of their rows, not verified" in done.err
    assert "without verification a pair at the threshold is reported about half of the time" in done.err
    assert json.loads((tmp_path / "out.csv.receipt.json").read_text())["verified"] is False


def test_the_summary_names_what_was_written(tmp_path: Path, lookalike) -> None:
    done = lookalike("dedup", write(tmp_path / "x.csv"), "-o", tmp_path / "out.csv")
    assert "Read     4 documents" in done.err
    assert "3 kept · 1 removed" in done.err
    assert f"Wrote    {tmp_path / 'out.csv'}" in done.err
    assert lookalike("dedup", tmp_path / "x.csv", "-o", tmp_path / "q.csv", "-q").err == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["pairs", "{x}", "-t", "1.3"], 2, "UsageError: threshold is 1.3; expected a number above 0 and at most 1."),
        (["pairs", "{x}", "--text", "txet"], 1, "ColumnNotFound: no column 'txet' in x.csv. Nearest: 'text'. Columns: id"),
        (["pairs", "{x}", "--id", "ide"], 1, "ColumnNotFound: no column 'ide' in x.csv. Nearest: 'id'."),
        (["pairs", "nothing.csv"], 1, "MissingInput: no such file: nothing.csv"),
        (["dedup", "{x}"], 2, "UsageError: dedup writes the kept rows to a file: give -o OUT"),
        (["dedup", "{x}", "-o", "out.csv", "--keep", "oldest"], 2, "UsageError: keep 'oldest' is unknown. Nearest: 'longest'"),
        (["dedup", "{x}", "-o", "out.csv", "--keep", "max:when"], 1, "ColumnNotFound: no column 'when' in x.csv."),
        (["pairs", "ftp://b/x.jsonl"], 1, "InputError: ftp://b/x.jsonl is an address of an unknown kind; expected s3://"),
        (["pairs", "{x}", "-o", "out.xlsx"], 2, "UsageError: out.xlsx has the unknown extension '.xlsx'."),
        (["pairs", "{x}", "-o", "no/out.csv"], 1, "OutputError: no such folder: no. Create it first"),
        (["pairs", "{x}", "-o", "x.csv"], 1, "OutputError: x.csv exists. Use --force to replace it"),
        (["pairs", "{x}", "--max-share", "2"], 2, "UsageError: max_share is 2.0; expected a share above 0 and at most 1."),
        (["pairs", "{x}", "--bands", "50", "--rows", "50"], 2, "UsageError: bands x rows is 50 x 50 = 2500, num_hashes is 128"),
        (["pairs", "{x}", "-k", "0"], 2, "UsageError: k is 0; a shingle needs at least 1 token."),
        (["pairs", "{x}", "--unit", "token"], 2, "UsageError: unit 'token' does not fit a column of text"),
        (["pairs", "{x}", "--measure", "containment", "--method", "lsh"], 2, "UsageError: banding cannot promise a recall"),
        (["pairs", ""], 1, "InputError: an empty path came; expected a file, a folder or a glob. Is a variable of"),
        (["pairs", "{x}", "--exact", "--rows", "3"], 2, "UsageError: bands and rows are of signatures, and method 'exact'"),
        (["pairs", "{x}", "--exact", "--no-verify"], 2, "UsageError: verify=False estimates from signatures, and method"),
        (["pairs", "{x}", "--exact", "--method", "lsh"], 2, "UsageError: exact and method 'lsh' do not go together"),
        (["pairs", "{x}", "--max-pairs", "0"], 2, "UsageError: max_pairs is 0; expected at least 1."),
        (["pairs", "{x}", "--threads", "0"], 2, "UsageError: threads is 0; expected at least 1."),
        (["pairs", "{x}", "--seed", "-1"], 2, "UsageError: seed is -1; expected a whole number from 0 to 2^64-1."),
    ],
)  # fmt: skip
def test_bad_wishes_get_one_clear_line(
    tmp_path: Path, lookalike, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv")
    done = lookalike(*[word.format(x="x.csv") for word in words])
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_duplicate_ids(tmp_path: Path, lookalike) -> None:
    (tmp_path / "x.csv").write_text("id,text\n1,one\n1,two\n")
    done = lookalike("pairs", tmp_path / "x.csv")
    assert done.code == 1
    assert done.err.startswith("DuplicateIds: the id '1' occurs 2 times in")


def test_bad_utf8_and_its_policies(tmp_path: Path, lookalike) -> None:
    bad = pa.array([ROSE.encode(), b"\xff" + ROSE.encode()]).view(pa.string())
    pq.write_table(pa.table({"text": bad}), tmp_path / "x.parquet")
    done = lookalike("pairs", tmp_path / "x.parquet")
    assert done.code == 1
    assert "row 1: text is not valid UTF-8 (byte 0xff at position 0)" in done.err
    assert lookalike("pairs", tmp_path / "x.parquet", "--on-bad-text", "replace").out.splitlines()[1:] == ["0\t1\t1"]
    skipped = lookalike("pairs", tmp_path / "x.parquet", "--on-bad-text", "skip")
    assert skipped.out.splitlines()[1:] == []
    assert "1 not UTF-8" in skipped.err


def test_too_many_pairs_says_how_many(tmp_path: Path, lookalike) -> None:
    (tmp_path / "x.txt").write_text(f"{ROSE}\n" * 100)
    done = lookalike("pairs", tmp_path / "x.txt", "--max-pairs", "1000")
    assert done.code == 1
    assert done.err.startswith("TooManyPairs: the answer has at least 4,950 pairs, more than --max-pairs 1,000")
    assert lookalike("groups", tmp_path / "x.txt", "--max-pairs", "1000").code == 0


def test_plan_and_compare(tmp_path: Path, lookalike) -> None:
    planned = lookalike("plan", "-t", "0.8", "-o", tmp_path / "curve.svg")
    assert planned.code == 0
    assert "16 bands of 6 rows" in planned.out
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    assert lookalike("plan", "-o", tmp_path / "curve.svg").code == 1
    assert json.loads(lookalike("plan", "--bands", "20", "--rows", "5", "--json").out)["bands"] == 20
    (tmp_path / "a.txt").write_text(ROSE)
    compared = lookalike("compare", tmp_path / "a.txt", "nothing of the kind is here")
    assert compared.code == 0
    assert "jaccard                  0.0000" in compared.out
    assert lookalike("compare", tmp_path / "b.txt", "x y").err.startswith("MissingInput: no such file:")


def test_unmet_recall_is_a_warning(tmp_path: Path, lookalike) -> None:
    done = lookalike("pairs", write(tmp_path / "x.csv"), "--num-hashes", "4", "--method", "lsh", "-q")
    assert done.code == 0
    assert done.err.startswith("Warning: ")


def test_measured_recall_says_that_copies_count_once(tmp_path: Path, lookalike) -> None:
    near = "one two three four five six seven eight nine ten eleven twelve"
    (tmp_path / "x.txt").write_text(f"{near}\n{near}\n{near} thirteen\n")
    done = lookalike("pairs", tmp_path / "x.txt", "--method", "lsh", "-o", tmp_path / "p.csv")
    assert "on 1 pair, exact copies counted once · about 0 missed" in done.err
    assert (
        "exact copies count once"
        in json.loads((tmp_path / "p.csv.receipt.json").read_text())["recall_measured"]["over"]
    )
    (tmp_path / "y.txt").write_text(f"{near}\n{near} thirteen\n")
    assert "on 1 pair · about" in lookalike("pairs", tmp_path / "y.txt", "--method", "lsh").err


def test_no_word_of_bands_where_none_are_made(tmp_path: Path, lookalike) -> None:
    asked = ("pairs", write(tmp_path / "x.csv"), "-t", "0.3")
    assert lookalike(*asked, "--method", "lsh", "-q").err.startswith("Warning: recall at threshold 0.3 is 0.9901")
    done = lookalike(*asked)
    assert "exact join" in done.err
    assert "Warning" not in done.err


def test_help_and_version(lookalike) -> None:
    assert lookalike("--version").out.startswith("lookalike 0.")
    assert "near-duplicates" in lookalike("--help").out
    assert lookalike("pears").code == 2


def test_choices_in_any_case(tmp_path: Path, lookalike) -> None:
    assert lookalike("pairs", write(tmp_path / "x.csv"), "--normalize", "nfc", "--unit", "Char", "-q").code == 0


@pytest.mark.parametrize("where", ["-q", "2>&1"])
def test_a_closed_pipe_is_no_error(tmp_path: Path, where: str) -> None:
    (tmp_path / "x.txt").write_text(f"{ROSE}\n" * 400)
    command = f"{sys.executable} -m lookalike pairs {tmp_path / 'x.txt'} {where} | head -n 2"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("left\tright\tsimilarity\n0\t1\t1\n")
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_full_disk_behind_a_pipe_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(f"{ROSE}\n" * 400)
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "lookalike", "pairs", str(tmp_path / "x.txt"), "-q"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "OutputError: standard output: No space left on device.\n")


@pytest.mark.promise(
    "docs/how-to/documents.md", "a name without an extension creates a folder with all tables and the receipt"
)
@pytest.mark.promise("docs/reference/formats.md", "writes all tables of a run into it as Parquet, with `receipt.json`")
def test_a_name_without_an_extension_is_a_folder_with_all_tables(tmp_path: Path, lookalike) -> None:
    tables = {
        "pairs": {"pairs", "groups"},
        "groups": {"pairs", "groups"},
        "dedup": {"pairs", "groups", "kept", "removed"},
    }
    for command, names in tables.items():
        assert lookalike(command, write(tmp_path / "x.csv"), "-q", "-o", tmp_path / command).code == 0
        written = {path.name for path in (tmp_path / command).iterdir()}
        assert written == {f"{name}.parquet" for name in names} | {"receipt.json"}


@pytest.mark.promise("docs/reference/formats.md", "A name without an extension, or with a slash at its end")
def test_a_slash_at_the_end_means_a_folder(tmp_path: Path, lookalike) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a b c d e f"}\n' * 2)
    assert "unknown extension '.d'" in lookalike("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out.d").err
    for again in ([], ["--force"]):
        done = lookalike("dedup", tmp_path / "in.jsonl", "-o", f"{tmp_path}/out.d/", *again)
        assert done.code == 0, done.err
    assert {"kept.parquet", "removed.parquet", "receipt.json"} <= {p.name for p in (tmp_path / "out.d").iterdir()}
    done = lookalike("scrub", tmp_path / "in.jsonl", "-o", f"{tmp_path}/out.jsonl/", "--min-tokens", 3)
    assert done.code == 0, done.err
    assert (tmp_path / "out.jsonl" / "kept.parquet").exists()
