"""Open the texts that are given to a command, and start reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.cli import options as o

if TYPE_CHECKING:
    from lookalike.io.collection import Collection


def open_documents(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Collection:
    """Open documents and start reading them: decoding continues while the compiler is loaded."""
    from lookalike.io.read import by_lines

    return _begun(inputs, options, given, lines=by_lines(options["lines"], alone=given.get("against") is None))


def open_strings(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Collection:
    """Open strings like `open_documents`; each line of a text file is a string."""
    return _begun(inputs, options, given, lines=True)


def _begun(inputs: list[str], options: dict[str, Any], given: dict[str, Any], *, lines: bool | None) -> Collection:
    """Open the inputs and start reading them.

    With a given memory budget, reading starts with the run, as decoded batches wait in memory.
    """
    from lookalike.io.read import open_collection

    frugal, limit = options.get("memory") is not None, None
    if frugal:
        from lookalike.runtime.local.memory_needs import MEMORY_PER_TEXT_BYTE, read_limit
        from lookalike.runtime.local.work_folder import ResourceLimits

        place = ResourceLimits.of({"memory": options["memory"]})
        limit = read_limit(place, MEMORY_PER_TEXT_BYTE[options.get("unit") or "word"])
    columns = {name: options[name] for name in ("text", "id", "on_bad_text", "on_bad_file") if name in options}
    collection = open_collection(o.paths(inputs), lines=lines, limit=limit, **columns)
    if ":" not in given.get("keep", "") and not frugal:  # a policy by column reads an additional column
        collection.begin()
    return collection
