"""Check a result against its inputs, without any code of the engine: python recheck.py RESULT [all]

This file uses the standard library and pyarrow only, so that it can be read in one sitting, copied and run by itself.
It computes every score from the rules that the documentation gives, in the plainest way.
"""

from __future__ import annotations

import csv
import datetime
import glob
import gzip
import hashlib
import io
import json
import math
import random
import re
import struct
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

SEAL = "0" * 64  # replaces the seal while the receipt is hashed
CHECKED_TABLES = {  # what was asked, and the table of the answer
    "pairs": "pairs", "groups": "groups", "dedup": "kept", "passages": "passages", "scrub": "kept",
    "nearest": "nearest",
}  # fmt: skip
INTEGER_COLUMNS = {"rank", "tokens", "left_start", "left_end", "right_start", "right_end"}
PLAIN_SAMPLE = 1000  # pairs whose scores are computed again by default
SHOWN_PROBLEMS = 20
AUDIT_DOUBT = 1e-6  # probability below which fewer found partners than planned are no bad luck
HASH_BLOCK = 1 << 20
RELATIVE_ERROR = 1e-6  # of a score in floating point; counts and ratios of integers are compared more strictly

TABLE_SUFFIXES = (".parquet", ".npy", ".jsonl", ".ndjson", ".csv", ".tsv", ".arrow", ".feather")

Row = dict[str, Any]
Score = Callable[[Any, Any], float]


@dataclass
class Report:
    """What was checked, and what is wrong. checked: (what, how many); problems: one line each."""

    checked: list[tuple[str, int]] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)


class Unreadable(Exception):
    """The result or an input cannot be checked; the message says why."""


def check_result(
    path: Path, *, sample: int | None = PLAIN_SAMPLE, folder: Path | None = None, audit: int = 0
) -> Report:
    """Check a result folder, a file with its receipt, or a file of verdicts.

    sample: pairs to score again; None for all of them. folder: where the inputs are now, if they were moved. audit:
    items to draw and to compare with all others, to see whether the result has all of their partners.
    """
    report = Report()
    if path.suffix == ".jsonl" and _is_verdict_file(path):
        _check_chain(path, report)
        return report
    receipt, tables = _read_result(path, report)
    try:
        if receipt["asked"] not in CHECKED_TABLES:
            if "inputs" in receipt:
                _check_inputs(receipt, folder, report)
            raise Unreadable(f"the tables of `{receipt['asked']}` are compared with their hashes only.")
        if receipt["items"] == "series":
            _check_windows(receipt, tables["pairs"], report)
            _check_inputs(receipt, folder, report)
            raise Unreadable("windows of series are not compared again.")
        if receipt["asked"] in ("pairs", "groups", "dedup"):
            _check_tables(receipt, tables, report)
        _check_inputs(receipt, folder, report)
        if receipt["asked"] == "scrub":
            _check_scrub(receipt, path, tables, folder, report)
            return report
        items = [_items(source, receipt, folder) for source in receipt["inputs"]]
        if receipt["asked"] == "passages":
            _check_passages(receipt, tables, items, sample, report)
            return report
        _check_ids(tables, items, report)
        if receipt["items"] == "records":
            _check_records(receipt, tables, items, sample, report)
            return report
        score = _score_of(receipt, items, folder)
        _check_scores(receipt, tables, items, score, sample, report)
        if receipt["asked"] == "nearest":
            _check_ranks(receipt, tables["nearest"], items, score, audit, report)
            return report
        if audit:
            _audit_again(receipt, tables, items, score, audit, report)
    except Unreadable as reason:
        report.unchecked.append(f"scores and ids: {reason}")
    except OSError as error:
        report.unchecked.append(f"scores and ids: an input cannot be read ({error.strerror}).")
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a receipt or table of another shape
        report.problems.append(f"the receipt and the tables do not fit together ({type(error).__name__}: {error})")
    return report


# The result: its seal, its tables, and what they say about each other


def _read_result(path: Path, report: Report) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """Read the receipt and the tables, and compare both with the hashes in the receipt."""
    inside = (path / "receipt.json").is_file() or (path.is_dir() and not path.suffix)
    receipt_file = path / "receipt.json" if inside else path.with_name(path.name + ".receipt.json")
    if not receipt_file.is_file():
        raise Unreadable(f"{receipt_file} is missing; expected a result folder, or a file with its receipt.")
    text = receipt_file.read_bytes()
    try:
        receipt = json.loads(text)
        seal, outputs, asked = receipt["seal"], dict(receipt["outputs"]), str(receipt["asked"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreadable(f"{receipt_file} is not a sealed receipt ({type(error).__name__}: {error}).") from error
    unsealed = text.replace(str(seal).encode(), SEAL.encode())
    report.expect(hashlib.sha256(unsealed).hexdigest() == seal, f"{receipt_file.name}: its bytes differ from its seal")
    tables: dict[str, list[Row]] = {}
    for name, known in outputs.items():
        file = receipt_file.parent / name
        if not _exists(file):
            report.problems.append(f"{name} is missing")
            continue
        if not isinstance(known, dict) or _sha256(file) != known.get("sha256"):
            report.problems.append(f"{name}: its bytes differ from those that the receipt names")
            continue
        table, first = CHECKED_TABLES.get(asked, "rows"), Path(name).parts[0]
        if inside:
            table = first.removesuffix(".parquet")  # Spark writes a folder of files for each table
        elif first != path.name:
            table = "removed"
        if asked not in CHECKED_TABLES:
            continue
        try:
            rows = _rows(file)
            tables.setdefault(table, []).extend(map(_with_integers, rows) if table in ("passages", "nearest") else rows)
        except Exception as error:  # a damaged file raises errors of many types
            report.problems.append(f"{name} cannot be read: {type(error).__name__}")
    known_names = {Path(name) for name in outputs}
    there = {file.relative_to(path) for file in path.rglob("*.parquet") if file.is_file()} if inside else set()
    extra = {name.as_posix() for name in there - known_names}
    report.expect(not extra, f"files that the receipt does not name: {', '.join(sorted(extra))}")
    report.checked.append(("files compared with their hashes", len(outputs) + 1))
    return receipt, tables


def _check_tables(receipt: dict[str, Any], tables: dict[str, list[Row]], report: Report) -> None:
    """Check that the tables agree with each other, with the threshold and with the counts of the receipt."""
    column, sign, counts = receipt["scale"]["column"], receipt["scale"]["sign"], receipt["counts"]
    bound = float(receipt["job"]["threshold"])
    for name in ("pairs", "removed"):
        beyond = [row for row in tables.get(name, ()) if sign * float(row[column]) < sign * bound - 1e-9]
        report.expect(not beyond, f"{name}: {len(beyond)} rows are beyond the threshold {bound:g}, first {beyond[:1]}")
    pairs = {frozenset((_key(row["left"]), (_key(row["right"])))): row for row in tables.get("pairs", ())}
    one_table = len(receipt["inputs"]) == 1
    if "pairs" in tables:
        if one_table:
            report.expect(len(pairs) == len(tables["pairs"]), "pairs: a pair is listed twice")
            report.expect(all(len(pair) == 2 for pair in pairs), "pairs: an item is paired with itself")
        expected = counts.get("pairs")
        report.expect(
            expected in (None, len(tables["pairs"])), f"pairs: {len(tables['pairs'])} rows, {expected} counted"
        )
        report.checked.append(("pairs within the threshold", len(tables["pairs"])))
    if "groups" in tables:
        complete = receipt["pairs_complete"] and "pairs" in tables
        _check_groups(tables["groups"], set(pairs) if complete else None, receipt["grouping"], report)
    if "removed" in tables:
        gone = [_key(row["id"]) for row in tables["removed"]]
        kept = {_key(row["kept"]) for row in tables["removed"]}
        report.expect(len(set(gone)) == len(gone), "removed: an id is listed twice")
        none_stays = receipt.get("keep_copies") == 0
        if none_stays:
            report.expect(kept <= set(gone), "removed: a representative is not removed, and no member should stay")
        elif one_table:
            report.expect(
                not kept & set(gone), f"removed: {len(kept & set(gone))} of the ids that are kept are removed"
            )
        report.expect(
            counts.get("removed") in (None, len(gone)), f"removed: {len(gone)} rows, {counts['removed']} counted"
        )
        report.checked.append(
            (
                "removed rows, each with its representative"
                if none_stays
                else "removed rows, each for a row that is kept",
                len(gone),
            )
        )
    if "kept" in tables and "kept" in counts:
        rows = len(tables["kept"])
        report.expect(rows == counts["kept"], f"kept: {rows} rows, {counts['kept']} counted")
        total = receipt["inputs"][0].get("rows")
        report.expect(total is None or rows + counts["removed"] == total, f"kept: {rows} rows and {counts['removed']} "
                      f"removed do not make {total}")  # fmt: skip


def _check_windows(receipt: dict[str, Any], rows: list[Row], report: Report) -> None:
    """Check the order of pairs of windows, their distances, and that trivial neighbours are left out."""
    job, distances = receipt["job"], [float(row["distance"]) for row in rows]
    report.expect(
        len(rows) == receipt["counts"]["pairs"], f"pairs: {len(rows)} rows, {receipt['counts']['pairs']} counted"
    )
    report.expect(distances == sorted(distances), "pairs: distances are out of order")
    if job["within"] is not None:
        report.expect(max(distances, default=0.0) <= job["within"], f"pairs: distances beyond {job['within']:g}")
    starts = [(int(row["left_start"]), int(row["right_start"])) for row in rows]
    if len(receipt["inputs"]) == 1:
        near = [
            row
            for row, (left, right) in zip(rows, starts, strict=True)
            if row["left"] == row["right"] and abs(left - right) < job["exclusion"]
        ]
        report.expect(not near, f"pairs: {len(near)} are of one series and overlap, first {near[:1]}")
    report.checked.append(("pairs of windows in order", len(rows)))


def _check_groups(rows: list[Row], pairs: set[frozenset[Any]] | None, grouping: str, report: Report) -> None:
    """Check that groups are sets of items with one representative each, and what the pairs make of the items."""
    members: dict[Any, list[Any]] = defaultdict(list)
    representatives: dict[Any, set[Any]] = defaultdict(set)
    sizes: dict[Any, set[int]] = defaultdict(set)
    for row in rows:
        members[row["group"]].append(_key(row["id"]))
        representatives[row["group"]].add(_key(row["representative"]))
        sizes[row["group"]].add(int(row["size"]))
    everyone = [member for group in members.values() for member in group]
    report.expect(len(set(everyone)) == len(everyone), "groups: an item is in two groups")
    for group, ids in members.items():
        chosen = representatives[group]
        report.expect(
            len(chosen) == 1 and chosen <= set(ids), f"groups: group {group} has the representatives {chosen}"
        )
        report.expect(sizes[group] == {len(ids)}, f"groups: group {group} has {len(ids)} members, size {sizes[group]}")
    report.checked.append(("groups", len(members)))
    if pairs is None:
        return
    if grouping == "components":
        report.expect(
            _partition(members.values()) == _partition(_components(pairs)),
            "groups: they are not what the pairs connect",
        )
    for group, ids in members.items() if grouping == "stars" else ():
        (center,) = representatives[group] if len(representatives[group]) == 1 else (None,)
        lone = [one for one in ids if one != center and frozenset((one, center)) not in pairs]
        report.expect(not lone, f"groups: {lone[:3]} of group {group} have no pair with the representative")
    for group, ids in members.items() if grouping == "cliques" else ():
        apart = [(x, y) for i, x in enumerate(ids) for y in ids[:i] if frozenset((x, y)) not in pairs]
        report.expect(not apart, f"groups: {apart[:1]} of group {group} are no pair")


def _components(pairs: Iterable[frozenset[Any]]) -> list[set[Any]]:
    home: dict[Any, set[Any]] = {}
    for pair in pairs:
        union = set().union(*(home.get(item, {item}) for item in pair))
        for item in union:
            home[item] = union
    return list({id(group): group for group in home.values()}.values())


def _partition(groups: Iterable[Iterable[Any]]) -> set[frozenset[Any]]:
    return {frozenset(group) for group in groups}


def _key(value: Any) -> str:
    """Return an id as text: CSV has no types."""
    return str(value)


# The inputs


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _files_of(source: dict[str, Any], folder: Path | None) -> list[Path]:
    """Return the files of an input, in the order of their names for each path that was given."""
    origin = source.get("origin")
    if not origin:
        raise Unreadable("the input was in memory, not in files.")
    files: list[Path] = []
    for given in origin["paths"]:
        if "://" in given and folder is None:
            raise Unreadable(f"{given} is an address; download it, and name its folder as the one of the inputs.")
        place = Path(origin["folder"]) / given
        if folder is not None and "://" in given:
            place = folder / given.partition("?")[0].rpartition("/")[2]
        elif folder is not None:
            place = folder / given if not Path(given).is_absolute() else folder / Path(given).name
        if place.is_dir():
            files += [file for file in sorted(place.rglob("*")) if file.is_file() and not _is_hidden(file, place)]
        else:
            files += [place] if place.is_file() else [Path(name) for name in sorted(glob.glob(str(place)))]
    if not files:
        raise Unreadable(f"{', '.join(origin['paths'])}: expected files that are still there.")
    return files


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _check_inputs(receipt: dict[str, Any], folder: Path | None, report: Report) -> None:
    """Compare the inputs with their hashes; several files have the hash of their sorted hashes."""
    checked = 0
    for source in receipt["inputs"]:
        files, known = _files_of(source, folder), source["origin"].get("sha256")
        if known is None:
            sizes = sum(file.stat().st_size for file in files)
            newest = max(file.stat().st_mtime_ns for file in files)
            if (sizes, newest) != (source["origin"]["bytes"], source["origin"]["newest"]):
                raise Unreadable(f"{source['name']} has changed since the run.")
            continue
        hashes = sorted(map(_sha256, files))
        made = hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        report.expect(made == known, f"{source['name']}: its bytes differ from those that the receipt names")
        if made != known:
            raise Unreadable(f"{source['name']} is not the input of the run.")
        checked += len(files)
    if checked:
        report.checked.append(("input files compared with their hashes", checked))


def _items(source: dict[str, Any], receipt: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the item of each id of an input: a text, a list of tokens, a list of numbers, or a code."""
    kind = receipt["items"]
    if kind not in SCORES and kind != "records":
        raise Unreadable(f"scores of {kind} are not computed by this program.")
    files = _files_of(source, folder)
    if "rule" in source:
        return _baskets(source, files, receipt["job"])
    if "vectors" not in source and kind == "faces":
        raise Unreadable("pictures are not decoded by this program.")
    if source.get("html") == "text":
        raise Unreadable("the text of HTML pages is not extracted by this program.")
    place = Path(source["origin"]["paths"][0])
    if len(source["origin"]["paths"]) == 1 and not source.get("lines") and _is_folder_of_texts(files, source):
        top = (folder or Path(source["origin"]["folder"])) / (place.name if folder and place.is_absolute() else place)
        return {file.relative_to(top).as_posix(): _opened(file).decode() for file in files}
    column, ids = source.get("text") or source.get("vectors") or source.get("code"), source.get("id")
    items = {}
    rows = (row for file in files for row in _rows(file, source))
    for number, row in enumerate(rows):
        name = next(iter(row)) if column is None else column
        value = row if kind == "records" else row.get(name)
        items[_key(number if ids is None else row[ids])] = value
    return _as_numbers(items, receipt, source) if kind == "codes" else items


def _is_folder_of_texts(files: Sequence[Path], source: dict[str, Any]) -> bool:
    return source.get("id") == "id" and source.get("text") == "text" and not any(_format(file) for file in files)


def _as_numbers(items: dict[str, Any], receipt: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Return codes as integers: bytes, integers, and hexadecimal or 0/1 text."""
    texts = [value for value in items.values() if isinstance(value, str)]
    form = source.get("form", "auto")
    if form == "auto":
        form = "binary" if texts and all(set(text) <= {"0", "1"} for text in texts) else "hex"
    base = {"binary": 2, "hex": 16, "int": 10}[form]
    mask: int = (1 << receipt["counts"]["bits"]) - 1

    def number(value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, bytes):
            return int.from_bytes(value, "little")
        whole: int = int(value, base) if isinstance(value, str) else value
        return whole & mask

    return {name: number(value) for name, value in items.items()}


def _baskets(source: dict[str, Any], files: Sequence[Path], job: dict[str, Any]) -> dict[str, Any]:
    """Return the list of items of each basket."""
    rule, form = source["rule"], source["form"]
    if job.get("via_groups") or form == "a sparse matrix" or (rule.get("rating") and rule.get("bag")):
        raise Unreadable("baskets of a sparse matrix, of groups of items, or with multiplicities are not read.")
    entries: list[tuple[str, str]] = []
    rows = [row for file in files for row in _rows(file, source)]
    owner, item = (source["item"], source["set"]) if rule.get("dual") else (source["set"], source["item"])
    for number, row in enumerate(rows):
        if form == "two columns":
            if row[owner] is None or row[item] is None:
                continue
            if rule.get("rating") or rule.get("min_rating") is not None:
                value = row.get(
                    rule.get("rating") or next(n for n in row if n.lower() in ("rating", "ratings", "stars"))
                )
                if value in (None, "") or float(value) < (rule.get("min_rating") or -math.inf):
                    continue
            entries.append((_key(row[owner]), _key(row[item])))
        elif form == "a list column":
            name = row.get(owner, number)
            entries += [(_key(name), _key(one)) for one in row[item] or () if one is not None]
        else:
            raise Unreadable(f"baskets in the form of {form} are not read by this program.")
    made: dict[str, Any] = defaultdict(list)
    for name, one in entries:
        mine, value = (one, name) if rule.get("dual") else (name, one)
        made[mine].append(value)
    if form == "a list column" and not rule.get("dual"):
        for number, row in enumerate(rows):
            made[_key(row.get(owner, number))] += []
    return made


def _opened(file: Path) -> bytes:
    data = file.read_bytes()
    return gzip.decompress(data) if file.suffix == ".gz" else data


def _format(file: Path) -> str:
    """Return the extension of a table, or nothing for other files."""
    suffixes = [suffix for suffix in file.suffixes if suffix != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    return suffix if suffix in TABLE_SUFFIXES else ""


def _decoded(data: bytes, encoding: str | None) -> str:
    if encoding is None:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        encoding = "utf-32" if wide and len(data) > 3 and not any(data[2:4]) else "utf-16" if wide else "utf-8-sig"
    return data.decode(encoding)


def _delimiter(head: str) -> str:
    """Return the character that divides the first line of a CSV file into most columns; a comma of equal ones."""
    return max(",;\t|", key=head.count) if head else ","


def _rows(file: Path, source: Row | None = None) -> Iterator[Row]:
    """Yield the rows of a table. source: of an input, whose encoding and delimiter may be stated."""
    stated = (source or {}).get("origin") or {}
    encoding, delimiter = stated.get("encoding"), stated.get("delimiter")
    suffixes = [suffix for suffix in file.suffixes if suffix != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    if suffix == ".parquet":
        for batch in pq.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    elif suffix in (".jsonl", ".ndjson"):
        for line in _decoded(_opened(file), encoding).split("\n"):
            if line.strip():
                yield json.loads(line)
    elif suffix in (".csv", ".tsv"):
        text = _decoded(_opened(file), encoding)
        delimiter = delimiter or ("\t" if suffix == ".tsv" else _delimiter(text.partition("\n")[0]))
        yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    elif suffix == ".txt":
        for document in _decoded(_opened(file), encoding).removesuffix("\n").split("\n"):
            yield {"text": document.removesuffix("\r")}
    elif suffix == ".npy":
        yield from ({"vector": vector} for vector in _array_rows(file.read_bytes(), file.name))
    elif suffix in (".arrow", ".feather"):
        yield from pyarrow.feather.read_table(file).to_pylist()
    else:
        raise Unreadable(f"{file.name}: its format is not read by this program.")


def _array_rows(data: bytes, name: str) -> Iterator[list[float]]:
    """Yield the rows of a two-dimensional array of numbers that NumPy has written."""
    start, width = (10, 2) if data[6:7] == b"\x01" else (12, 4)
    end = start + int.from_bytes(data[8 : 8 + width], "little")
    found = re.fullmatch(
        r"\{'descr': '([<|])([fiu])(\d)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \}\s*",
        data[start:end].decode(),
    )
    kinds = {
        "f2": "e",
        "f4": "f",
        "f8": "d",
        "i1": "b",
        "i2": "h",
        "i4": "i",
        "i8": "q",
        "u1": "B",
        "u2": "H",
        "u4": "I",
    }
    if not data.startswith(b"\x93NUMPY") or found is None or found[2] + found[3] not in kinds:
        raise Unreadable(f"{name} holds no rows of numbers that this program reads.")
    row = struct.Struct(f"<{found[5]}{kinds[found[2] + found[3]]}")
    for number in range(int(found[4])):
        yield list(row.unpack_from(data, end + number * row.size))


def _with_integers(row: Row) -> Row:
    """Convert the positions, counts and ranks of a row of CSV, whose values are text."""
    for name in INTEGER_COLUMNS & row.keys():
        row[name] = int(row[name])
    return row


# The scores, from the rules


def _check_ids(tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], report: Report) -> None:
    left, right = items[0], items[-1]
    for name, column, known in (
        ("pairs", "left", left), ("pairs", "right", right), ("nearest", "left", left), ("nearest", "right", right),
        ("groups", "id", left), ("removed", "id", left),
        ("removed", "kept", right),
    ):  # fmt: skip
        unknown = [row[column] for row in tables.get(name, ()) if _key(row[column]) not in known]
        report.expect(not unknown, f"{name}: {len(unknown)} ids in {column} are not in the input, first {unknown[:1]}")


def _check_scores(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], score: Score,
    sample: int | None, report: Report,
) -> None:  # fmt: skip
    """Compute scores again: all, or a sample that the seal of the receipt determines."""
    column = receipt["scale"]["column"]
    draw = random.Random(receipt["seal"])
    for name, ours, theirs in (("pairs", "left", "right"), ("nearest", "left", "right"), ("removed", "id", "kept")):
        rows = tables.get(name, [])
        if receipt["job"].get("verify") is False:
            report.unchecked.append(f"scores of {name}: they are estimates from signatures")
            continue
        chosen = rows if sample is None or len(rows) <= sample else draw.sample(rows, sample)
        for row in chosen:
            a, b = items[0].get(_key(row[ours])), items[-1].get(_key(row[theirs]))
            if a is None or b is None:
                continue
            expected, stated = score(a, b), float(row[column])
            near = math.isclose(expected, stated, rel_tol=RELATIVE_ERROR, abs_tol=RELATIVE_ERROR)
            report.expect(near, f"{name}: {row[ours]}, {row[theirs]} have the {column} {stated}, computed {expected}")
        if rows:
            report.checked.append((f"scores of {name} computed again, of {len(rows):,}", len(chosen)))


def _has_unknown_weights(job: dict[str, Any]) -> bool:
    """Return whether elements have weights that the receipt does not name, or weights without common shingles."""
    own = job.get("weights")
    is_weighted = own is not None or job.get("weight", "none") != "none"
    named = own is None or "listed" in own or "path" in own
    return is_weighted and (not named or job.get("max_share") is not None)


def _weighted_score(receipt: dict[str, Any], items: Sequence[dict[str, Any]], folder: Path | None) -> Score:
    """Weigh each shingle by the user's weight, or ln((1 + n) / (1 + d)) + 1 if d of n documents have it, or both."""
    job = receipt["job"]
    rule, measure, own = {**job["rule"], "bag": False}, job["measure"], _own_weights(receipt, folder)
    documents = [item for one in items for item in one.values()]
    held = Counter(run for item in documents for run in _shingles(item or "", rule))

    def weight(run: Any) -> float:
        idf = math.log((1 + len(documents)) / (1 + held[run])) + 1 if job["weight"] == "idf" else 1.0
        return own.get(run, 1.0) * idf

    def counted(item: Any) -> Counter[Any]:
        return Counter(
            shingle[0] if job["rule"]["bag"] else shingle for shingle in _shingles(item, job["rule"])
        )  # of a bag, shingles have a number

    def score(left: Any, right: Any) -> float:
        a, b = counted(left), counted(right)
        if not a.keys() & b.keys():
            return 0.0
        if measure == "cosine":
            one, other = (math.fsum((count * weight(run)) ** 2 for run, count in some.items()) for some in (a, b))
            return math.fsum(a[run] * b[run] * weight(run) ** 2 for run in a.keys() & b.keys()) / math.sqrt(one * other)
        shared, one, other = (math.fsum(n * weight(run) for run, n in some.items()) for some in (a & b, a, b))
        if measure == "jaccard":
            return shared / (one + other - shared)
        return shared / min(one, other) if measure == "containment" else 2 * shared / (one + other)

    return score


def _own_weights(receipt: dict[str, Any], folder: Path | None) -> dict[Any, float]:
    """Return the user's weight of each shingle; those of a file if it has the hash that the receipt states."""
    job = receipt["job"]
    own = job.get("weights") or {}
    listed = own.get("listed", {})
    if "path" in own:
        file = Path(own["folder"]) / own["path"] if folder is None else folder / Path(own["path"]).name
        if not file.is_file() or _sha256(file) != own["sha256"]:
            raise Unreadable(f"{own['path']} is not the file of weights of the run.")
        rows = [list(row.values()) if "item" not in row else [row["item"], row["weight"]] for row in _rows(file)]
        listed = {_key(item): float(weight) for item, weight in rows}
    rule = {**job["rule"], "bag": False}
    in_text = rule["unit"] != "token"
    return {next(iter(_shingles(item if in_text else [item], rule))): weight for item, weight in listed.items()}


def _score_of(receipt: dict[str, Any], items: Sequence[dict[str, Any]], folder: Path | None) -> Score:
    """Return the score of two items; shingles of more than `max_share` of all non-empty items do not count."""
    job = receipt["job"]
    is_weighted = job.get("weights") is not None or job.get("weight", "none") != "none"
    if is_weighted:
        if _has_unknown_weights(job):
            raise Unreadable("they depend on weights that are not in the receipt.")
        return _weighted_score(receipt, items, folder)
    if job.get("max_share") is None:
        return SCORES[receipt["items"]](job)
    sets = [_shingles(item, job["rule"]) for one in items for item in one.values() if item is not None]
    most = int(Fraction(repr(float(job["max_share"]))) * sum(map(bool, sets)))
    held = Counter(shingle for one in sets for shingle in one)
    return _set_score(job, frozenset(shingle for shingle, count in held.items() if count > most))


def _audit_again(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], score: Score, size: int,
    report: Report,
) -> None:  # fmt: skip
    """Draw items, compare each with all others, and see whether the result has their partners.

    An exact method has all of them. Of a planned recall, one partner of each drawn item is a trial.
    """
    if "pairs" not in tables or receipt["job"].get("verify") is False:
        report.unchecked.append("the recall: the result has no list of verified pairs")
        return
    sign, bound = receipt["scale"]["sign"], float(receipt["job"]["threshold"])
    draw, found = random.Random(receipt["seal"]), {(_key(row["left"]), _key(row["right"])) for row in tables["pairs"]}
    left, right = items[0], items[-1]
    names = [name for name, item in left.items() if item is not None]
    trials, missed, total = [], [], 0
    for name in draw.sample(names, min(size, len(names))):
        partners = [
            other for other, item in right.items()
            if item is not None and (other != name or right is not left)
            and sign * _scored(score, left[name], item) >= sign * bound + 1e-9
        ]  # fmt: skip
        hits = [(name, other) in found or (right is left and (other, name) in found) for other in partners]
        total += len(hits)
        missed += [(name, other) for other, hit in zip(partners, hits, strict=True) if not hit]
        trials += [draw.choice(hits)] if hits else []
    planned = receipt["recall_at_threshold"]
    if planned is not None:
        lucky = sum(
            math.comb(len(trials), k) * planned**k * (1 - planned) ** (len(trials) - k) for k in range(sum(trials) + 1)
        )
        wrong = bool(missed) if planned == 1 else lucky < AUDIT_DOUBT
        report.expect(not wrong, f"recall: {len(missed)} of {total} partners of drawn items are missing, the first "
                      f"{missed[:1]}; the recall is stated as {planned:g}")  # fmt: skip
    report.checked.append(
        (f"partners of {min(size, len(names)):,} drawn items found, of {total:,}", total - len(missed))
    )


def _check_ranks(
    receipt: dict[str, Any], rows: list[Row], items: Sequence[dict[str, Any]], score: Score, audit: int, report: Report
) -> None:
    """Check that ranks count from 1 with scores in order, and that no item is nearer than those of drawn items."""
    column, sign = receipt["scale"]["column"], receipt["scale"]["sign"]
    left, right = items[0], items[-1]
    nearest: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        nearest[_key(row["left"])].append(row)
    for name, mine in nearest.items():
        report.expect([row["rank"] for row in mine] == list(range(1, len(mine) + 1)), f"nearest: ranks of {name}")
        scores = [sign * row[column] for row in mine]
        report.expect(scores == sorted(scores, reverse=True), f"nearest: {name} has scores out of order")
        others = {_key(row["right"]) for row in mine}
        report.expect(len(others) == len(mine), f"nearest: an item is listed twice for {name}")
    drawn = random.Random(receipt["seal"]).sample(sorted(nearest), min(audit, len(nearest)))
    for name in drawn:
        others = {_key(row["right"]) for row in nearest[name]}
        least = sign * nearest[name][-1][column]
        nearer = [
            other for other, item in right.items()
            if other not in others and item is not None and (other != name or right is not left)
            and sign * _scored(score, left[name], item) > least + RELATIVE_ERROR * max(1.0, abs(least))
        ]  # fmt: skip
        report.expect(not nearer, f"nearest: {nearer[:1]} is nearer to {name} than the last one listed")
    report.checked.append(("items with ranks in order", len(nearest)))
    if drawn:
        report.checked.append(("drawn items compared with all others", len(drawn)))


def _scored(score: Callable[[Any, Any], float], left: Any, right: Any) -> float:
    try:
        return score(left, right)
    except ZeroDivisionError:  # a vector of zeros has no direction
        return math.nan


def _set_score(job: dict[str, Any], common: frozenset[Any] = frozenset()) -> Score:
    rule, measure = job["rule"], job["measure"]
    known: dict[Any, set[Any]] = {}

    def shingles(item: Any) -> set[Any]:
        if not isinstance(item, str):
            return _shingles(item, rule) - common
        if item not in known:
            known[item] = _shingles(item, rule) - common
        return known[item]

    def score(left: Any, right: Any) -> float:
        a, b = shingles(left), shingles(right)
        shared = len(a & b)
        if not shared:
            return 0.0
        return {
            "jaccard": lambda: shared / len(a | b),
            "containment": lambda: shared / min(len(a), len(b)),
            "dice": lambda: 2 * shared / (len(a) + len(b)),
            "cosine": lambda: shared / math.sqrt(len(a) * len(b)),
            "overlap": lambda: float(shared),
        }[measure]()

    return score


def _shingles(text: Any, rule: dict[str, Any]) -> set[Any]:
    tokens = list(text) if rule["unit"] == "token" else _tokens(text, rule)
    k = min(rule["k"], len(tokens))
    runs = Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1)) if tokens else Counter()
    return {(run, i) for run, count in runs.items() for i in range(count)} if rule["bag"] else set(runs)


def _tokens(text: str, rule: dict[str, Any]) -> list[Any]:
    if rule["normalize"] != "none":
        text = unicodedata.normalize(rule["normalize"], text)
    if rule["unit"] == "byte":
        return list(text.encode())
    if rule["unit"] == "word":
        return _words(text, rule)
    if rule["unit"] == "line":
        lines = ("".join(_folded(char, rule) for char in line) for line in text.split("\n") if line.strip())
        return [" ".join(line.split()) if rule["squeeze_space"] else line for line in lines]
    if rule["ignore_punctuation"]:
        text = "".join(char for char in text if unicodedata.category(char)[0] not in "PS")
    text = "".join(_folded(char, rule) for char in text)
    return list(" ".join(text.split()) if rule["squeeze_space"] else text)


def _folded(char: str, rule: dict[str, Any]) -> str:
    if rule["strip_accents"]:
        parts = unicodedata.normalize("NFD", char)
        bare = "".join(part for part in parts if not _is_accent(ord(part)))
        char = char if bare == parts else unicodedata.normalize("NFC", bare)
    return char.casefold() if rule["fold_case"] else char


def _is_accent(code: int) -> bool:
    ranges = ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))
    return any(low <= code <= high for low, high in ranges)


IDEOGRAPHS = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA",
)  # fmt: skip
OTHER_IDEOGRAPHS = "々〆〇〡〢〣〤〥〦〧〨〩〸〹〺〻"


def _words(text: str, rule: dict[str, Any]) -> list[str]:
    """Return runs of alphanumerics, marks and underscores; ideographs and kana are words by themselves."""
    out, after_ideograph = [""], False
    for char in text:
        mark = unicodedata.category(char).startswith("M")
        if not (mark or char == "_" or char.isalnum()):
            out.append("")
            after_ideograph = False
            continue
        single = char.isalnum() and (char in OTHER_IDEOGRAPHS or unicodedata.name(char, "").startswith(IDEOGRAPHS))
        if mark or not (after_ideograph or single):
            out[-1] += _folded(char, rule)
        else:
            out.append(_folded(char, rule))
            after_ideograph = single
    return [word for word in out if word]


def _vector_score(job: dict[str, Any]) -> Score:
    def score(left: Sequence[float], right: Sequence[float]) -> float:
        a, b = _as_float32(left), _as_float32(right)
        if job["measure"] == "distance":
            return math.dist(a, b)
        cosine = math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
        cosine = max(-1.0, min(1.0, cosine))
        if job["measure"] == "cosine":
            return cosine
        apart = math.hypot(*(x / math.hypot(*a) - y / math.hypot(*b) for x, y in zip(a, b, strict=True)))
        return math.degrees(2 * math.asin(min(1.0, apart / 2)))  # exact for small angles, unlike the arc cosine

    return score


def _as_float32(numbers: Sequence[float]) -> list[float]:
    floats: list[float] = pa.array(numbers, pa.float32()).to_pylist()
    return floats


def _string_score(job: dict[str, Any]) -> Score:
    def score(left: str, right: str) -> float:
        left, right = ("".join(_folded(char, job) for char in text) for text in (left, right))
        row = list(range(len(right) + 1))
        for i, a in enumerate(left, 1):
            diagonal, row[0] = row[0], i
            for j, b in enumerate(right, 1):
                replaced = diagonal + (a != b) * (1 if job["measure"] == "levenshtein" else 2)
                diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, replaced)
        if not job["by_similarity"]:
            return float(row[-1])
        longest = max(len(left), len(right)) if job["measure"] == "levenshtein" else len(left) + len(right)
        return 1 - row[-1] / longest if longest else 1.0

    return score


def _face_score(job: dict[str, Any]) -> Score:
    def score(left: Sequence[float], right: Sequence[float]) -> float:
        both = list(zip(_as_float32(left), _as_float32(right), strict=True))
        return sum(1 for x, y in both if abs(x - y) <= job["tolerance"]) / len(both)

    return score


def _code_score(_: dict[str, Any]) -> Score:
    return lambda left, right: float((left ^ right).bit_count())


STEM = 6  # letters of a word that count in the search for rewordings


SCORES: dict[str, Callable[[dict[str, Any]], Score]] = {
    "documents": _set_score,
    "vectors": _vector_score,
    "strings": _string_score,
    "baskets": _set_score,
    "items": _set_score,  # of baskets, each as the set of its baskets
    "faces": _face_score,
    "codes": _code_score,
}


# Records: the similarity of each field, and the score from the weights or match weights in the receipt


CONVERTED_UNITS = {  # each unit with the one that it is converted to, and the factor
    "tb": ("gb", 1000), "gb": ("gb", 1), "mb": ("mb", 1), "kg": ("g", 1000), "g": ("g", 1), "mg": ("mg", 1),
    "oz": ("oz", 1), "lb": ("lb", 1), "lbs": ("lb", 1), "l": ("ml", 1000), "cl": ("ml", 10), "ml": ("ml", 1),
    "km": ("km", 1), "cm": ("mm", 10), "mm": ("mm", 1), "inch": ("in", 1), "inches": ("in", 1), "in": ("in", 1),
    '"': ("in", 1), "ghz": ("mhz", 1000), "mhz": ("mhz", 1), "kw": ("w", 1000), "watt": ("w", 1), "w": ("w", 1),
    "mp": ("mp", 1), "megapixel": ("mp", 1), "mah": ("mah", 1),
}  # fmt: skip
NAMES_OF_UNITS = "|".join(sorted(map(re.escape, CONVERTED_UNITS), key=len, reverse=True))
NUMBER_WITH_UNIT = re.compile(rf"(?<![\w.])(\d+(?:[.,]\d+)?)([ -])?({NAMES_OF_UNITS})(?!\w)", re.IGNORECASE)
APART_UNITS = {"in": "", "w": "", "l": "l", "g": "g"}  # apart from the number these are words, or units in lower case
MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
LEVEL_EDGES = (0.2, 0.4, 0.6, 0.75, 0.88, 0.999)
AGREEMENT = 4  # the level from which fields agree
INITIAL_LIKENESS, LETTERS_IN_WORD, SHARE_OF_WEIGHTS, RIVAL_SHARE = 0.9, 64, 0.3, 1.5
RECORD_ERROR = 1e-5  # of a score that the engine computes in 32 bits


def _float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _quantities(text: str) -> str:
    """Write numbers with units as one word in a common unit."""

    def joined(found: re.Match[str]) -> str:
        if found[2] == " " and found[3] != APART_UNITS.get(found[3].lower(), found[3]):
            return found[0]
        unit, factor = CONVERTED_UNITS[found[3].lower()]
        return f"{float(found[1].replace(',', '.')) * factor:g}".replace(".", "p") + unit

    return NUMBER_WITH_UNIT.sub(joined, text)


def _codes(text: str) -> str:
    """Return the model numbers and other codes of a text, each once."""
    found: dict[str, None] = {}
    for word in re.findall(r"[^\W_]+(?:[-/.][^\W_]+)*", _quantities(re.sub(r"\S+@\S+", " ", text)).lower()):
        for code in (re.sub("[-/.]", "", word), *re.split("[-/.]", word)):
            digits = sum(letter.isdigit() for letter in code)
            plain = re.fullmatch(rf"\d+(p\d+)?({NAMES_OF_UNITS}|st|nd|rd|th|s|x\d+)", code)
            if digits and len(code) >= 4 and (len(code) >= 5 if digits == len(code) else plain is None):
                found[code] = None
    return " ".join(found)


def _standard_date(text: str) -> str:
    """Return eight digits for a date with a year of four digits, else the text."""
    parts = re.findall(r"\d+|[a-z]{3,}", text.lower())[:3]
    numbers = [
        (MONTH_NAMES.index(part[:3]) + 1 if part[:3] in MONTH_NAMES else 0) if part[0].isalpha() else int(part)
        for part in parts
    ]
    if len(parts) < 3 or 0 in numbers:
        return text
    if len(parts[0]) == 4 and not parts[0].isalpha():
        year, month, day = numbers
    elif len(parts[2]) == 4 and not parts[2].isalpha():
        day, month, year = numbers
        if parts[0].isalpha() or month > 12 >= day:
            day, month = month, day
    else:
        return text
    return f"{year:04d}{month:02d}{day:02d}" if 1 <= month <= 12 and 1 <= day <= 31 else text


def _folded_value(text: str, *, compact: bool) -> str:
    """Return the folded letters of a value, with a blank between words; apostrophes are left out."""
    out, gap = "", False
    for char in text:
        mark = unicodedata.category(char).startswith("M")
        if not (mark or char.isalnum()):
            gap = gap or char not in "'`\u00b4\u2019\u02bc"
            continue
        single = char.isalnum() and (char in OTHER_IDEOGRAPHS or unicodedata.name(char, "").startswith(IDEOGRAPHS))
        if (gap or single) and out and not compact and out[-1] != " ":
            out += " "
        gap = single
        out += _folded(char, {"strip_accents": True, "fold_case": True})
    return out


def _number_of(text: str) -> float:
    plain = re.sub(r"[^0-9.\-]", "", text)
    return float(plain) if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)", plain) else math.nan


def _edit_distance(a: str, b: str) -> int:
    """Return the edits, of which one may exchange neighbouring letters."""
    before, last = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j - 1] + (x != y), last[j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _allowed_edits(longer: int) -> int:
    return 0 if longer < 3 else 1 if longer < 6 else 2 if longer < 10 else 3


def _word_likeness(a: str, b: str) -> float:
    has_digit = any("0" <= letter <= "9" for letter in a + b)
    if min(len(a), len(b)) == 1:
        return INITIAL_LIKENESS if a[0] == b[0] and not has_digit else 0.0
    longer = max(len(a), len(b))
    most = _allowed_edits(longer)
    if most == 0 or abs(len(a) - len(b)) > most or has_digit or longer > LETTERS_IN_WORD:
        return 0.0
    edits = _edit_distance(a, b)
    return 0.0 if edits > most else 1 - edits / longer


def _joined_words(
    a: list[str], free_a: list[bool], b: list[str], free_b: list[bool], weight: Callable[[str], float]
) -> float:
    """Match two neighbouring words of one value with one of the other; return what they share."""
    here = there = 0.0
    for i in range(len(a) - 1):
        for j in range(len(b)) if free_a[i] and free_a[i + 1] else ():
            if free_b[j] and b[j] == a[i] + a[i + 1]:
                free_b[j] = free_a[i] = free_a[i + 1] = False
                here, there = here + weight(a[i]) + weight(a[i + 1]), there + weight(b[j])
                break
    return math.sqrt(here * there)


def _words_likeness(a: list[str], b: list[str], weight: Callable[[str], float]) -> float:
    """Return the cosine of weighted words: equal ones first, then joined ones, then those with few edits."""
    if len(a) == 1 == len(b) and a != b and min(weight(a[0]), weight(b[0])) > 0:
        return _word_likeness(a[0], b[0])
    shared, all_a, all_b = 0.0, sum(map(weight, a)), sum(map(weight, b))
    free_a, free_b = [True] * len(a), [True] * len(b)
    for i, word in enumerate(a):
        for j, other in enumerate(b):
            if free_b[j] and word == other:
                free_a[i] = free_b[j] = False
                shared += weight(word)
                break
    if any(free_a):
        shared += _joined_words(a, free_a, b, free_b, weight) + _joined_words(b, free_b, a, free_a, weight)
    for word in (word for i, word in enumerate(a) if free_a[i]):
        best, place = 0.0, -1
        for j, other in enumerate(b):
            if free_b[j] and (likeness := _word_likeness(word, other)) > best:
                best, place = likeness, j
        if place >= 0:
            free_b[place] = False
            mine, theirs = weight(word), weight(b[place])
            all_a, all_b = all_a - mine + min(mine, theirs), all_b - theirs + min(mine, theirs)
            shared += best * min(mine, theirs)
    both = math.sqrt(max(all_a * all_b, 0.0))
    return min(1.0, shared / both) if both > 0 else float(a == b)


class _RecordModel:
    """All records, and the similarities of two of them. values: by record, the folded value of each field, or None."""

    def __init__(self, receipt: Row, items: Sequence[dict[str, Any]]) -> None:
        self.rules, job = receipt["job"]["rules"], receipt["job"]
        self.fields = self.rules["fields"]
        if any(f["compare"] in ("edit", "jaro_winkler", "token_set", "token_sort") for f in self.fields):
            raise Unreadable("comparisons of another library are not computed by this program.")
        if any("weight" not in f and "bits" not in f for f in self.fields):
            raise Unreadable("the scores are those of pairs that were given.")
        self.across = len(items) == 2 and items[0] is not items[1]
        rows = [(side, name, row) for side, one in enumerate(items) for name, row in one.items()]
        self.values: dict[tuple[int, str], list[str | None]] = {(side, name): [] for side, name, _ in rows}
        self.numbers: list[dict[str, float]] = []
        for rule in self.fields:
            texts = self._texts(rule, [row for _, _, row in rows])
            folded = [self._value(rule, text) for text in texts]
            for (side, name, _), value in zip(rows, folded, strict=True):
                self.values[side, name].append(value)
            known = zip(folded, texts, strict=True)
            self.numbers.append({v: _number_of(t or "") for v, t in known if v} if rule["compare"] == "number" else {})
        everyone = [(side, tuple(self.values[side, name])) for side, name, _ in rows if any(self.values[side, name])]
        collapsed = not job["one_to_one"] and job["blocking"] is None and not receipt.get("limited")
        self.classes = list(dict.fromkeys(everyone)) if collapsed else everyone
        self.word_weights = [self._rarity([values[n] for _, values in everyone]) for n in range(len(self.fields))]
        self.whole_weights = self._rarity(
            [" ".join(word for value in values if value for word in _words_of(value)) for _, values in self.classes]
        )
        self.frequency = [self._frequencies(n) for n in range(len(self.fields))]

    def _texts(self, field: Row, rows: list[Row]) -> list[str | None]:
        columns = [_as_texts([row.get(name) for row in rows]) for name in field.get("sources") or [field["column"]]]
        if not field.get("sources"):
            return columns[0]
        return [_codes(" ".join(filter(None, row))) or None for row in zip(*columns, strict=True)]

    def _value(self, field: Row, text: str | None) -> str | None:
        kind = field["compare"]
        whole = text or ""
        if kind == "date":
            whole = _standard_date(whole)
        elif kind == "words":
            whole = _quantities(whole)
        value = _folded_value(whole, compact=kind in ("code", "date", "number"))
        return (f"{value}\0{_number_of(text or '')}" if kind == "number" else value) if value else None

    @staticmethod
    def _rarity(values: list[str | None]) -> Callable[[str], float]:
        held = Counter(word for value in values if value for word in _words_of(value))
        n = sum(1 for value in values if value is not None)
        known = {word: _float32(math.log2((n + 1) / count) ** 2) for word, count in held.items()}
        return known.__getitem__

    def _frequencies(self, n: int) -> Callable[[str], float]:
        """Return the term-frequency adjustment: the share of equal pairs over that of the records with the value."""
        held = [Counter(v[n] for of, v in self.classes if v[n] and of == side) for side in (0, 1)]
        both = held[0] + held[1]
        total = both.total()
        if self.across:
            known, equal = (
                float(held[0].total() * held[1].total()),
                float(sum(held[0][v] * held[1][v] for v in held[0])),
            )
        else:
            known, equal = total * (total - 1) / 2, sum(c * (c - 1) for c in both.values()) / 2
        usual = max(equal, 0.5) / max(known, 1)
        return lambda value: _float32(math.log2(usual / (max(both[value] - 2, 0.5) / max(total - 1.0, 1.0))))

    def similarity(self, n: int, a: str | None, b: str | None) -> float:
        """Return the similarity of two values of a field; NaN if one is missing."""
        kind = self.fields[n]["compare"]
        if a is None or b is None:
            return math.nan
        if a == b:
            return 1.0
        if kind == "words":
            return _words_likeness(a.split(), b.split(), self.word_weights[n])
        if kind == "codes":
            one, other = (sum(map(self.word_weights[n], value.split())) for value in (a, b))
            shared = sum(map(self.word_weights[n], set(a.split()) & set(b.split())))
            return shared / min(one, other) if min(one, other) > 0 else 0.0
        if kind == "number":
            x, y = self.numbers[n][a], self.numbers[n][b]
            larger = max(abs(x), abs(y))
            near = 1 - abs(x - y) / larger if larger > 0 else 0.0
            return 0.0 if math.isnan(near) else max(0.0, min(1.0, near))
        if kind == "exact":
            return 0.0
        most = _allowed_edits(max(len(a), len(b)))
        edits = _edit_distance(a, b) if max(len(a), len(b)) <= LETTERS_IN_WORD else most + 1
        likeness = 0.0 if most == 0 else 1 - min(edits, most + 1) / (most + 1)
        return max(likeness, _dates_likeness(a, b)) if kind == "date" else likeness

    def whole(self, a: Sequence[str | None], b: Sequence[str | None]) -> float:
        """Return the cosine of the weighted words of two records."""
        one, other = ({word for value in values if value for word in _words_of(value)} for values in (a, b))
        all_a, all_b, shared = (math.fsum(map(self.whole_weights, words)) for words in (one, other, one & other))
        return shared / math.sqrt(all_a * all_b) if all_a * all_b > 0 else 0.0

    def parts(self, a: Sequence[str | None], b: Sequence[str | None]) -> tuple[float, dict[str, float]]:
        """Return the score without competing pairs, and what each field contributes to it."""
        seen = [_float32(self.similarity(n, x, y)) for n, (x, y) in enumerate(zip(a, b, strict=True))]
        if self.rules.get("prior") is not None:
            return self._match_weights(seen, a, b)
        weights, share = [field["weight"] for field in self.fields], self.rules["whole"]
        there = sum(w for w, one in zip(weights, seen, strict=True) if not math.isnan(one))
        scale = min(1.0, there / max(sum(weights), 1e-9) / SHARE_OF_WEIGHTS)
        made = {
            field["column"]: math.nan if math.isnan(one) else (1 - share) * scale * w * one / max(there, 1e-9)
            for field, w, one in zip(self.fields, weights, seen, strict=True)
        }
        if share > 0:
            made["(whole record)"] = share * scale * self.whole(a, b)
        return sum(part for part in made.values() if not math.isnan(part)), made

    def _match_weights(
        self, seen: list[float], a: Sequence[str | None], b: Sequence[str | None]
    ) -> tuple[float, dict[str, float]]:
        edges = [_float32(edge) for edge in LEVEL_EDGES]
        levels = [-1 if math.isnan(one) else sum(one >= edge for edge in edges) for one in seen]
        place = {field["column"]: n for n, field in enumerate(self.fields)}
        adjusted = any(field.get("explained") is not None for field in self.fields)
        made = {}
        for n, (rule, level) in enumerate(zip(self.fields, levels, strict=True)):
            if level < 0:
                made[rule["column"]] = math.nan
                continue
            weight = rule["bits"][level]
            if adjusted and a[n] == b[n]:
                weight += self.frequency[n](a[n] or "")
            less = sum(
                lift[level] for by, lift in (rule.get("explained") or {}).items()
                if by in place and levels[place[by]] >= AGREEMENT
            )  # fmt: skip
            made[rule["column"]] = max(min(weight, 0.0), min(max(weight, 0.0), weight - less))
        bits = self.rules["prior"] + sum(part for part in made.values() if not math.isnan(part))
        return 1 / (1 + 2.0 ** -max(-60.0, min(60.0, bits))), made


def _words_of(value: str) -> set[str]:
    return set(value.partition("\0")[0].split())  # a number follows its digits


def _dates_likeness(a: str, b: str) -> float:
    """Return 0.9 for neighbouring days, down to 0 after a month."""
    try:
        one, other = (datetime.date(int(text[:4]), int(text[4:6]), int(text[6:])) for text in (a, b) if len(text) == 8)
    except ValueError:
        return 0.0
    return 0.9 * max(0.0, min(1.0, 1 - (abs((one - other).days) - 1) / 31))


def _as_texts(values: list[Any]) -> list[str | None]:
    """Return plain values as texts, whole numbers without a fraction."""
    if all(value is None or isinstance(value, str) for value in values):
        return values
    column = pa.array(values)
    if pa.types.is_floating(column.type) and all(value is None or value == round(value) for value in values):
        column = column.cast(pa.int64())
    texts: list[str | None] = column.cast(pa.large_string()).to_pylist()
    return texts


def _check_records(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], sample: int | None,
    report: Report,
) -> None:  # fmt: skip
    """Compute the contribution of each field and the score again; competing pairs may lower scores."""
    model, column = _RecordModel(receipt, items), receipt["scale"]["column"]
    rivals = model.rules["rivals"] if model.rules.get("prior") is None else False
    has_rivals = rivals == "each" or (model.across and rivals is not False)
    draw = random.Random(receipt["seal"])
    for name, ours, theirs in (("pairs", "left", "right"), ("removed", "id", "kept")):
        rows = tables.get(name, [])
        for row in rows if sample is None or len(rows) <= sample else draw.sample(rows, sample):
            a, b = model.values.get((0, _key(row[ours]))), model.values.get((int(model.across), _key(row[theirs])))
            if a is None or b is None:
                continue
            expected, made = model.parts(a, b)
            if a == b:
                expected = 1.0
            stated, who = float(row[column]), f"{name}: {row[ours]}, {row[theirs]}"
            if has_rivals:
                made = {named: part / RIVAL_SHARE for named, part in made.items()}
            else:
                near = math.isclose(expected, stated, rel_tol=RECORD_ERROR, abs_tol=RECORD_ERROR)
                report.expect(near, f"{who} have the {column} {stated}, computed {expected}")
            for name_of, part in made.items() if made.keys() <= row.keys() else ():
                given = math.nan if row[name_of] in (None, "") else float(row[name_of])
                near = math.isclose(part, given, rel_tol=RECORD_ERROR, abs_tol=RECORD_ERROR)
                both = math.isnan(part) and math.isnan(given)
                report.expect(near or both, f"{who}: {name_of!r} contributes {given}, computed {part}")
        if rows:
            what = "contributions of fields" if has_rivals else "scores and contributions of fields"
            report.checked.append((f"{what} of {name} computed again, of {len(rows):,}",
                                   len(rows) if sample is None else min(sample, len(rows))))  # fmt: skip
    if has_rivals:
        report.unchecked.append("how far competing pairs lower each score: they are not all in the result")


# Passages, texts without repeats, and files of verdicts


def _check_passages(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], sample: int | None,
    report: Report,
) -> None:  # fmt: skip
    """Check that both sides of each passage have its tokens, that it is long enough, and the sums of each pair."""
    job = receipt["job"]
    if job["language"] is not None:
        raise Unreadable("source code is not split into tokens by this program.")
    rule = {"fold_case": job["fold_case"], "strip_accents": job["strip_accents"]}
    rows = tables["passages"]
    report.expect(len(rows) == receipt["counts"]["passages"], "passages: their number differs from the receipt")
    if "pairs" in tables:  # a result in one file has only the passages
        _check_passage_pairs(receipt, tables, items, rule, report)
    chosen = rows if sample is None or len(rows) <= sample else random.Random(receipt["seal"]).sample(rows, sample)
    for row in chosen:
        name = f"passages: {row['left']}, {row['right']} at {row['left_start']}"
        texts = items[0].get(_key(row["left"])), items[-1].get(_key(row["right"]))
        if texts[0] is None or texts[1] is None:
            report.problems.append(f"{name}: the ids are not in the input")
            continue
        a = _words(texts[0][row["left_start"] : row["left_end"]], rule)
        b = _words(texts[1][row["right_start"] : row["right_end"]], rule)
        if job.get("reworded"):
            equal = sum((Counter(word[:STEM] for word in a) & Counter(word[:STEM] for word in b)).values())
            report.expect(row["tokens"] == equal, f"{name}: {equal} words on both sides, {row['tokens']} stated")
            continue
        shared = len(a) if a == b else _common_length(a, b) if job["gap"] else 0
        report.expect(
            job["min_tokens"] <= row["tokens"] <= shared, f"{name}: {shared} equal words, {row['tokens']} stated"
        )
        if not job["gap"]:
            report.expect(row["tokens"] == shared, f"{name}: {shared} equal words, {row['tokens']} stated")
    unchecked = ", without their scores" if job.get("reworded") else ""
    report.checked.append((f"passages read again in both texts, of {len(rows):,}{unchecked}", len(chosen)))


def _check_passage_pairs(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], rule: dict[str, Any],
    report: Report,
) -> None:  # fmt: skip
    """Check that each pair of documents has the passages and shares that its row states."""
    job, rows = receipt["job"], tables["passages"]
    report.expect(len(tables["pairs"]) == receipt["counts"]["pairs"], "pairs: their number differs from the receipt")
    count: Counter[tuple[str, str]] = Counter((_key(row["left"]), _key(row["right"])) for row in rows)
    for row in tables["pairs"]:
        here = count.pop((_key(row["left"]), _key(row["right"])), 0)
        report.expect(row["passages"] == here, f"pairs: {row['left']}, {row['right']} have {here} passages")
        report.expect(row["longest"] <= row["shared_tokens"] >= 1, f"pairs: {row['left']}, {row['right']} do not fit")
        if not (job["gap"] or job.get("reworded")) and job["max_share"] is None and not receipt["boilerplate"]:
            _check_shares(row, items, rule, report)
    report.expect(not count, f"passages: {len(count)} pairs are not in the table of pairs")


def _check_shares(row: Row, items: Sequence[dict[str, Any]], rule: dict[str, Any], report: Report) -> None:
    for name, text, share in (
        ("left", items[0].get(_key(row["left"])), row["left_in_right"]),
        ("right", items[-1].get(_key(row["right"])), row["right_in_left"]),
    ):
        total = len(_words(text or "", rule))
        tokens = share * total
        fits = abs(tokens - round(tokens)) < RELATIVE_ERROR * max(1, total) and tokens >= row["shared_tokens"] - 0.5
        report.expect(fits, f"pairs: the share {share} of {name} {row[name]!r} does not fit its {total} words")


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(row[j], before[j + 1]))
        before = row
    return before[-1]


def _check_scrub(
    receipt: dict[str, Any], path: Path, tables: dict[str, list[Row]], folder: Path | None, report: Report
) -> None:
    """Check that the output and the removed texts make the input: every row, and every character of its text."""
    source = receipt["inputs"][0]
    if "kept" not in tables or "removed" not in tables:
        raise Unreadable("there is no table of removed text.")
    files, column = _files_of(source, folder), source["text"]
    if _is_folder_of_texts(files, source):
        given = [{"text": _opened(file).decode()} for file in files]
    else:
        given = [row for file in files for row in _rows(file, source)]
    cuts: dict[int, list[Row]] = defaultdict(list)
    for row in tables["removed"]:
        cuts[row["row"]].append(row)
    output = iter(tables["kept"])
    for number, row in enumerate(given):
        gone = cuts.pop(number, [])
        rest, at, text = "", 0, row[column] or ""
        for cut in gone:
            report.expect(
                text[cut["start"] : cut["end"]] == cut["text"] and at <= cut["start"] < cut["end"] <= len(text),
                f"removed: row {number} does not have its text at {cut['start']}",
            )
            rest, at = rest + text[at : cut["start"]], cut["end"]
            encoded = len(text[: cut["start"]].encode()), len(text[: cut["end"]].encode())
            report.expect(encoded == (cut["start_byte"], cut["end_byte"]), f"removed: row {number} has other bytes")
        if any(cut["dropped_row"] is not None for cut in gone):
            continue
        made = next(output, {column: None})
        report.expect(
            made == {**row, column: rest + text[at:]} or (row[column] is None and made[column] is None),
            f"kept: row {number} is not the input without what was removed",
        )
    report.expect(not cuts and next(output, None) is None, "there are more rows than the input has")
    counts = receipt["counts"]
    touched = len({row["row"] for row in tables["removed"]})
    report.expect(len(given) == counts["documents"], f"the input has {len(given)} rows, {counts['documents']} counted")
    report.expect(
        counts["cuts"] == len(tables["removed"]), f"removed: {len(tables['removed'])} rows are not as counted"
    )
    report.expect(counts["documents_cut"] == touched, f"removed: {touched} documents are not as counted")
    total = sum(row["tokens"] for row in tables["removed"])
    report.expect(counts["tokens_removed"] == total, f"removed: {total} tokens, {counts['tokens_removed']} counted")
    report.checked.append(("rows of the input made again", len(given)))


def _is_verdict_file(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return handle.readline().startswith(b'{"format": "lookalike verdicts"')


def _check_chain(path: Path, report: Report) -> None:
    """Check that each line of a file of verdicts has the hash of itself and of the hash before it."""
    lines = path.read_bytes().split(b"\n")
    before, unsealed = hashlib.sha256(lines[0]).hexdigest(), 0
    for number, line in enumerate(lines[1:-1], 2):
        head, mark, tail = line.rpartition(b', "chain": "')
        if not mark:
            unsealed += 1
            before = hashlib.sha256(before.encode() + line).hexdigest()
            continue
        expected = hashlib.sha256(before.encode() + head + b"}").hexdigest()
        report.expect(tail == expected.encode() + b'"}', f"line {number}: it, or one before it, was changed or removed")
        before = expected
    report.expect(lines[-1] == b"", f"line {len(lines)} is not complete")
    if unsealed:
        report.unchecked.append(f"{unsealed} lines without a hash, which another program wrote")
    report.checked.append(("verdicts, each with the hash of what came before it", max(0, len(lines) - 2 - unsealed)))


def lines_of(report: Report) -> Iterator[str]:
    """Yield the report as lines for a terminal."""
    for what, number in report.checked:
        yield f"Checked  {number:,} {what}"
    for what in report.unchecked:
        yield f"Skipped  {what}"
    for problem in report.problems[:SHOWN_PROBLEMS]:
        yield f"Wrong    {problem}"
    if len(report.problems) > SHOWN_PROBLEMS:
        yield f"Wrong    and {len(report.problems) - SHOWN_PROBLEMS:,} more"
    yield "Result   " + (
        "differs from its receipt or its inputs" if report.problems else "agrees with what was checked"
    )


def main(arguments: Sequence[str]) -> int:
    """Run the check from the command line; exit code 0 if nothing is wrong, 1 if something is, 2 if it cannot run."""
    if len(arguments) not in (1, 2) or list(arguments[1:]) not in ([], ["all"]):
        sys.stderr.write(f"{(__doc__ or '').splitlines()[0]}\n")
        return 2
    try:
        report = check_result(Path(arguments[0]), sample=None if arguments[1:] else PLAIN_SAMPLE)
    except Unreadable as reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    sys.stdout.write("".join(line + "\n" for line in lines_of(report)))
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
