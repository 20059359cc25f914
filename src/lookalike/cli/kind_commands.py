"""The commands pairs, groups and dedup, shared by every kind of item."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypedDict

from lookalike.cli import options as o
from lookalike.cli.listed_pairs import ListedPairsArguments, group_listed_pairs
from lookalike.cli.nearest import nearest_command
from lookalike.cli.streams import STANDARD_STREAM, StreamOptions, Streams, streams
from lookalike.cli.tidy import Tidy, TidyOptions
from lookalike.core import run_options as shared
from lookalike.core.options import Option, declared
from lookalike.core.run_options import Grouping, GroupingOption, WithText
from lookalike.errors import UsageError

Command = Callable[..., None]


class Nothing(TypedDict, total=False):
    """No options."""


TEXT_KINDS = ("documents", "strings", "baskets", "records")  # kinds whose items have a text


class TextColumns(TypedDict, total=False):
    """The option of commands whose tables can show the items."""

    with_text: Annotated[
        WithText | None,
        Option(None, "Put the texts of the items next to their ids: their beginnings, or all.",
               unset="none; all for strings without ids"),
    ]  # fmt: skip


class PairsArguments(TypedDict, total=False):
    """The parameters of `pairs`."""

    against: shared.Against


class GroupsArguments(TypedDict, total=False):
    """The parameters of `groups`."""

    grouping: GroupingOption
    keep: shared.KeepPolicy


class DedupArguments(TypedDict, total=False):
    """The parameters of `dedup`."""

    removed: Annotated[
        Path | None, Option(None, "Also write the removed rows: id, kept, and their similarity.", unset="not written")
    ]
    sizes: Annotated[
        Path | None,
        Option(None, "Also write the sizes of the groups: id of the kept row, group_size, copies.",
               unset="not written"),
    ]  # fmt: skip
    against: shared.Against
    keep: shared.KeepPolicy


def _check_text_columns(output: Path | None, engine: str | None) -> None:
    if engine == "spark":
        raise UsageError("--with-text is for one machine; leave out --engine spark.")
    if output is not None and not output.suffix and str(output) != STANDARD_STREAM:
        raise UsageError("--with-text is for files; a result folder has the tables that other commands read.")


@dataclass(frozen=True)
class KindCommands:
    """A kind of item on the command line.

    noun: plural name. app: the module with the functions pairs, groups and dedup. options: the TypedDict that declares
    the options of all three; pairs_options, groups_options, dedup_options: further ones of each;
    nearest_options: those of `nearest`, None if the kind does not have it. open: (inputs, options, other arguments of
    the app) to the source that the app takes. score: the name of the score column.
    near: the criterion in words. inputs: the help of INPUT, if not that of documents.
    works: large runs use a work folder. tidies: `dedup` can change the files of the items.
    passes_force: the app itself writes something that --force lets it replace. grouping: the default grouping.
    lists_pairs: `groups` can group the pairs of a file, without INPUT.
    aside: declares options that are not passed to the app; check: raises, before anything is read, for options that do
    not fit together; after: called with (result, the `aside` options, quiet) after writing.
    """

    noun: str
    app: str
    options: type
    open: Callable[[list[str], dict[str, Any], dict[str, Any]], Any]
    pairs_options: type = Nothing
    groups_options: type = Nothing
    dedup_options: type = Nothing
    nearest_options: type | None = None
    score: str = "similarity"
    near: str = "similar, at or above the threshold,"
    inputs: str = ""
    works: bool = False
    tidies: bool = False
    passes_force: bool = False
    grouping: Grouping = "components"
    lists_pairs: bool = False
    aside: type = Nothing
    check: Callable[[dict[str, Any]], None] | None = None
    after: Callable[..., None] | None = None

    def commands(self) -> dict[str, Command]:
        """Return the commands by name, ready for typer."""
        known = {"pairs": self._pairs(), "groups": self._groups(), "dedup": self._dedup()}
        if self.nearest_options is not None:
            known["nearest"] = nearest_command(self.noun, self.app, self.nearest_options, self.score, self.inputs)
        return known

    def _run(
        self, asked: str, inputs: list[str], options: dict[str, Any], given: dict[str, Any], target: o.Target,
        tidy: Tidy, opened: Streams,
    ) -> None:  # fmt: skip
        """Check, open, run, write and show, for all three commands. given: arguments of the app other than options."""
        from lookalike.cli import output as show
        from lookalike.cli import terminal
        from lookalike.io.atomic import check_output

        if self.check is not None:
            self.check(options)
        with_text = options.pop("with_text", None)
        if with_text not in (None, "none"):
            _check_text_columns(target.output, options.get("engine"))
        aside = {name: options.pop(name) for name in declared(self.aside)}
        sizes = given.pop("sizes", None)
        if sizes is not None and options.get("engine") == "spark":
            raise UsageError("--sizes is for one machine; leave out --engine spark.")
        if options.get("engine") == "spark":
            from lookalike.cli.spark import run_on_spark

            with run_on_spark(self.app, asked, inputs, options, given, target) as result:
                if self.after is not None:
                    self.after(result, aside, quiet=target.quiet)
            return
        output, sends = target.output, target.output is not None and str(target.output) == STANDARD_STREAM
        if sends:
            output = opened.target(output, inputs, None if asked == "dedup" else "tsv")
        outputs = show.Outputs.check(output, target.removed, sizes, force=target.force)
        if self.works:
            options["beside"] = o.beside(opened.folder / "run" if opened.folder else output or target.removed)
        source = self.open(inputs, options, given)
        if with_text is None:
            with_text = "all" if self.noun == "strings" and source.id_column is None else "none"
        seen = tidy.look(source)
        if asked == "dedup" and output is not None:
            check_output(output, force=target.force, columns=getattr(source, "columns", ()))
        if options.get("size_columns") and output is not None:
            from lookalike.io.verbatim import check_added_columns

            check_added_columns(getattr(source, "readers", ()), output, "size_columns")
        if self.passes_force:
            options["force"] = target.force
        with terminal.progress(target.quiet) as progress:
            # The app is loaded while the source is being read.
            result = getattr(import_module(self.app), asked)(source, progress=progress, **given, **options)
            with outputs.together():
                removed = None if target.removed is None else result.removed
                if removed is not None and with_text != "none":
                    removed = result.with_text(removed, whole=with_text == "all")
                others = [] if target.removed is None else outputs.write_table(removed, target.removed)
                others += [] if sizes is None else outputs.write_table(result.sizes, sizes)
                wrote = outputs.write_result(result, output, others, with_text) + others
        if sends and output is not None:
            opened.send(output)
            wrote = [path for path in wrote if path.parent != output.parent]
        if output is None and not target.json and asked != "dedup":
            (show.print_pairs if asked == "pairs" else show.print_groups)(result, with_text)
        show.finish(result, wrote, quiet=target.quiet, json=target.json)
        if self.after is not None:
            with redirect_stdout(sys.stderr) if sends else nullcontext():
                self.after(result, aside, quiet=target.quiet)
        tidy.run(result, seen, quiet=target.quiet)
        result.done()

    def _command(self, asked: str, arguments: type, summary: str) -> Command:
        """Return a command that passes the `arguments` and the options of the kind on to the app."""

        tidies = asked == "dedup" and self.tidies
        lists_pairs = asked == "groups" and self.lists_pairs

        def command(inputs: o.Inputs, options: dict[str, Any]) -> None:
            given = {name: options.pop(name) for name in declared(arguments)}
            target = o.Target.of(options, given.pop("removed", None))
            if lists_pairs and group_listed_pairs(inputs, options, given, target, self.options):
                return
            tidy = Tidy.of(options) if tidies else Tidy()
            if tidy.apply and options.get("drop_all"):
                raise UsageError("--drop-all leaves no file of a group, so --apply has none to keep; give one of them.")
            writes = target.output or target.removed or target.json or tidy.apply
            if asked == "dedup" and not writes:
                raise UsageError("dedup writes the kept rows to a file: give -o OUT, for example -o clean.parquet.")
            if target.json and str(target.output) == STANDARD_STREAM:
                raise UsageError("-o - and --json both write to standard output; give a file to one of them.")
            with streams(options, inputs, given.get("against")) as opened:
                inputs = opened.files(inputs)
                if given.get("against"):
                    given["against"] = opened.files(given["against"])
                if "against" in given:
                    given["against"] = o.paths(given["against"])
                self._run(asked, inputs, options, given, target, tidy, opened)

        command.__name__, command.__doc__ = asked, summary
        if self.inputs:
            command.__annotations__["inputs"] = o.inputs_of(self.inputs)
        if lists_pairs:
            command.__defaults__ = ([], {})
        own = o.command_parameters(arguments) | (o.command_parameters(ListedPairsArguments) if lists_pairs else {})
        if "grouping" in own:
            own["grouping"] = o.with_default(own["grouping"], self.grouping)
        further = {"pairs": self.pairs_options, "groups": self.groups_options}.get(asked, Nothing)
        if tidies:
            further = TidyOptions
        more = self.dedup_options if asked == "dedup" else Nothing
        texts = TextColumns if self.noun in TEXT_KINDS else Nothing
        return o.takes(o.OutputOptions, StreamOptions, texts, own, self.options, further, more, self.aside)(command)

    def _pairs(self) -> Command:
        return self._command(
            "pairs",
            PairsArguments,
            f"""Find pairs of {self.noun} that are nearly the same: left, right, {self.score}.

            Without -o, pairs go to the terminal (the nearest ones) or, in a pipe, to standard output as
            tab-separated lines.
            """,
        )

    def _groups(self) -> Command:
        return self._command(
            "groups",
            GroupsArguments,
            f"""Group {self.noun} that are nearly the same: id, group, size, representative.

            Without -o, the largest groups go to the terminal or, in a pipe, all of them to standard output as
            tab-separated lines.
            """,
        )

    def _dedup(self) -> Command:
        return self._command(
            "dedup",
            DedupArguments,
            f"""Write the rows without near-duplicates, with all their columns, in the order of the input.

            Each of the {self.noun} that are removed is {self.near} to one that is kept. With --against,
            those are removed that are similar to one of the {self.noun} there.
            """,
        )
