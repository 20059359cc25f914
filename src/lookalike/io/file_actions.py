"""Tidy a folder: remove files of which a copy is kept, and undo that. No file that changed meanwhile is touched."""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from lookalike.core.formatting import count
from lookalike.errors import UsageError
from lookalike.io import disk
from lookalike.io.action_journal import CARRY, Change, Journal, Mode, read_journal
from lookalike.io.carried import carried_exif, carry, take_back
from lookalike.io.leftovers import hidden_name
from lookalike.io.trash import forget_trashed, trash_place

FICLONE = 0x40049409  # the ioctl of Linux that shares the blocks of another file
CONTENT_MODES = ("hardlink", "reflink")  # modes for files with the same bytes only


@dataclass(frozen=True)
class Seen:
    """The size and the time of change of a file when it was compared."""

    size: int
    modified_ns: int


@dataclass
class Outcome:
    """What happened: the number of files changed, the bytes they have, and the reasons of those left alone.

    carried: the number of kept files that got the time or the EXIF data of a removed one.
    """

    changed: int = 0
    nbytes: int = 0
    carried: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)

    def reasons(self) -> str:
        """Return the reasons with the number of files of each.

        >>> Outcome(left=[("a", "it has changed"), ("b", "it has changed")]).reasons()
        '2 files: it has changed'
        """
        counts = Counter(reason for _, reason in self.left)
        return "; ".join(f"{count(number, 'files')}: {reason}" for reason, number in counts.items())


@dataclass(frozen=True)
class Action:
    """What to do with a file that is not kept. folder: the target of "move". carries: whether the kept file gets the
    older time of change, and the EXIF data if it is a JPEG file without any."""

    mode: Mode
    folder: Path | None = None
    carries: bool = False

    @classmethod
    def parse(cls, text: str, *, carries: bool = False) -> Action:
        """Return the action for "trash", "move:FOLDER", "hardlink", "reflink" or "delete".

        >>> Action.parse("trash").mode
        'trash'
        """
        name, _, folder = text.partition(":")
        if name == "move" and folder:
            return cls("move", Path(folder).absolute(), carries)
        if name in get_args(Mode) and name != "move" and not folder:
            return cls(name, carries=carries)  # type: ignore[arg-type]
        raise UsageError(f"apply is {text!r}; expected trash, move:FOLDER, hardlink, reflink or delete.")


def look(files: Iterable[Path]) -> dict[Path, Seen]:
    """Return what the files are like now; a file that cannot be read is left out."""
    seen = {}
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            continue
        seen[file] = Seen(stat.st_size, stat.st_mtime_ns)
    return seen


def apply(
    removals: Sequence[tuple[Path, Path]], action: Action, seen: Mapping[Path, Seen], journal: Path | None, *,
    root: Path | None = None, protected: Sequence[Path] = (), spared: Mapping[Path, str] = MappingProxyType({}),
) -> Outcome:  # fmt: skip
    """Change the first file of each pair; the second one is kept. journal: None checks everything and changes nothing.

    seen: the files as they were compared; what is different now is left alone. root: the folder below which "move"
    keeps the names of subfolders. protected: folders whose files are never changed. spared: files to
    leave alone, with the reason.
    """
    outcome, seen = Outcome(), dict(seen)
    kept_files = {kept for _, kept in removals}
    guarded = [folder.resolve() for folder in protected]
    carried: set[Path] = set()
    with nullcontext() if journal is None else Journal(journal) as log:
        for file, kept in removals:
            reason = _obstacle(file, kept, seen, action.mode)
            if file in kept_files:
                reason = "another file is removed in favour of it"
            reason = spared.get(file, reason)
            if _is_guarded(file, guarded):
                reason = "it is in a protected folder"
            carries = reason is None and action.carries and not _is_guarded(kept, guarded)
            if carries and _carry(file, kept, action.mode, seen, log):
                carried.add(kept)
            if reason is None and log is not None:
                reason = _change(file, kept, action, seen[file], log, root)
            if reason is not None:
                outcome.left.append((str(file), reason))
                continue
            outcome.changed += 1
            outcome.nbytes += seen[file].size
    outcome.carried = len(carried)
    return outcome


def _is_guarded(file: Path, folders: Sequence[Path]) -> bool:
    return any(file.resolve().is_relative_to(folder) for folder in folders)


def _carry(file: Path, kept: Path, mode: Mode, seen: dict[Path, Seen], journal: Journal | None) -> bool:
    """Carry the older time and missing EXIF data over to the kept file, and record it; return whether there are any."""
    segment = b"" if mode in CONTENT_MODES else carried_exif(kept, file)
    before = seen[kept]
    modified_ns = min(before.modified_ns, seen[file].modified_ns)
    if not segment and modified_ns == before.modified_ns:
        return False
    if journal is not None:
        place = f"{modified_ns} {segment.hex()}"
        change = Change(CARRY, str(kept.absolute()), str(file.absolute()), before.size, before.modified_ns, place)
        number = journal.begin(change)
        try:
            carry(kept, modified_ns, segment)
        except OSError:
            if look([kept]) == {kept: before}:  # else a part may have been made, which undo takes back
                journal.failed(number)
            return False
        journal.done(number)
        seen |= look([kept])
    return True


def _obstacle(file: Path, kept: Path, seen: Mapping[Path, Seen], mode: Mode) -> str | None:
    """Return why the file must not be changed, or None."""
    now = look([file, kept])
    if file not in now:
        return "it is no longer there"
    if kept not in now:
        return "the file that is kept for it is no longer there"
    if now[file] != seen.get(file):
        return "it has changed"
    if now[kept] != seen.get(kept):
        return "the file that is kept for it has changed"
    if os.path.realpath(file) == os.path.realpath(kept):
        return "it is the file that is kept, under another name"
    if mode in CONTENT_MODES and not filecmp.cmp(file, kept, shallow=False):
        return f"{mode} is for files with the same bytes"
    return None


def _change(file: Path, kept: Path, action: Action, seen: Seen, journal: Journal, root: Path | None) -> str | None:
    """Make one change and record it. Return the reason if it was not possible."""
    file, kept = file.absolute(), kept.absolute()
    try:
        place = _place(file, action, root)
    except OSError as error:
        return str(error.strerror)
    change = Change(
        action.mode, str(file), str(kept), seen.size, seen.modified_ns, None if place is None else str(place)
    )
    number = journal.begin(change)
    try:
        if place is not None:
            _move(file, place)
        elif action.mode == "delete":
            disk.system.unlink(file)
        else:
            _share(file, kept, action.mode)
    except OSError as error:
        if action.mode == "trash" and place is not None:
            forget_trashed(place)
        journal.failed(number)
        return str(error.strerror)
    journal.done(number)
    return None


def _place(file: Path, action: Action, root: Path | None) -> Path | None:
    if action.mode == "trash":
        return trash_place(file)
    if action.folder is None:
        return None
    inside = root is not None and file.is_relative_to(root.absolute())
    place = action.folder / (file.relative_to(root.absolute()) if inside and root is not None else file.name)
    disk.make_folders(place.parent)
    number = 2
    stem = place.with_suffix("")
    while os.path.lexists(place):
        place, number = stem.with_name(f"{stem.name} {number}{file.suffix}"), number + 1
    return place


def _move(file: Path, place: Path) -> None:
    """Move a file, also to another file system: there the copy is complete before the file is removed."""
    try:
        disk.system.rename(file, place)
    except OSError:
        if file.lstat().st_dev == place.parent.stat().st_dev:
            raise
        draft = hidden_name(place, "tmp")
        try:
            shutil.copy2(file, draft)
            disk.sync_file(draft)
            disk.system.rename(draft, place)
        finally:
            disk.unlink(draft, missing_ok=True)
        disk.system.unlink(file)


def _share(file: Path, kept: Path, mode: Mode) -> None:
    """Replace a file by a link to an equal file, or by a copy that shares its blocks, without a moment of absence."""
    draft = hidden_name(file, "tmp")
    try:
        if mode == "hardlink":
            disk.system.link(kept, draft)
        else:
            _clone(kept, draft)
            shutil.copystat(file, draft)
            disk.sync_file(draft)
        disk.system.replace(draft, file)
    finally:
        disk.unlink(draft, missing_ok=True)


def _clone(source: Path, target: Path) -> None:
    if not sys.platform.startswith("linux"):
        raise OSError(0, "reflink is available on Linux only")
    import fcntl

    with disk.open_file(source, "rb") as read, disk.open_file(target, "wb") as write:
        fcntl.ioctl(write.fileno(), FICLONE, read.fileno())


def undo(journal: Path, *, dry_run: bool = False) -> Outcome:
    """Undo the changes of a journal, the last one first. What was deleted cannot be brought back.

    A file that exists again under the old name is never replaced. It is safe to undo a journal twice.
    """
    outcome = Outcome()
    changes = list(read_journal(journal))
    former = {change.file: change for change in reversed(changes) if change.mode == CARRY}  # the first of each file
    for change in reversed(changes):
        if change.mode == CARRY:
            reason = _take_back(change, former[change.file], dry_run=dry_run)
        else:
            reason = _restore(change, dry_run=dry_run)
        if reason is None and change.mode == CARRY:
            outcome.carried += 1
        elif reason is None:
            outcome.changed += 1
            outcome.nbytes += change.size
        elif reason:
            outcome.left.append((change.file, reason))
    return outcome


def _restore(change: Change, *, dry_run: bool) -> str | None:
    """Undo one change. Return None if it was undone, "" if there is nothing to undo, or the reason why it cannot be."""
    file = Path(change.file)
    if change.mode == "delete":
        return "" if file.exists() else "it was deleted"
    if change.mode in CONTENT_MODES:
        return _separate(file, change, dry_run=dry_run)
    place = Path(change.place or "")
    if not os.path.lexists(place):
        return "" if os.path.lexists(file) else "it is no longer where it was moved to"
    if os.path.lexists(file):
        return "there is a file of this name again"
    if not dry_run:
        try:
            disk.make_folders(file.parent)
            _move(place, file)
        except OSError as error:
            return str(error.strerror)
        if change.mode == "trash":
            forget_trashed(place)
    return None


def _take_back(change: Change, former: Change, *, dry_run: bool) -> str | None:
    """Give a kept file its own time and content again, as before this change. former: the first change of this file."""
    file = Path(change.file)
    carried_ns, _, digits = (change.place or "0").partition(" ")
    segment = bytes.fromhex(digits)
    try:
        now = file.stat()
        if (now.st_size, now.st_mtime_ns) in ((change.size, change.modified_ns), (former.size, former.modified_ns)):
            return ""
        if now.st_size != change.size + len(segment) or now.st_mtime_ns not in (int(carried_ns), change.modified_ns):
            return "it has changed since"
        if not dry_run and not take_back(file, change.modified_ns, segment):
            return "it has changed since"
    except OSError as error:
        return str(error.strerror)
    return None


def _separate(file: Path, change: Change, *, dry_run: bool) -> str | None:
    """Make a shared file a separate file again, with its former time of change."""
    try:
        if change.mode == "reflink" or file.stat().st_nlink < 2 or not os.path.samefile(file, change.kept):
            return ""
        if not dry_run:
            draft = hidden_name(file, "tmp")
            try:
                shutil.copy2(file, draft)
                os.utime(draft, ns=(change.modified_ns, change.modified_ns))
                disk.sync_file(draft)
                disk.system.replace(draft, file)
            finally:
                disk.unlink(draft, missing_ok=True)
    except OSError as error:
        return str(error.strerror)
    return None
