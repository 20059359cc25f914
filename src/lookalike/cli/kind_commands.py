"""The commands pairs, groups and dedup, shared by every kind of item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from lookalike.cli import options as o
from lookalike.errors import UsageError

Command = Callable[..., None]


@dataclass(frozen=True)
class KindCommands:
    """A kind of item on the command line.

    noun: plural name. app: the module with the functions pairs, groups and dedup. options: declares the options of all
    three; pairs_options, groups_options: the options of `pairs` or `groups` only.
    open: (inputs, options, other arguments of the app) to the source
    that the app takes. score: the name of the score column. near: the criterion in words.
    works: large runs use a work folder. passes_force: the app itself writes something that --force lets it replace.
    grouping: the default grouping. aside: options that are not passed to the app; check: raises, before anything is
    read, for options that do not fit together; after: called with (result, the `aside` options, quiet) after writing.
    """

    noun: str
    app: str
    options: Callable[..., None]
    open: Callable[[list[str], dict[str, Any], dict[str, Any]], Any]
    pairs_options: Callable[..., None] = o.nothing
    groups_options: Callable[..., None] = o.nothing
    score: str = "similarity"
    near: str = "similar, at or above the threshold,"
    works: bool = False
    passes_force: bool = False
    grouping: o.Grouping = o.Grouping.components
    aside: tuple[str, ...] = ()
    check: Callable[[dict[str, Any]], None] | None = None
    after: Callable[..., None] | None = None

    def commands(self) -> dict[str, Command]:
        """Return the three commands by name, ready for typer."""
        return {"pairs": self._pairs(), "groups": self._groups(), "dedup": self._dedup()}

    def _run(
        self, asked: str, inputs: list[str], options: dict[str, Any], given: dict[str, Any], output: Path | None, *,
        removed: Path | None = None, force: bool, quiet: bool, json: bool,
    ) -> None:  # fmt: skip
        """Check, open, run, write and show, for all three commands. given: arguments of the app other than options."""
        from lookalike.cli import output as show
        from lookalike.cli import terminal
        from lookalike.io.atomic import check_output

        if self.check is not None:
            self.check(options)
        if options.get("engine") == "spark":
            from lookalike.cli.spark import run_on_spark

            aside = {name: options.pop(name) for name in self.aside}
            with run_on_spark(
                self.app, asked, inputs, options, given, output, removed, force=force, quiet=quiet, json=json
            ) as told:
                if self.after is not None:
                    self.after(told, aside, quiet=quiet)
            return
        outputs = show.Outputs.check(output, removed, force=force)
        if self.works:
            options["beside"] = o.beside(output or removed)
        source = self.open(inputs, options, given)
        if asked == "dedup" and output is not None:
            check_output(output, force=force, columns=getattr(source, "columns", ()))
        if self.passes_force:
            options["force"] = force
        aside = {name: options.pop(name) for name in self.aside}
        with terminal.progress(quiet) as progress:
            # The app is loaded while the source is being read.
            result = getattr(import_module(self.app), asked)(source, progress=progress, **given, **options)
            with outputs.together():
                wrote = outputs.write_result(result, output)
                if removed is not None:
                    wrote += outputs.write_table(result.removed, removed)
        if output is None and not json and asked != "dedup":
            (show.print_pairs if asked == "pairs" else show.print_groups)(result)
        show.finish(result, wrote, quiet=quiet, json=json)
        if self.after is not None:
            self.after(result, aside, quiet=quiet)
        result.done()

    def _pairs(self) -> Command:
        def pairs(
            inputs: o.Inputs,
            options: dict[str, Any],
            output: o.Out = None,
            against: o.Against = None,
            force: o.RunOptions.Force = False,
            quiet: o.RunOptions.Quiet = False,
            json: o.RunOptions.Json = False,
        ) -> None:
            given = {"against": o.paths(against)}
            self._run("pairs", inputs, options, given, output, force=force, quiet=quiet, json=json)

        pairs.__doc__ = f"""Find pairs of {self.noun} that are nearly the same: left, right, {self.score}.

        Without -o, pairs go to the terminal (the nearest ones) or, in a pipe, to standard output as
        tab-separated lines.
        """
        return o.takes(self.options, self.pairs_options)(pairs)

    def _groups(self) -> Command:
        def groups(
            inputs: o.Inputs,
            options: dict[str, Any],
            output: o.Out = None,
            grouping: Annotated[
                o.Grouping,
                o.option(
                    o.WHAT,
                    help="components (chained pairs), stars (all members similar to the representative), or cliques "
                    "(every two members similar).",
                ),
            ] = self.grouping,
            keep: o.Keep = "first",
            force: o.RunOptions.Force = False,
            quiet: o.RunOptions.Quiet = False,
            json: o.RunOptions.Json = False,
        ) -> None:
            given = {"grouping": grouping.value, "keep": keep}
            self._run("groups", inputs, options, given, output, force=force, quiet=quiet, json=json)

        groups.__doc__ = f"""Group {self.noun} that are nearly the same: id, group, size, representative.

        Without -o, the largest groups go to the terminal or, in a pipe, all of them to standard output as
        tab-separated lines.
        """
        return o.takes(self.options, self.groups_options)(groups)

    def _dedup(self) -> Command:
        def dedup(
            inputs: o.Inputs,
            options: dict[str, Any],
            output: o.Out = None,
            removed: Annotated[
                Path | None, o.option(o.RUN, help="Also write what went: id, kept, and how near.")
            ] = None,
            against: o.Against = None,
            keep: o.Keep = "first",
            force: o.RunOptions.Force = False,
            quiet: o.RunOptions.Quiet = False,
            json: o.RunOptions.Json = False,
        ) -> None:
            if output is None and removed is None and not json:
                raise UsageError("dedup writes the kept rows to a file: give -o OUT, for example -o clean.parquet.")
            given = {"against": o.paths(against), "keep": keep}
            self._run("dedup", inputs, options, given, output, removed=removed, force=force, quiet=quiet, json=json)

        dedup.__doc__ = f"""Write the rows without near-duplicates, with all their columns, in the old order.

        Every one of the {self.noun} that go is {self.near} to the one kept in its stead. With --against,
        removes what is similar to one of the {self.noun} there.
        """
        return o.takes(self.options)(dedup)
