"""The commands `lookalike index`: a growing collection, and the search for items similar to new ones."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from lookalike.cli import options as o
from lookalike.cli import summary
from lookalike.cli.help import App
from lookalike.core import formatting
from lookalike.core import run_options as shared
from lookalike.core.options import Option
from lookalike.errors import UsageError
from lookalike.index.options import IndexOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.index.index import Index

app = App(help="An index on disk that grows: have I seen this before?", no_args_is_help=True)
Place = Annotated[str, typer.Argument(help="The index: a folder, or a postgresql:// URL.", show_default=False)]
Column = Annotated[
    str | None, o.option(o.RUN, "--text", "--column", help="Column of the texts, token lists, codes or vectors.")
]
Lines = Annotated[bool, o.option(o.RUN, "--lines", help="Read text files line by line (default: each is a document).")]


class KindOfItem(Enum):
    documents = "documents"
    sets = "sets"
    baskets = "baskets"
    vectors = "vectors"
    bits = "bits"
    strings = "strings"
    records = "records"
    images = "images"
    faces = "faces"
    passages = "passages"


@app.command()
@o.takes(IndexOptions)
def create(
    place: Place,
    options: dict[str, Any],
    kind: Annotated[KindOfItem, o.option(o.WHAT, help="What the items are.")] = KindOfItem.documents,
    store_items: Annotated[
        bool, o.option(o.RUN, "--store-items/--no-items", help="Keep the items as they came, not only their hashes.")
    ] = True,
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Make a new, empty index. What counts as similar is settled here and stays."""
    from lookalike.index.index import Index

    given = {name: value for name, value in options.items() if value is not None}
    with Index.create(place, kind=kind.value, store_items=store_items, **given) as index:
        if not quiet:
            _say(
                "Created", f"{index.store.place}: {index.kind.name}, {_compared(index)} · {index.kind.plan()['shape']}"
            )


@app.command()
@o.takes()
def add(
    place: Place,
    inputs: o.Inputs,
    column: Column = None,
    id: o.Id = None,  # noqa: A002
    lines: Lines = False,
    if_new: Annotated[
        bool, o.option(o.WHAT, "--if-new", help="Only what matches nothing; prints what was matched, and by what.")
    ] = False,
    sizes: Annotated[
        Path | None,
        o.option(o.WHAT, "--sizes", help="With --if-new: table of group sizes, which is made or goes on to grow."),
    ] = None,
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Put the rows of files into an index. An id that is there already gets the new item.

    All rows are in when this ends well, or none is. With --if-new, some thousands of rows at a time.
    """
    from lookalike.cli import terminal
    from lookalike.index import sources
    from lookalike.index.group_sizes import GroupSizes
    from lookalike.index.index import Index
    from lookalike.io.atomic import check_output
    from lookalike.io.write import write_table

    begin = time.perf_counter()
    if sizes is not None and not if_new:
        raise UsageError("--sizes counts the rows that --if-new does not add; give --if-new.")
    with Index.open(place) as index, terminal.progress(quiet) as progress:
        if sizes is not None:
            check_output(sizes, force=True)
            grown = GroupSizes.read(sizes, equal=1.0 if index.kind.scale.sign > 0 else 0.0)
        source = _opened(index, inputs, column=column, id=id, lines=lines)
        batches = _counted(sources.read(index.kind, source, column=column, id=id, lines=lines), progress)
        if if_new:
            count, matched = _add_new(index, batches)
            if sizes is not None:
                grown.count(zip(*(matched[name].to_pylist() for name in matched.column_names), strict=True))
                write_table(grown.table(), sizes, force=True)
            _print_rows(matched, "matched items")
            line = f"{count:,} new of {formatting.count(count + matched.num_rows, index.kind.name)}"
            count += matched.num_rows
        else:
            added = index.add_batches(batches)
            count = added.count
            line = formatting.count(added.count, index.kind.name) + (
                f", {added.replaced:,} replaced" if added.replaced else ""
            )
        total = len(index)
    _warn_left_out(source)
    if not quiet:
        _say_read(source, count)
        seconds = time.perf_counter() - begin
        _say("Added", f"{line} in {seconds:.1f} s · {index.store.place} has {total:,}")


def _opened(
    index: Index, inputs: list[str], *, column: str | None, id: str | None, lines: bool,  # noqa: A002
) -> Any:  # fmt: skip
    """Return the source to read: paths, or for documents and images an opened source.

    A collection of documents knows whether files or lines are its items; a folder of pictures, which it could not read.
    """
    from lookalike.cli.terminal import err
    from lookalike.index.sources import FILES_OF_TEXT
    from lookalike.io.pictures import open_pictures
    from lookalike.io.read import open_collection

    if index.kind.name == "images":
        return open_pictures(o.paths(inputs))
    if index.kind.name not in FILES_OF_TEXT:
        return o.paths(inputs)
    collection = open_collection(o.paths(inputs), text=column, id=id, lines=lines)
    for warning in collection.warnings:
        err.say("Warning:", warning, style="yellow")
    return collection


def _warn_left_out(source: Any) -> None:
    """Warn about pictures that could not be read."""
    from lookalike.cli.terminal import err
    from lookalike.io.pictures import PictureFolder, left_out

    if isinstance(source, PictureFolder) and (warning := left_out(source.name, source.broken, has_receipt=False)):
        err.say("Warning:", warning, style="yellow")


def _say_read(source: Any, number: int) -> None:
    """Print whether text files were read as documents or line by line."""
    if getattr(source, "lines", None) is not None:
        _say("Read", summary.items_read([(number, source.lines)], "documents"))


def _add_new(index: Index, batches: Iterator[Any]) -> tuple[int, pa.Table]:
    """Add the new items; return their number, and a table of the others: id, match, similarity or distance."""
    import pyarrow as pa

    count, rows = 0, []
    first = 0
    for items, ids in batches:
        names = list(range(first, first + len(items))) if ids is None else ids.to_pylist()
        first += len(names)
        for name, match in zip(names, index.add_if_new(items, ids=ids), strict=True):
            count += match is None
            if match is not None:
                rows.append((name, *match))
    own, matches, near = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"id": pa.array(own), "match": pa.array(matches), index.kind.scale.column: pa.array(near, pa.float64())}
    return count, pa.table(columns)


def _counted(batches: Iterator[Any], progress: Any) -> Iterator[Any]:
    done = 0
    for items, ids in batches:
        yield items, ids
        done += len(items)
        progress("read", done, None)


@app.command()
@o.takes()
def remove(
    place: Place,
    ids: Annotated[list[str], typer.Argument(help="Ids; - reads them from standard input, one a line.")],
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Take items out of an index by their ids."""
    from lookalike.index.index import Index

    names = [line.rstrip("\n") for line in sys.stdin] if ids == ["-"] else ids
    with Index.open(place) as index:
        gone = index.remove([index.parse_id(name) for name in names])
        if not quiet:
            _say("Removed", f"{gone:,} of {len(names):,} · {index.store.place} has {len(index):,}")


class IndexQueryOptions(TypedDict, total=False):
    """The options of `query`."""

    query: Annotated[
        list[str] | None,
        Option(None, "A text to look for (documents, strings); repeatable.", unset="the items of INPUTS", panel=o.WHAT),
    ]
    threshold: Annotated[
        float | None,
        Option(None, "Find only items that are at least as near.", unset="that of the index",
               flags=("-t", "--threshold"), panel=o.WHAT),
    ]  # fmt: skip
    containment: Annotated[
        float | None,
        Option(None, "In an index of passages: find the documents that hold at least this share of the words of a text "
               "(or of which a longer text holds it).", unset="the threshold decides", panel=o.WHAT, range="(0, 1]"),
    ]  # fmt: skip
    top: Annotated[int | None, Option(None, "Largest number of matches of an item.", unset="all", panel=o.WHAT)]
    others: Annotated[
        bool,
        Option(False, "Leave the stored item with the id of a query out of its matches: the item itself.",
               panel=o.WHAT),
    ]  # fmt: skip
    column: Annotated[
        str | None,
        Option(
            None, "Column of the texts, token lists, codes or vectors.", unset="guessed", flags=("--text", "--column")
        ),
    ]
    id: shared.Id
    lines: Annotated[bool, Option(False, "Read text files line by line; without, each file is a document.")]
    output: o.OutputFile
    audit: Annotated[
        int | None,
        Option(None, "Number of queries whose recall is measured, each compared with all items (0: none).",
               unset="as many as take about a second", range="[0, inf)", panel=o.WHAT),
    ]  # fmt: skip
    force: o.Force
    quiet: o.Quiet


@app.command()
@o.takes(IndexQueryOptions)
def query(
    place: Place,
    options: dict[str, Any],
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files, folders or globs with items to look for.", show_default=False)
    ] = None,
) -> None:
    """Find what of an index is near the items of files: query, id, similarity (or distance), nearest first.

    Without -o, the table goes to the terminal or, in a pipe, to standard output as tab-separated lines.
    """
    import pyarrow as pa

    from lookalike.cli import index_recall as recall
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.cli.quotations import short_texts, warn_short
    from lookalike.index import sources
    from lookalike.index.index import Index
    from lookalike.index.own_files import query_files
    from lookalike.io.results import write_receipt

    audit, top = options["audit"], options["top"]
    if audit is not None and audit < 0:
        raise UsageError(f"audit is {audit}; expected a number of queries, or 0 for none.")
    text, output, quiet = options["query"], options["output"], options["quiet"]
    where = {name: options[name] for name in ("column", "id", "lines")}
    if bool(inputs) == bool(text):
        raise UsageError("give files to look for, or --query, one of them.")
    outputs = show.Outputs.check(output, force=options["force"])
    with Index.open(place, read_only=True) as index, terminal.progress(quiet) as progress:
        if text and index.kind.name not in ("documents", "strings", "passages"):
            raise UsageError(
                "--query goes with documents, strings and passages; "
                f"{index.store.place} is an index of {index.kind.name}."
            )
        threshold = _bound(index, options)
        source = None if inputs is None else _opened(index, inputs, **where)
        batches = [(text, pa.array(text))] if text else sources.read(index.kind, source, **where)
        short = 0
        tables, first, asked, sample = [index.query_table([])], 0, 0, recall.sample_for(index, audit)
        for items, ids in _counted(iter(batches), progress):
            if files := getattr(items, "files", None):  # of pictures: a file is no match of itself
                table = query_files(index, items, files, threshold, top, sample)
            else:
                own = _own_ids(ids) if options["others"] else None
                table = index.query_table(items, threshold=threshold, k=top, others_than=own, sample=sample)
            short += short_texts(index, items)
            rows = table.column("query")
            names = pa.array(range(first, first + len(items))) if ids is None else ids
            tables.append(table.set_column(0, "query", names.take(rows.combine_chunks())))
            first += len(items)
            asked += len(items)
        matches = pa.concat_tables(tables[1:] or tables, promote_options="permissive")
        measured = None
        if sample is not None:
            measured = index.recall_of(sample, threshold=threshold, sample=audit, progress=progress)
        facts = recall.query_receipt(index, measured, threshold=threshold, top=top)
    _warn_left_out(source)
    warn_short(index, short)
    if output is not None:
        with outputs.together():
            outputs.write_table(matches, output)
            receipt = facts | {"counts": {"matches": matches.num_rows, "queries": asked}}
            write_receipt(receipt, show.receipt_of(output), [output], force=options["force"])
    else:
        _print_rows(matches, "matches")
    if not quiet:
        _say_read(source, asked)
        if line := recall.line(facts["recall_at_threshold"], measured, recall.MEASURE_QUERIES):
            _say("Recall", line)
        _say(
            "Found",
            f"{formatting.count(matches.num_rows, 'matches')} of {formatting.count(asked, 'items')}"
            + (f" · wrote {output}" if output else ""),
        )


def _own_ids(ids: Any) -> Any:
    """Return the ids of queries whose own items are left out."""
    if ids is None:
        raise UsageError("--others needs the ids of the items to look for; give --id, the column of their ids.")
    return ids


def _bound(index: Index, options: dict[str, Any]) -> float | None:
    """Return the threshold of a query, from --threshold or --containment."""
    threshold, containment = options["threshold"], options["containment"]
    if containment is None:
        return None if threshold is None else float(threshold)
    o.check_flags(IndexQueryOptions, options)
    if threshold is not None:
        raise UsageError("give --threshold or --containment, one of them.")
    if index.kind.name != "passages":
        raise UsageError(
            f"--containment goes with an index of passages; {index.store.place} is one of {index.kind.name}. "
            "Make one with: lookalike index create PLACE --kind passages."
        )
    return float(containment)


class IndexPassagesOptions(TypedDict, total=False):
    """The options of `passages`."""

    query: Annotated[
        list[str] | None, Option(None, "A text to look for; repeatable.", unset="the texts of INPUTS", panel=o.WHAT)
    ]
    top: Annotated[
        int | None, Option(None, "Largest number of stored texts that quote a text.", unset="all", panel=o.WHAT)
    ]
    column: Annotated[str | None, Option(None, "Column of the texts.", unset="guessed", flags=("--text",))]
    id: shared.Id
    lines: Annotated[bool, Option(False, "Read text files line by line; without, each file is a document.")]
    output: o.OutputFile
    force: o.Force
    quiet: o.Quiet


@app.command("passages")
@o.takes(IndexPassagesOptions)
def find_passages(
    place: Place,
    options: dict[str, Any],
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files, folders or globs with texts to look for.", show_default=False)
    ] = None,
) -> None:
    """Find who quotes a text: the passages that texts share with those of an index, and where they are.

    The columns start and end are characters of the text, stored_start and stored_end those of the stored one. With
    -o page.html, a page shows both texts with the passages marked.
    """
    import pyarrow as pa

    from lookalike.cli import index_recall as recall
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.cli.quotations import QuotationPage, quotation_rows, short_texts, warn_short
    from lookalike.index import sources
    from lookalike.index.index import Index
    from lookalike.index.quotations import check_finder
    from lookalike.io.atomic import check_place
    from lookalike.io.results import write_receipt

    text, output, force = options["query"], options["output"], options["force"]
    where = {name: options[name] for name in ("column", "id", "lines")}
    if bool(inputs) == bool(text):
        raise UsageError("give files to look for, or --query, one of them.")
    is_page = output is not None and output.suffix == ".html"
    if output is not None and is_page:
        check_place(output, force=force)
    outputs = show.Outputs.check(None if is_page else output, force=force)
    with Index.open(place, read_only=True) as index, terminal.progress(options["quiet"]) as progress:
        check_finder(index.kind, index.store.place, keeps_items=index.finds_passages)
        source = None if inputs is None else _opened(index, inputs, **where)
        batches = [(pa.array(text), None)] if text else sources.read(index.kind, source, **where)
        tables, page, asked = [quotation_rows([], [], [], index)], QuotationPage(index), 0
        short = 0
        for items, ids in _counted(iter(batches), progress):
            texts = items.to_pylist()
            names = list(range(asked, asked + len(texts))) if ids is None else ids.to_pylist()
            found = index.passages(texts, k=options["top"])
            short += short_texts(index, items)
            tables.append(quotation_rows(names, texts, found, index))
            if is_page:
                page.add(names, texts, found)
            asked += len(texts)
        rows = pa.concat_tables(tables[1:] or tables, promote_options="permissive")
        facts = recall.query_receipt(index, None, threshold=None, top=options["top"]) | {"asked": "index passages"}
        if output is not None and is_page:
            page.write(output, force=force)
        elif output is not None:
            with outputs.together():
                outputs.write_table(rows, output)
                receipt = facts | {"counts": {"passages": rows.num_rows, "queries": asked}}
                write_receipt(receipt, show.receipt_of(output), [output], force=force)
    warn_short(index, short)
    if output is None:
        _print_rows(rows, "passages")
    if not options["quiet"]:
        _say_read(source, asked)
        wrote = f" · wrote {output}" if output else ""
        _say("Found", f"{formatting.count(rows.num_rows, 'passages')} of {formatting.count(asked, 'texts')}{wrote}")


@app.command()
def info(place: Place, json: Annotated[bool, o.option(o.RUN, "--json", help="As JSON.")] = False) -> None:
    """What an index is and holds."""
    from lookalike.cli import index_recall as recall
    from lookalike.index.index import Index

    with Index.open(place, read_only=True) as index:
        facts = index.info()
        compared = _compared(index)
    if json:
        sys.stdout.write(json_module.dumps(facts, indent=2, default=str) + "\n")
        return
    plan = facts["plan"]
    said = recall.line(plan["recall_at_threshold"], None, recall.MEASURE_INDEX.format(place=facts["place"]))
    lines = {
        "Index": f"{facts['place']} (format {facts['format']})",
        "Items": formatting.count(facts["items"], facts["kind"]),
        "Compared": f"{compared} · {plan['shape']}" + ("" if said else " · none missed"),
        **({"Recall": said} if said else {}),
        "Groups": f"{facts['groups']:,} of two or more"
        + (f" · {formatting.count(facts['ungrouped'], 'items')} not looked at yet" if facts["ungrouped"] else ""),
        "Stored": f"{formatting.size(facts['bytes'])}, {'with' if facts['store_items'] else 'without'} the items",
        **{name.capitalize(): f"{facts[name]:,}" for name in ("segments", "recent", "removed") if name in facts},
    }
    for name, line in lines.items():
        sys.stdout.write(f"{name:<9}{line}\n")


class RecallOptions(TypedDict, total=False):
    """The options of `recall`."""

    threshold: Annotated[
        float | None,
        Option(None, "Measure it for items that are at least as near.", unset="that of the index",
               flags=("-t", "--threshold"), panel=o.WHAT),
    ]  # fmt: skip
    audit: Annotated[
        int,
        Option(
            300,
            "Number of items whose recall is measured, each compared with all others.",
            range="[1, inf)",
            panel=o.WHAT,
        ),
    ]
    seed: Annotated[int, Option(42, "Seed of the sample.")]
    json: Annotated[bool, Option(False, "Print JSON.")]
    quiet: o.Quiet


@app.command("recall")
@o.takes(RecallOptions)
def measure_recall(place: Place, options: dict[str, Any]) -> None:
    """Measure the recall of an index: compare a sample of its items with all others, and count what queries find."""
    from lookalike.cli import index_recall as recall
    from lookalike.cli import terminal
    from lookalike.index.index import Index

    with Index.open(place, read_only=True) as index, terminal.progress(options["quiet"]) as progress:
        chosen = {name: options[name] for name in ("threshold", "seed")}
        measured = index.measure_recall(**chosen, sample=options["audit"], progress=progress)
    if options["json"]:
        sys.stdout.write(json_module.dumps(measured.as_dict(), indent=2) + "\n")
    else:
        sys.stdout.write(f"Recall   {recall.line(measured.planned, measured, '', exact=True)}\n")


@app.command()
@o.takes()
def merge(
    place: Place,
    others: Annotated[list[str], typer.Argument(help="Indexes whose items are put in.", show_default=False)],
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Put all items of other indexes, created alike, into an index."""
    from lookalike.index.index import Index
    from lookalike.index.stores import shown

    with Index.open(place) as index:
        for other in others:
            merged = index.merge(other)
            if not quiet:
                line = f"{merged.count:,} of {shown(other)}, {merged.replaced:,} replaced"
                _say("Merged", f"{line} · {index.store.place} has {len(index):,}")


@app.command()
@o.takes()
def compact(place: Place, quiet: o.RunOptions.Quiet = False) -> None:
    """Make an index smaller and faster: removed items go, small parts are put together. Readers go on meanwhile."""
    from lookalike.index.index import Index

    with Index.open(place) as index:
        before = index.info()
        index.compact()
        after = index.info()
    if not quiet:
        sizes = f"{formatting.size(before['bytes'])} before, {formatting.size(after['bytes'])} now"
        _say("Compacted", f"{index.store.place}: {sizes}")


@app.command()
@o.takes()
def check(place: Place, quiet: o.RunOptions.Quiet = False) -> None:
    """Read all of an index and look for damage. One line on standard output for each; the exit code is then 1."""
    from lookalike.errors import DamagedIndex
    from lookalike.index.index import Index

    with Index.open(place, read_only=True) as index:
        checked = index.check()
        name = index.store.place
    for line in checked.damages:
        sys.stdout.write(line + "\n")
    if not quiet:
        _say("Checked", f"{name}: {formatting.count(checked.items, 'items')}, {formatting.size(checked.bytes)}")
        for path in checked.unprotected:
            _say("Without", f"checksums: {path}")
    if checked.damages:
        raise DamagedIndex(f"{name} is damaged ({len(checked.damages):,} found).")


class GroupsOptions(TypedDict, total=False):
    """The options of `groups`."""

    verdicts: shared.Verdicts
    output: o.OutputFile
    force: o.Force
    quiet: o.Quiet


@app.command()
@o.takes(GroupsOptions)
def groups(place: Place, options: dict[str, Any]) -> None:
    """List the groups of an index, the largest first: id, group, size.

    With --verdicts, groups that hold a judged item are made again from the matches among their items; what is stored
    does not change. Without -o, the table goes to the terminal or, in a pipe, to standard output as lines with tabs.
    """
    from lookalike.cli import output as show
    from lookalike.index.index import Index

    output, verdicts = options["output"], options["verdicts"] or None
    outputs = show.Outputs.check(output, force=options["force"])
    with Index.open(place, read_only=True) as index:
        table = index.groups(verdicts=verdicts)
    if output is None:
        _print_rows(table, "items")
    else:
        with outputs.together():
            outputs.write_table(table, output)
    if not options["quiet"]:
        number = len(table["group"].unique())
        _say("Found", f"{formatting.count(table.num_rows, 'items')} in {formatting.count(number, 'groups')}")


@app.command()
@o.takes()
def export(
    place: Place,
    output: Annotated[Path, o.option(o.RUN, "-o", "--output", help="Where to write, by extension.")],
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Write all items of an index as a table: id, item, group."""
    from lookalike.index.index import Index

    with Index.open(place, read_only=True) as index:
        index.export(output, force=force)
        if not quiet:
            _say("Wrote", f"{output}: {len(index):,} {index.kind.name}")


def _compared(index: Index) -> str:
    scale = index.kind.scale
    return f"{scale.column} {scale.bound} {index.kind.threshold:g}"


def _print_rows(table: pa.Table, what: str) -> None:
    from lookalike.cli import output as show

    show.print_rows(table, what)


def _say(label: str, text: str) -> None:
    from lookalike.cli import terminal

    terminal.err.say(label, text)
