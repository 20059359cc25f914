"""Verdicts on pairs of items, in a file of JSON Lines to which lines are only ever appended.

The first line is a header. Every other line is one event: a verdict, the choice of a representative, or the plan of a
sample. A line that a killed process left unfinished is dropped by the next writer and ignored by readers. Each line
that is written here ends in "chain": the SHA-256 of the chain of the line before it and of the line itself.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from lookalike.errors import InputError, OutputError, UsageError, nearest
from lookalike.io import disk
from lookalike.io.paths import kind_of
from lookalike.io.safe_cells import without_apostrophe
from lookalike.io.tables import open_table

Verdict = Literal["same", "different", "unsure"]
Votes = dict[tuple[str, str], dict[str, Mapping[str, Any]]]  # by pair, and by person
VERDICTS = ("same", "different", "unsure")
WITHDRAWN, REPRESENTATIVE = "withdrawn", "representative"
VERDICTS_HEADER = {"format": "lookalike verdicts", "version": 1}
VERDICT_COLUMNS = ("left", "right", "verdict", "by", "at", "note")
FLAG_COLUMNS = ("drawn", "across")
VERDICT_FILES = (".jsonl", ".csv", ".tsv", ".parquet", ".arrow")
TORN = b"\0"  # no byte of JSON; a file system may show it where the power failed before the content was written
CHAIN = b', "chain": "'
TAIL_BYTES = 1 << 14  # bytes at the end of a file that are read to continue its chain
MAX_PAIRS_OF_SETS = 1_000_000  # pairs that the verdicts on sets of items may be about


@dataclass(frozen=True)
class Judged:
    """The verdict in force on one pair of items.

    left, right: ids, as in the file. verdict: same, different, unsure; "contested" if as many people say same as
    different. left_hash, right_hash: hashes of the contents (`io.contents.content_hash`), None if unknown. votes: the
    verdict of each person. drawn: whether the pair was drawn at random. at, note: of the latest verdict. across:
    whether left and right are ids of two tables.
    """

    left: Any
    right: Any
    verdict: str
    left_hash: str | None = None
    right_hash: str | None = None
    votes: Mapping[str, str] = field(default_factory=dict)
    drawn: bool = False
    at: str = ""
    note: str = ""
    across: bool = False


@dataclass(frozen=True)
class VerdictSet:
    """The verdicts in force of one or several files.

    names: of the files. pairs: verdicts on pairs. representatives: (id, content hash) of items that represent their
    groups. plan: the latest plan of a sample, or None.
    """

    names: tuple[str, ...]
    pairs: tuple[Judged, ...]
    representatives: tuple[tuple[Any, str | None], ...] = ()
    plan: Mapping[str, Any] | None = None

    def counts(self) -> dict[str, int]:
        """Return the number of pairs of each verdict."""
        counted = Counter(one.verdict for one in self.pairs)
        return {name: counted[name] for name in (*VERDICTS, "contested") if name in VERDICTS or counted[name]}

    def to_arrow(self) -> pa.Table:
        """Return a table: left, right, verdict, by, at, note; ids are text."""
        rows = [
            (str(one.left), str(one.right), one.verdict, ", ".join(one.votes), one.at, one.note, one.drawn)
            for one in self.pairs
        ]
        columns = list(zip(*rows, strict=True)) if rows else [()] * 7
        kinds = [pa.string()] * 6 + [pa.bool_()]
        named = zip((*VERDICT_COLUMNS, "drawn"), columns, kinds, strict=True)
        return pa.table({name: pa.array(list(values), kind) for name, values, kind in named})


def read_verdicts(source: Any) -> VerdictSet:
    """Read verdicts: a path or several, an Arrow table or a list of dicts with left, right and verdict.

    The latest verdict of a person on a pair counts. Of several people the majority decides, and a tie is contested.

    >>> made = read_verdicts([{"left": 1, "right": 2, "verdict": "same"}])
    >>> made.pairs[0].verdict, made.counts()
    ('same', {'same': 1, 'different': 0, 'unsure': 0})
    """
    if isinstance(source, VerdictSet):
        return source
    if isinstance(source, Verdicts):
        source = source.path
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if isinstance(paths, list | tuple) and all(isinstance(one, str | os.PathLike) for one in paths):
        names = tuple(os.fspath(one) for one in paths)
        return in_force(names, (event for name in names for event in events_of(Path(name))))
    if isinstance(paths, list | tuple):
        return in_force(("the verdicts",), (_checked(dict(row), f"verdict {at + 1}") for at, row in enumerate(paths)))
    return in_force(("the verdicts",), _of_table(paths, "the verdicts"))


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file of verdicts, or the rows of a table of verdicts as events."""
    if not path.is_file():
        raise InputError(f"no such file of verdicts: {path}.")
    if path.suffix.lower() not in VERDICT_FILES:
        raise InputError(f"{path} is no file of verdicts; expected {', '.join(VERDICT_FILES)}.")
    if path.suffix.lower() != ".jsonl":
        return _of_table(path, str(path))
    lines = path.read_bytes().split(b"\n")
    while lines and (TORN in lines[-1] or (not lines[-1] and len(lines) > 1 and TORN in lines[-2])):
        lines.pop()  # the power failed while these were written
    events = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) - 1:  # a writer was killed within the line
                break
            raise InputError(f"{path} line {number + 1} is not JSON ({error}).") from error
        if number == 0 and isinstance(event, dict) and "format" in event:
            _check_header(event, path)
            continue
        events.append(_checked(event, f"{path} line {number + 1}"))
    return events


def in_force(names: tuple[str, ...], events: Iterable[Mapping[str, Any]]) -> VerdictSet:
    """Return the verdicts in force after these events."""
    votes, chosen, plan = votes_of(events)
    pairs = tuple(decided(list(given.values())) for given in votes.values() if given)
    return VerdictSet(names, pairs, tuple(chosen.values()), plan)


def votes_of(events: Iterable[Mapping[str, Any]]) -> tuple[Votes, dict[str, tuple[Any, str | None]], Any]:
    """Return (the latest event of each person on each pair, chosen representatives, the latest plan)."""
    votes: Votes = {}
    chosen: dict[str, tuple[Any, str | None]] = {}
    plan: Mapping[str, Any] | None = None
    for event in events:
        if "plan" in event:
            plan = event["plan"]
        elif event["verdict"] == REPRESENTATIVE:
            chosen[str(event["left"])] = (event["left"], event.get("left_hash"))
        elif event["verdict"] == WITHDRAWN and event.get("right") is None:
            chosen.pop(str(event["left"]), None)
        else:
            for pair in pairs_of(event):
                of_pair = votes.setdefault(pair_key(pair["left"], pair["right"], across=bool(pair.get("across"))), {})
                of_pair.pop(pair.get("by", ""), None)  # the latest is the last
                if pair["verdict"] != WITHDRAWN:
                    of_pair[pair.get("by", "")] = pair
    return votes, chosen, plan


def votes_table(votes: Votes) -> pa.Table:
    """Return a table with a row for the vote of each person on each pair, which `read_verdicts` reads again."""
    rows = [event for given in votes.values() for event in given.values()]
    texts = {name: [str(row.get(name, "")) for row in rows] for name in (*VERDICT_COLUMNS, "left_hash", "right_hash")}
    columns = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    flags = {name: pa.array([bool(row.get(name)) for row in rows], pa.bool_()) for name in FLAG_COLUMNS}
    return pa.table({**columns, **flags})


def pair_key(left: Any, right: Any, *, across: bool = False) -> tuple[str, str]:
    """Return the key of a pair of ids, the same in either order unless they are ids of two tables (`across`)."""
    one, other = str(left), str(right)
    return (one, other) if across or one <= other else (other, one)


def decided(given: Sequence[Mapping[str, Any]]) -> Judged:
    """Return the verdict in force of the votes of several people on one pair, the latest last."""
    counted = Counter(one["verdict"] for one in given)
    same, different = counted["same"], counted["different"]
    verdict = "unsure" if same + different == 0 else "contested" if same == different else "same"
    verdict = "different" if different > same else verdict
    last = given[-1]
    hashes = next((one for one in reversed(given) if one.get("left_hash")), last)
    if str(hashes["left"]) != str(last["left"]):
        hashes = {"left_hash": hashes.get("right_hash"), "right_hash": hashes.get("left_hash")}
    return Judged(
        last["left"], last["right"], verdict, hashes.get("left_hash"), hashes.get("right_hash"),
        {str(one.get("by", "")): one["verdict"] for one in given}, any(one.get("drawn") for one in given),
        str(last.get("at", "")), str(last.get("note", "")), bool(last.get("across")),
    )  # fmt: skip


def pairs_of(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the pairs that a verdict on sets of items is about: same, all of left; different, left from right."""
    left, right = event["left"], event.get("right")
    if not isinstance(left, list):
        yield event
        return
    hashes = event.get("left_hash") or [None] * len(left), event.get("right_hash") or [None] * len(right or [])
    if right is None:  # all of them are the same: each is the same as the first
        sides = [((left[0], hashes[0][0]), other) for other in zip(left[1:], hashes[0][1:], strict=True)]
    else:
        ones, others = (list(zip(*side, strict=True)) for side in ((left, hashes[0]), (right, hashes[1])))
        sides = [(one, other) for one in ones for other in others]
    for (one, one_hash), (other, other_hash) in sides:
        yield {**event, "left": one, "right": other, "left_hash": one_hash, "right_hash": other_hash}


def _check_header(event: Mapping[str, Any], path: Path) -> None:
    if event["format"] != VERDICTS_HEADER["format"] or event.get("version") != VERDICTS_HEADER["version"]:
        said = f"{event['format']} {event.get('version', '')}".strip()
        raise InputError(
            f"{path} is {said!r}; expected {VERDICTS_HEADER['format']!r} of version {VERDICTS_HEADER['version']}."
        )


def _checked(event: Any, where: str) -> dict[str, Any]:
    """Return the event, or raise InputError that names the place."""
    if not isinstance(event, dict):
        raise InputError(f"{where} is no JSON object; expected left, right and verdict.")
    if isinstance(event.get("plan"), dict):
        return event
    verdict = event.get("verdict")
    known = (*VERDICTS, WITHDRAWN, REPRESENTATIVE)
    if verdict not in known:
        hint = nearest(str(verdict), VERDICTS)
        raise InputError(f"{where} has the verdict {verdict!r}; expected {', '.join(VERDICTS)}.{hint}")
    left, right = event.get("left"), event.get("right")
    sets = isinstance(left, list) and left and (right is None or (isinstance(right, list) and right))
    alone = verdict in (WITHDRAWN, REPRESENTATIVE) and left is not None and right is None
    if not (sets or alone or (_is_id(left) and _is_id(right))):
        raise InputError(f"{where} has left {left!r} and right {right!r}; expected two ids, or two lists of ids.")
    if isinstance(left, list) and len(left) * len(right or [0]) > MAX_PAIRS_OF_SETS:
        raise InputError(f"{where} is about more than {MAX_PAIRS_OF_SETS:,} pairs; judge smaller sets.")
    for name in ("by", "at", "note"):
        if not isinstance(event.get(name), str | None):
            raise InputError(f"{where} has {name} {event[name]!r}; expected text.")
    if not (_is_ids(left) and _is_ids(right)):
        raise InputError(f"{where} has left {left!r} and right {right!r}; expected two ids, or two lists of ids.")
    return event


def _is_ids(value: Any) -> bool:
    return value is None or _is_id(value) or (isinstance(value, list) and all(map(_is_id, value)))


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _of_table(source: Any, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table with left, right and verdict as events; rows without a verdict are left out."""
    table = open_table(source, name=name)
    if missing := [column for column in VERDICT_COLUMNS[:3] if column not in table.columns]:
        raise InputError(f"{name} has no column {missing[0]!r}; expected left, right and verdict.")
    optional = [*VERDICT_COLUMNS[3:], *FLAG_COLUMNS, "left_hash", "right_hash"]
    rows = table.read([*VERDICT_COLUMNS[:3], *(column for column in optional if column in table.columns)]).to_pylist()
    is_delimited = isinstance(source, str | os.PathLike) and kind_of(source) in ("CSV", "TSV")
    return events_of_rows(map(of_cells, rows) if is_delimited else rows, name)


def of_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of CSV as it was before its cells were made safe for spreadsheets."""
    return {key: without_apostrophe(value) if isinstance(value, str) else value for key, value in row.items()}


def events_of_rows(rows: Iterable[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return rows with left, right and verdict as events, checked; rows without a verdict are left out."""
    events = []
    for number, row in enumerate(rows):
        event = {str(key): value for key, value in row.items() if value not in (None, "")}
        event |= {flag: str(event[flag]).lower() in ("true", "1", "yes") for flag in FLAG_COLUMNS if flag in event}
        if event.get("verdict") or "plan" in event:
            if "verdict" in event:
                event["verdict"] = str(event["verdict"]).strip().lower()
            events.append(_checked(event, f"{name} row {number + 1}"))
    return events


class Verdicts:
    """Verdicts on pairs of items, in a file to which lines are only ever appended.

    path: the file (.jsonl); it is created by the first verdict. One process writes at a time, and every verdict is on
    disk when `add` returns. `verdicts=PATH` of the functions that find pairs and groups honours them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     verdicts = Verdicts(folder + "/verdicts.jsonl")
    ...     verdicts.add("a", "b", "same", by="ann")
    ...     verdicts.add("a", "c", "different", by="ann", note="another year")
    ...     verdicts.read().counts()
    {'same': 1, 'different': 1, 'unsure': 0}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() != ".jsonl":
            raise UsageError(f"{self.path} is no name for a file of verdicts; expected one that ends in .jsonl.")

    def read(self) -> VerdictSet:
        """Return the verdicts in force; none if the file does not exist yet."""
        return read_verdicts(self.path) if self.path.exists() else VerdictSet((str(self.path),), ())

    def add(
        self, left: Any, right: Any, verdict: str, *, by: str | None = None, note: str = "", drawn: bool = False,
        hashes: tuple[Any, Any] = (None, None),
    ) -> None:  # fmt: skip
        """Append a verdict on two items, or on two lists of items.

        left, right: ids. With lists, "different" says that each of the left items differs from each of the right ones;
        with a list and None, "same" says that all are the same. by: who judges, by default the user of this process.
        drawn: the pair was drawn at random. hashes: of the contents of left and right.
        """
        event = {"left": left, "right": right, "verdict": verdict, "by": by if by is not None else user_name()}
        event |= {"note": note} if note else {}
        event |= {"drawn": True} if drawn else {}
        event |= {side: value for side, value in zip(("left_hash", "right_hash"), hashes, strict=True) if value}
        self.append([event])

    def represent(self, item: Any, *, by: str | None = None, hash: str | None = None) -> None:  # noqa: A002
        """Append that an item represents its group."""
        event = {"left": item, "verdict": REPRESENTATIVE, "by": by if by is not None else user_name()}
        self.append([event | ({"left_hash": hash} if hash else {})])

    def withdraw(self, left: Any, right: Any = None, *, by: str | None = None) -> None:
        """Append that the verdict of a person on two items, or the choice of a representative, no longer counts."""
        self.append([{"left": left, "right": right, "verdict": WITHDRAWN, "by": by if by is not None else user_name()}])

    def append(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Append events, checked, each with the time unless it has one, and flush them to disk."""
        now = disk.system.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        checked = [_checked({"at": now, **event}, "the verdict") for event in events]
        lines = [_line(event) for event in checked]
        with _locked(self.path) as handle:
            if not os.fstat(handle).st_size:
                disk.sync_folder(self.path.parent)  # the name of a new file
                disk.append(handle, json.dumps(VERDICTS_HEADER).encode() + b"\n", 0)
            size = os.fstat(handle).st_size
            data = b"".join(line + b"\n" for line in _chained(lines, _last_chain(handle, size)))
            disk.append(handle, data, size)


def _line(event: Mapping[str, Any]) -> bytes:
    known = {name: value for name, value in event.items() if name != "chain"}
    return json.dumps(known, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _chained(lines: Iterable[bytes], state: str) -> Iterator[bytes]:
    """Yield the lines, each with the hash of the state before it and of its content."""
    for line in lines:
        state = hashlib.sha256(state.encode() + line).hexdigest()
        yield line[:-1] + CHAIN + state.encode() + b'"}'


def _last_chain(handle: int, size: int) -> str:
    """Return the chain after the last line; lines of other programs, without a hash, count with their bytes."""
    tail, begin = b"", size
    while begin:
        begin = max(0, begin - TAIL_BYTES)
        tail = disk.read_at(handle, size - begin, begin)
        lines = tail.split(b"\n")[:-1]
        for at in range(len(lines) - 1, 0 if begin else -1, -1):
            _, mark, chain = lines[at].rpartition(CHAIN)
            if mark or (at == 0 and not begin):
                state = chain[:-2].decode("ascii", "replace") if mark else hashlib.sha256(lines[at]).hexdigest()
                for line in lines[at + 1 :]:
                    state = hashlib.sha256(state.encode() + line).hexdigest()
                return state
    return hashlib.sha256(tail).hexdigest()


def user_name() -> str:
    """Return the name of the user of this process; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file for appending, alone, after removing a line that a killed writer left unfinished."""
    try:
        handle = disk.system.open_handle(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.") from error
    try:
        disk.system.lock(handle, fcntl.LOCK_EX)  # held for one write only, so that waiting is short
        size = os.fstat(handle).st_size
        tail = disk.read_at(handle, TAIL_BYTES, max(0, size - TAIL_BYTES))
        if size and (not tail.endswith(b"\n") or TORN in tail):
            _mend(handle, disk.read_at(handle, size, 0))
        yield handle
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.") from error
    finally:
        disk.system.close(handle)


def _mend(handle: int, whole: bytes) -> None:
    """End the last line if it is a whole event, else remove it, as all from the first torn line on."""
    torn = whole.find(TORN)
    tail = whole.rfind(b"\n", 0, len(whole) if torn < 0 else torn) + 1
    try:
        json.loads(whole[tail:])
        disk.append(handle, b"\n", len(whole))
    except ValueError:
        disk.system.truncate(handle, tail)


def write_verdicts(verdicts: VerdictSet, path: Path) -> None:
    """Write the verdicts in force to a new file of verdicts, with the vote of each person."""
    plans: list[dict[str, Any]] = [{"plan": dict(verdicts.plan)}] if verdicts.plan else []
    chosen = [
        {"left": item, "verdict": REPRESENTATIVE} | ({"left_hash": known} if known else {})
        for item, known in verdicts.representatives
    ]
    votes = [
        {
            "left": one.left, "right": one.right, "verdict": verdict, "by": by,
            **({"at": one.at} if one.at else {}), **({"note": one.note} if one.note else {}),
            **({"drawn": True} if one.drawn else {}), **({"left_hash": one.left_hash} if one.left_hash else {}),
            **({"right_hash": one.right_hash} if one.right_hash else {}),
            **({"across": True} if one.across else {}),
        }
        for one in verdicts.pairs
        for by, verdict in one.votes.items()
    ]  # fmt: skip
    header = json.dumps(VERDICTS_HEADER).encode()
    lines = _chained(map(_line, (*plans, *chosen, *votes)), hashlib.sha256(header).hexdigest())
    with disk.open_file(path, "wb") as file:
        file.write(b"".join(line + b"\n" for line in (header, *lines)))
