"""The commands pairs, groups and dedup, written once for every kind of item."""

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
class Kind:
    """A kind of item on the command line.

    noun: in the plural. app: the module with the functions pairs, groups and dedup. options: the declaration of what
    all three take; pairs_options: of what only `pairs` takes. open: (inputs, options, keep) to the source that the app
    takes. score: the name of the column that tells how near two items are. near: that in words. works: large runs use
    a work folder. passes_force: the app itself writes something that --force lets it replace. grouping: the usual
    kind of group. aside: options that are not the app's; after: (result, these options, quiet) when the answer is
    written.
    """

    noun: str
    app: str
    options: Callable[..., None]
    open: Callable[[list[str], dict[str, Any], str], Any]
    pairs_options: Callable[..., None] = o.nothing
    score: str = "similarity"
    near: str = "similar, at or above the threshold,"
    works: bool = False
    passes_force: bool = False
    grouping: o.Grouping = o.Grouping.components
    aside: tuple[str, ...] = ()
    after: Callable[..., None] | None = None

    def commands(self) -> dict[str, Command]:
        """The three commands by name, ready for typer."""
        return {"pairs": self._pairs(), "groups": self._groups(), "dedup": self._dedup()}

    def place(self, output: Path | None) -> dict[str, Any]:
        """Where a large run works, as an option of the app: beside the output, or here."""
        return {"beside": o.beside(output)} if self.works else {}

    def _pass(self, options: dict[str, Any], force: bool) -> None:
        if self.passes_force:
            options["force"] = force

    def _set_aside(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: options.pop(name) for name in self.aside}

    def _finish(self, result: Any, aside: dict[str, Any], quiet: bool) -> None:
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
            from lookalike.cli import show

            outputs = show.Outputs.check(output, force=force)
            options |= self.place(output)
            source = self.open(inputs, options, "first")
            self._pass(options, force)
            aside = self._set_aside(options)
            with show.progress(quiet) as progress:
                result = import_module(self.app).pairs(
                    source, against=o.paths(against), progress=progress, **options
                )  # the app is loaded while the source is being read
                wrote = outputs.write_result(result, output)
            if output is None and not json:
                show.print_pairs(result)
            show.finish(result, wrote, quiet=quiet, json=json)
            self._finish(result, aside, quiet)

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
                    o.WHAT, help="components (chained pairs), or stars (all members similar to the representative)."
                ),
            ] = self.grouping,
            keep: o.Keep = "first",
            force: o.RunOptions.Force = False,
            quiet: o.RunOptions.Quiet = False,
            json: o.RunOptions.Json = False,
        ) -> None:
            from lookalike.cli import show

            outputs = show.Outputs.check(output, force=force)
            options |= self.place(output)
            source = self.open(inputs, options, keep)
            self._pass(options, force)
            aside = self._set_aside(options)
            with show.progress(quiet) as progress:
                result = import_module(self.app).groups(
                    source, grouping=grouping.value, keep=keep, progress=progress, **options
                )
                wrote = outputs.write_result(result, output)
            if output is None and not json:
                show.print_groups(result)
            show.finish(result, wrote, quiet=quiet, json=json)
            self._finish(result, aside, quiet)

        groups.__doc__ = f"""Group {self.noun} that are nearly the same: id, group, size, representative.

        Without -o, the largest groups go to the terminal or, in a pipe, all of them to standard output as
        tab-separated lines.
        """
        return o.takes(self.options)(groups)

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
            from lookalike.cli import show

            if output is None and removed is None and not json:
                raise UsageError("dedup writes the kept rows to a file: give -o OUT, for example -o clean.parquet.")
            outputs = show.Outputs.check(output, removed, force=force)
            options |= self.place(output or removed)
            source = self.open(inputs, options, keep)
            self._pass(options, force)
            aside = self._set_aside(options)
            with show.progress(quiet) as progress:
                result = import_module(self.app).dedup(
                    source, against=o.paths(against), keep=keep, progress=progress, **options
                )
                wrote = outputs.write_result(result, output)
                if removed is not None:
                    wrote += outputs.write_table(result.removed, removed)
            show.finish(result, wrote, quiet=quiet, json=json)
            self._finish(result, aside, quiet)

        dedup.__doc__ = f"""Write the rows without near-duplicates, with all their columns, in the old order.

        Every one of the {self.noun} that go is {self.near} to the one kept in its stead. With --against,
        removes what is similar to one of the {self.noun} there.
        """
        return o.takes(self.options)(dedup)
