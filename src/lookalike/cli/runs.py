"""The commands `lookalike runs`: list and remove work folders, and the cache of hashes of pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.cli.help import App
from lookalike.core.formatting import count, size

runs = App(help="List the work folders of unfinished and kept runs, and remove them.", no_args_is_help=False)
Where = Annotated[
    list[Path] | None,
    typer.Argument(help="Work folders, or folders to look in (default: here).", show_default=False),
]


@runs.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show(None)


@runs.command("list")
def show(folders: Where = None, json: o.RunOptions.Json = False) -> None:
    """List work folders: what they hold, how far it is, how large it is, and when it was last touched.

    Without folders, the hashes of pictures that are kept for later runs are listed too.
    """
    import json as json_module

    from lookalike.runtime.local.work_folder_list import find_work

    work_folders = find_work(folders or [Path()])
    if json:
        sys.stdout.write(json_module.dumps([work.as_dict() for work in work_folders], indent=2) + "\n")
        return
    if not work_folders:
        sys.stdout.write("No work folders here. Large runs make one beside their output; --work-dir names another.\n")
    for work in work_folders:
        sys.stdout.write(f"{work.path}  {size(work.nbytes)}  {work.age()}{'  in use' if work.in_use else ''}\n")
        for line in work.holds:
            sys.stdout.write(f"    {line}\n")
    if not folders and (cached := _cached_pictures()):
        sys.stdout.write(f"{cached}\n    lookalike runs clean --cache removes them\n")


@runs.command()
def clean(
    folders: Where = None,
    cache: Annotated[bool, typer.Option("--cache", help="Remove the hashes of pictures of earlier runs, too.")] = False,
) -> None:
    """Remove work folders that are not in use; unfinished runs then start from the beginning."""
    from lookalike.runtime.local.work_folder_list import find_work

    work_folders = find_work(folders or [Path()])
    for work in work_folders:
        if work.in_use:
            sys.stdout.write(f"Left     {work.path}: it is in use\n")
            continue
        work.remove()
        sys.stdout.write(f"Removed  {work.path} ({size(work.nbytes)})\n")
    if cache:
        from lookalike.kinds.images.feature_store import cache_folder, remove_cache

        freed = remove_cache(cache_folder())
        sys.stdout.write(f"Removed  {cache_folder()} ({size(freed)})\n")
    elif not work_folders:
        sys.stdout.write("No work folders here.\n")


def _cached_pictures() -> str | None:
    """Describe the hashes of pictures that are kept for later runs, or return None if there are none."""
    from lookalike.kinds.images.feature_store import cache_folder, count_cached

    found = count_cached(cache_folder())
    if found is None:
        return None
    pictures, nbytes = found
    held = "not readable" if pictures is None else f"hashes of {count(pictures, 'pictures')}"
    return f"{cache_folder()}  {size(nbytes)}  {held}"
