"""What an agent may ask, as plain functions with short answers; files are confined to the given folders."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, MissingInput, OutputError, UsageError
from lookalike.io.addresses import address_of

Answer = dict[str, Any]
SNIPPET = 200  # characters shown of an item
MAX_LISTED = 20  # most matches of an answer
MAX_TEXT = 1_000_000  # most characters of a text in a request
CONFIRM_SECONDS = 600  # how long a confirmation holds
RECEIPT_COUNTS = (
    "documents",
    "exact_duplicates",
    "pairs",
    "groups",
    "grouped",
    "kept",
    "removed",
    "passages",
)


@dataclass
class PlannedRun:
    """A run that waits for its confirmation. request: its arguments; state: of the input, when it was planned."""

    request: tuple[Any, ...]
    state: tuple[Any, ...]
    until: float


@dataclass
class AgentTools:
    """The tools of the server. roots: the folders that files are confined to; writes: whether outputs are allowed."""

    roots: Sequence[Path]
    writes: bool = True
    _plans: dict[str, PlannedRun] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not self.roots:
            raise UsageError("no folder came; expected at least one that files are confined to.")
        for root in self.roots:
            if not root.is_dir():
                raise MissingInput(f"no such folder: {root}.")
        self.roots = [root.resolve() for root in self.roots]

    def seen_before(self, text: str, index: str, limit: int = 5) -> Answer:
        """Say whether a text, or a near-copy of it, is in an index that `lookalike index create` made."""
        from lookalike.index.index import Index

        _check_text("text", text)
        place = self._inside(index)
        if not place.is_dir():
            raise InputError(f"{index} is not an index; expected a folder made by `lookalike index create`.")
        with self._lock, Index.open(place, read_only=True) as opened:
            if opened.kind.name != "documents":
                raise InputError(f"{index} is an index of {opened.kind.name}; expected one of documents.")
            matches = opened.query([text], k=_limit(limit))[0]
            shown = [
                {
                    "id": match.id,
                    "similarity": match.similarity,
                    "beginning": _snippet(opened.content(match.id)),
                }
                for match in matches
            ]
            return {
                "seen": bool(matches),
                "matches": shown,
                "items": len(opened),
                "compared": opened.info()["compared"],
            }

    def who_quotes(self, text: str, path: str, min_words: int = 12, limit: int = 5) -> Answer:
        """List the documents of a file or folder that share passages with a text, with the beginnings of these."""
        from lookalike.kinds.passages.api import passages

        _check_text("text", text)
        if not 1 <= min_words <= MAX_TEXT:
            raise UsageError(f"min_words is {min_words}; expected 1 to {MAX_TEXT:,}.")
        source = self._source(path)
        with self._lock:
            found = passages([text], against=source, min_tokens=min_words)
            # The longest runs first.
            best = found.passages.sort_by([("tokens", "descending")]).slice(0, _limit(limit)).to_pylist()
        listed = [
            {
                "document": row["right"], "tokens": row["tokens"],
                "quoted": _snippet(text[row["left_start"] : row["left_end"]]),
            }
            for row in best
        ]  # fmt: skip
        return {"quoted_by": listed, **_numbers(found.receipt)}

    def find_duplicates(
        self, path: str, threshold: float = 0.8, output: str | None = None, confirmation: str | None = None
    ) -> Answer:
        """Find near-duplicates in a file or folder.

        Without `output`, nothing is written: the answer has the counts and the largest groups. With `output`, the
        answer is a plan with a confirmation token; the same request with this `confirmation` writes the file without
        near-duplicates.
        """
        from lookalike.kinds.documents.api import dedup, forecast, groups

        source = self._source(path)
        if output is None:
            if confirmation is not None:
                raise UsageError("a confirmation came without an output; expected both, or none.")
            with self._lock:
                found = groups(source, threshold=threshold)
            largest = found.groups.sort_by([("size", "descending"), ("group", "ascending")]).slice(0, 2 * MAX_LISTED)
            by_group: dict[Any, list[Any]] = {}
            for row in largest.to_pylist():
                by_group.setdefault(row["group"], []).append(row["id"])
            return {"largest_groups": list(by_group.values())[:MAX_LISTED], **_numbers(found.receipt)}
        target = self._target(output)
        request, state = (str(source), float(threshold), str(target)), _state(source)
        if confirmation is None:
            with self._lock:
                made = forecast(source, threshold=threshold)
            token = secrets.token_urlsafe(12)
            now = time.monotonic()
            self._plans = {one: plan for one, plan in self._plans.items() if plan.until > now}
            self._plans[token] = PlannedRun(request, state, now + CONFIRM_SECONDS)
            return {
                "plan": {
                    "documents": made.documents, "pairs": made.pairs, "pairs_interval": made.pairs_interval,
                    "method": made.method, "seconds": round(made.seconds, 2), "memory_bytes": made.memory,
                    "writes": output,
                },
                "confirmation": token,
                "next": "Nothing was written. Ask the user; then send the same request with this confirmation.",
            }  # fmt: skip
        plan = self._plans.pop(confirmation, None)
        if plan is None or plan.until < time.monotonic():
            raise UsageError("this confirmation is unknown or too old; ask for a new plan first.")
        if plan.request != request:
            raise UsageError("this confirmation is for another request; ask for a new plan first.")
        if plan.state != state:
            raise UsageError("the input has changed since the plan was made; ask for a new plan first.")
        with self._lock:
            found = dedup(source, threshold=threshold)
            found.write(target)
        return {"wrote": output, **_numbers(found.receipt)}

    def explain(self, path: str, left: str, right: str) -> Answer:
        """Explain why two items of a file or folder are near-copies, or not: their texts compared by every measure.

        left, right: ids, or row numbers if there are none.
        """
        from lookalike.io.read import open_collection

        with self._lock:
            collection = open_collection(self._source(path))
            ids = collection.ids()
            texts = []
            for name in (left, right):
                row = _row_of(ids, str(name), path)
                text = collection.picked([row]).get(row)
                if text is None:
                    raise InputError(f"no row {name} in {path}.")
                if not isinstance(text, str):
                    raise InputError(f"{path} holds lists of tokens; expected texts.")
                texts.append(text)
        return {"left": _snippet(texts[0]), "right": _snippet(texts[1]), **self.compare(*texts)}

    def compare(self, left: str, right: str) -> Answer:
        """Compare two texts: similarity by every measure, and the beginnings of what they share."""
        from lookalike.kinds.documents.compare import compare

        _check_text("left", left)
        _check_text("right", right)
        found = compare(left, right)
        shared = [_snippet(piece) for piece, is_shared in found.marked("left") if is_shared][:MAX_LISTED]
        return {
            "measures": {name: round(value, 6) for name, value in found.measures.items()},
            "shared_shingles": found.shared_shingles, "shingles_left": found.shingles_left,
            "shingles_right": found.shingles_right, "shared": shared,
        }  # fmt: skip

    def _inside(self, path: str) -> Path:
        """Return a path that is within the roots, also after links; a relative one starts at the first root."""
        if not isinstance(path, str) or not path or "\0" in path or address_of(path) is not None or "://" in path:
            raise InputError("the path is no file of this machine; expected one within the folders of this server.")
        try:
            resolved = (self.roots[0] / path).resolve()
            resolved.exists()
        except OSError as error:  # such as a name that is too long
            raise InputError(f"the path cannot be looked up: {error.strerror}.") from None
        if not any(resolved.is_relative_to(root) for root in self.roots):
            raise InputError(f"{path} is outside the folders of this server.")
        return resolved

    def _source(self, path: str) -> Path:
        source = self._inside(path)
        if not source.exists():
            raise MissingInput(f"no such file or folder: {path}.")
        if source.is_dir():
            for parent, _, names in os.walk(source):
                for name in names:
                    file = Path(parent, name)
                    if file.is_symlink() and not any(file.resolve().is_relative_to(root) for root in self.roots):
                        raise InputError(f"{path} holds {name}, a link to outside the folders of this server.")
        elif not source.is_file():
            raise InputError(f"{path} is no file or folder.")
        return source

    def _target(self, output: str) -> Path:
        if not self.writes:
            raise OutputError("this server was started with `read_only`; it writes nothing.")
        target = self._inside(output)
        from lookalike.io.atomic import check_output

        if not target.suffix:
            raise OutputError(f"{output} has no extension; expected a file such as clean.jsonl.")
        check_output(target, force=False)
        return target


def _state(source: Path) -> tuple[Any, ...]:
    """Return what changes if a file, or a file of a folder, is written."""
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _check_text(name: str, text: str) -> None:
    if len(text) > MAX_TEXT:
        raise UsageError(f"`{name}` has {len(text):,} characters; expected at most {MAX_TEXT:,}.")


def _limit(limit: int) -> int:
    if not 1 <= limit <= MAX_LISTED:
        raise UsageError(f"limit is {limit}; expected 1 to {MAX_LISTED}.")
    return limit


def _row_of(ids: Any, name: str, path: str) -> int:
    if ids is None:
        if not name.isdecimal() or len(name) > len(str(1 << 62)):
            raise InputError(f"{path} has no ids; expected a row number, from 0 on.")
        return int(name)
    import pyarrow as pa
    import pyarrow.compute as pc

    row: int = pc.index(ids.cast(pa.string()), name).as_py()
    if row < 0:
        raise InputError(f"no item {_snippet(name)!r} in {path}.")
    return row


def _snippet(text: Any) -> str | None:
    """Return the beginning of a text on one line."""
    if not isinstance(text, str):
        return None
    line = " ".join(text[: 2 * SNIPPET].split())
    return line if len(line) <= SNIPPET and len(text) <= 2 * SNIPPET else line[:SNIPPET] + "..."


def _numbers(receipt: dict[str, Any]) -> Answer:
    """Return the numbers of a receipt that an answer states."""
    measured = receipt.get("recall_measured")
    numbers = {
        "counts": {name: receipt["counts"][name] for name in RECEIPT_COUNTS if name in receipt["counts"]},
        "compared": receipt["compared"],
        "method": receipt["choice"]["method"],
        "seconds": round(sum(receipt["seconds"].values()), 2),
    }
    if measured:
        numbers["recall_measured"] = measured["recall"]
    return numbers | ({"warnings": receipt["warnings"][:MAX_LISTED]} if receipt["warnings"] else {})
