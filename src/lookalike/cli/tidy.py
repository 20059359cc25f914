"""`dedup --apply`: remove the files of near-duplicates, keep a journal, and `lookalike undo`."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from lookalike.core.options import Option, declared
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.io.file_actions import Outcome, Seen
    from lookalike.result import Result

DONE = {
    "trash": "Moved to the trash", "move": "Moved", "hardlink": "Replaced by hard links", "delete": "Deleted",
    "reflink": "Replaced by copies that share their blocks",
}  # fmt: skip


class TidyOptions(TypedDict, total=False):
    """Options of `dedup` where each item is a file."""

    apply: Annotated[
        str | None,
        Option(None, "What to do with the files that are removed: trash, move:FOLDER, hardlink, reflink or delete.",
               unset="nothing", metavar="ACTION", local_only=True),
    ]  # fmt: skip
    yes: Annotated[
        bool, Option(False, "Change the files; without it, `apply` shows what it would do.", local_only=True)
    ]
    journal: Annotated[
        Path | None,
        Option(None, "Where `apply` records each change, for `lookalike undo`.",
               unset="lookalike-DATE-TIME.journal in the current folder", local_only=True),
    ]  # fmt: skip
    carry: Annotated[
        bool,
        Option(False, "Give the file that stays the older time of change, and EXIF data if it is a JPEG without any.",
               local_only=True),
    ]  # fmt: skip
    protect: Annotated[
        list[str] | None,
        Option(None, "Folder whose files are never changed by `apply` (repeatable).", unset="none", local_only=True),
    ]  # fmt: skip


@dataclass
class Tidy:
    """What `--apply` asks for. look() and run() frame the run that finds the duplicates."""

    apply: str | None = None
    yes: bool = False
    journal: Path | None = None
    carry: bool = False
    protect: list[str] | None = None
    began: int = 0  # when the files were looked at, in nanoseconds

    @classmethod
    def of(cls, options: dict[str, Any]) -> Tidy:
        """Take the `TidyOptions` out of `options`, and check them."""
        tidy = cls(**{name: options.pop(name) for name in declared(TidyOptions)})
        if tidy.apply is None:
            for name in ("yes", "journal", "carry", "protect"):
                if getattr(tidy, name):
                    raise UsageError(f"--{name} belongs to --apply; give --apply, for example --apply trash.")
            return tidy
        from lookalike.io.file_actions import Action

        Action.parse(tidy.apply)
        for folder in tidy.protect or ():
            if not Path(folder).is_dir():
                raise UsageError(f"--protect: no such folder: {folder}.")
        if options.get("engine") == "spark":
            raise UsageError("--apply changes files of this machine; with --engine spark leave it out.")
        return tidy

    def look(self, source: Any) -> dict[Path, Seen]:
        """Return what the files are like before they are read."""
        if self.apply is None:
            return {}
        from lookalike.io.file_actions import look

        self.began = time.time_ns()
        return look(_files(source).values())

    def run(self, result: Result, seen: dict[Path, Seen], *, quiet: bool) -> None:
        """Change the files of the removed items, or show what would be changed."""
        if self.apply is None:
            return
        from lookalike.io.file_actions import Action, apply, look

        ours = _files(result.source)
        theirs = _files(result.against) if result.against is not None else ours
        if result.against is not None:
            unchanged = [file for file in theirs.values() if file.exists() and file.stat().st_ctime_ns <= self.began]
            seen = seen | look(unchanged)
        removed = result.removed
        removals = [
            (ours[gone], theirs[kept])
            for gone, kept in zip(removed["id"].to_pylist(), removed["kept"].to_pylist(), strict=True)
        ]
        more: set[tuple[str, str]] = getattr(result.source, "shows_more", set())
        spared = {
            ours[gone]: "it shows more than the file that is kept"
            for gone, kept in zip(removed["id"].to_pylist(), removed["kept"].to_pylist(), strict=True)
            if (gone, kept) in more
        }
        action = Action.parse(self.apply, carries=self.carry)
        journal = self.journal or Path(time.strftime("lookalike-%Y%m%d-%H%M%S.journal"))
        outcome = apply(
            removals, action, seen, journal if self.yes and removals else None, root=_root(ours),
            protected=[Path(folder) for folder in self.protect or ()], spared=spared,
        )  # fmt: skip
        if not quiet:
            sys.stderr.write(self._words(outcome, action.mode, journal))

    def _words(self, outcome: Outcome, mode: str, journal: Path) -> str:
        from lookalike.core.formatting import count, size

        files = f"{count(outcome.changed, 'files')}, {size(outcome.nbytes)}"
        left = f"Left     {outcome.reasons()}\n" if outcome.left else ""
        if outcome.carried:
            left += f"Carried  times or EXIF data to {count(outcome.carried, 'kept files')}\n"
        if not self.yes:
            return f"Planned  {self.apply}: {files}\n{left}Nothing was changed; the same command with --yes does it.\n"
        undo = f" · lookalike undo {journal} reverses it" if mode != "delete" and outcome.changed else ""
        return f"{DONE[mode]}: {files}{undo}\n{left}"


def _files(source: Any) -> dict[str, Path]:
    files: dict[str, Path] | None = source.named_files()
    if files is None:
        raise UsageError(
            "--apply changes files, and here the items are rows or lines of a file. "
            "Give a folder, whose files are the items."
        )
    return files


def _root(files: dict[str, Path]) -> Path | None:
    """Return the folder that all files have in common."""
    return Path(os.path.commonpath([file.absolute().parent for file in files.values()])) if files else None


def undo(
    journal: Annotated[Path, typer.Argument(help="The journal that --apply wrote.", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be undone.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing unless something is wrong.")] = False,
) -> None:
    """Bring back the files that `dedup --apply` moved, trashed or linked. What was deleted cannot be brought back.

    A file that exists again under the old name is never replaced, and undoing twice is harmless.
    """
    from lookalike.core.formatting import count, size
    from lookalike.io.file_actions import undo as undo_journal

    outcome = undo_journal(journal, dry_run=dry_run)
    if not quiet:
        verb = "Would restore" if dry_run else "Restored"
        left = f"Left     {outcome.reasons()}\n" if outcome.left else ""
        if outcome.carried:
            left += f"Took back the times or EXIF data of {count(outcome.carried, 'kept files')}\n"
        sys.stderr.write(f"{verb} {count(outcome.changed, 'files')}, {size(outcome.nbytes)}\n{left}")
    if outcome.left:
        raise typer.Exit(1)
