"""Check a result against its inputs, without any code of the engine: python recheck.py RESULT [all]

This file uses the standard library and pyarrow only, so that it can be read in one sitting, copied and run by itself.
It computes every score from the rules that the documentation gives, in the plainest way.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import math
import random
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

SEAL = "0" * 64  # replaces the seal while the receipt is hashed
CHECKED_TABLES = {"pairs": "pairs", "groups": "groups", "dedup": "kept"}  # what was asked, and the table of the answer
PLAIN_SAMPLE = 1000  # pairs whose scores are computed again by default
SHOWN_PROBLEMS = 20
RELATIVE_ERROR = 1e-6  # of a score in floating point; counts and ratios of integers are compared more strictly

Row = dict[str, Any]


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


def check_result(path: Path, *, sample: int | None = PLAIN_SAMPLE, folder: Path | None = None) -> Report:
    """Check a result folder, or a file with its receipt. sample: pairs to score again; None for all of them.

    folder: where the inputs are now, if they were moved.
    """
    report = Report()
    receipt, tables = _read_result(path, report)
    try:
        _check_tables(receipt, tables, report)
        items = [_items(source, receipt, folder) for source in receipt["inputs"]]
        _check_ids(tables, items, report)
        _check_scores(receipt, tables, items, sample, report)
    except Unreadable as reason:
        report.unchecked.append(f"scores and ids: {reason}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a receipt or table of another shape
        report.problems.append(f"the receipt and the tables do not fit together ({type(error).__name__}: {error})")
    return report


# The result: its seal, its tables, and what they say about each other


def _read_result(path: Path, report: Report) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """Read the receipt and the tables, and compare both with the hashes in the receipt."""
    receipt_file = path / "receipt.json" if path.is_dir() else path.with_name(path.name + ".receipt.json")
    if not receipt_file.is_file():
        raise Unreadable(f"{receipt_file} is missing; expected a result folder, or a file with its receipt.")
    text = receipt_file.read_bytes()
    try:
        receipt = json.loads(text)
        seal, outputs = receipt["seal"], dict(receipt["outputs"])
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{receipt_file} is not a sealed receipt ({type(error).__name__}: {error}).") from error
    if receipt.get("asked") not in CHECKED_TABLES:
        raise Unreadable(
            f"{receipt_file} is of `{receipt.get('asked')}`; expected the result of {', '.join(CHECKED_TABLES)}."
        )
    unsealed = text.replace(str(seal).encode(), SEAL.encode())
    report.expect(hashlib.sha256(unsealed).hexdigest() == seal, f"{receipt_file.name}: its bytes differ from its seal")
    tables = {}
    for name, known in outputs.items():
        file = receipt_file.parent / name
        if not file.is_file():
            report.problems.append(f"{name} is missing")
            continue
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if digest != known["sha256"]:
            report.problems.append(f"{name}: its bytes differ from those that the receipt names")
            continue
        table = CHECKED_TABLES[receipt["asked"]]
        if path.is_dir():
            table = file.stem
        elif name != path.name:
            table = "removed"
        try:
            tables[table] = list(_rows(file))
        except Exception as error:  # a damaged file raises errors of many types
            report.problems.append(f"{name} cannot be read: {type(error).__name__}")
    extra = {file.name for file in path.glob("*.parquet")} - outputs.keys() if path.is_dir() else set()
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


def _items(source: dict[str, Any], receipt: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the item of each id of an input: a text, a list of tokens, or a list of numbers."""
    origin = source.get("origin")
    if not origin:
        raise Unreadable("the input was in memory, not in files.")
    if receipt["items"] not in SCORES:
        raise Unreadable(f"scores of {receipt['items']} are not computed by this program.")
    paths = [(folder or Path(origin["folder"])) / path for path in origin["paths"]]
    if len(paths) != 1 or not paths[0].exists():
        raise Unreadable(f"{', '.join(map(str, paths))}: expected one file or folder that is still there.")
    if paths[0].is_dir():
        return _folder_items(paths[0])
    stat = paths[0].stat()
    if (stat.st_size, stat.st_mtime_ns) != (origin["bytes"], origin["newest"]):
        raise Unreadable(f"{paths[0]} has changed since the run.")
    column, ids = source.get("text") or source.get("vectors"), source.get("id")
    items = {}
    for number, row in enumerate(_rows(paths[0])):
        name = next(iter(row)) if column is None else column
        items[_key(number if ids is None else row[ids])] = row.get(name)
    return items


def _folder_items(folder: Path) -> dict[str, Any]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    return {file.relative_to(folder).as_posix(): _opened(file).decode() for file in files}


def _opened(file: Path) -> bytes:
    data = file.read_bytes()
    return gzip.decompress(data) if file.suffix == ".gz" else data


def _rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a table."""
    suffixes = [suffix for suffix in file.suffixes if suffix != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    if suffix == ".parquet":
        for batch in pq.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    elif suffix in (".jsonl", ".ndjson"):
        for line in _opened(file).splitlines():
            if line.strip():
                yield json.loads(line)
    elif suffix in (".csv", ".tsv"):
        text = io.StringIO(_opened(file).decode("utf-8-sig"), newline="")
        yield from csv.DictReader(text, delimiter="\t" if suffix == ".tsv" else ",")
    elif suffix == ".txt":
        for document in _opened(file).decode().removesuffix("\n").split("\n"):
            yield {"text": document.removesuffix("\r")}
    elif suffix in (".arrow", ".feather"):
        yield from pyarrow.feather.read_table(file).to_pylist()
    else:
        raise Unreadable(f"{file.name}: its format is not read by this program.")


# The scores, from the rules


def _check_ids(tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], report: Report) -> None:
    left, right = items[0], items[-1]
    for name, column, known in (
        ("pairs", "left", left), ("pairs", "right", right), ("groups", "id", left), ("removed", "id", left),
        ("removed", "kept", right),
    ):  # fmt: skip
        unknown = [row[column] for row in tables.get(name, ()) if _key(row[column]) not in known]
        report.expect(not unknown, f"{name}: {len(unknown)} ids in {column} are not in the input, first {unknown[:1]}")


def _check_scores(
    receipt: dict[str, Any], tables: dict[str, list[Row]], items: Sequence[dict[str, Any]], sample: int | None,
    report: Report,
) -> None:  # fmt: skip
    """Compute scores again: all, or a sample that the seal of the receipt determines."""
    score, column = SCORES[receipt["items"]](receipt["job"]), receipt["scale"]["column"]
    draw = random.Random(receipt["seal"])
    for name, ours, theirs in (("pairs", "left", "right"), ("removed", "id", "kept")):
        rows = tables.get(name, [])
        if receipt["job"].get("verify") is False:
            report.unchecked.append(f"scores of {name}: they are estimates from signatures")
            continue
        if receipt["job"].get("max_share") is not None:
            report.unchecked.append(f"scores of {name}: shingles of too many items were left out (max_share)")
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


def _set_score(job: dict[str, Any]) -> Callable[[Any, Any], float]:
    rule, measure = job["rule"], job["measure"]

    def score(left: Any, right: Any) -> float:
        a, b = _shingles(left, rule), _shingles(right, rule)
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


def _vector_score(job: dict[str, Any]) -> Callable[[Any, Any], float]:
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


def _string_score(job: dict[str, Any]) -> Callable[[Any, Any], float]:
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


SCORES: dict[str, Callable[[dict[str, Any]], Callable[[Any, Any], float]]] = {
    "documents": _set_score,
    "vectors": _vector_score,
    "strings": _string_score,
}


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
