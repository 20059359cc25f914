"""Help of the command line: plain text in sections, whose names are never cut, with an example for each command."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from lookalike.cli.examples import COMMAND_EXAMPLES, COMMANDS_BY_TASK
from lookalike.core.options import PANELS

MAX_WIDTH = 100  # of the help on wide terminals
NAME_COLUMN = 26  # a longer name of an option has a line to itself
HELP_ALL = "help_all"
SAME_MEANING = (  # options of several kinds, where users may expect the name of another kind
    ("--text", "--column", "--field", "--item", "--code"),
    ("-t", "--threshold", "-s", "--min-similarity", "-d", "--max-edits", "--max-bits", "--max-angle", "--min-cosine",
     "--max-distance", "--share", "--at-least", "--at-most", "--jaccard"),
    ("--top", "-n", "--limit", "--number", "--nearest", "--neighbours"),
    ("--against", "-r", "--references", "--gallery", "--in"),
)  # fmt: skip
COMPLETION_VARIABLE = "_LOOKALIKE_COMPLETE"  # set by a shell that asks for completions
OTHER_COMMANDS, OTHER_OPTIONS = "More commands", "Help"
running_commands: list[Any] = []  # contexts of the commands that are running, for all threads
METAVARS = {"int": "N", "integer": "N", "float": "NUMBER", "path": "PATH", "choice": "CHOICE"}  # by type


class Command(TyperCommand):
    """A command whose help has sections and an example, and hides rare options unless --help-all asks for them."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments; for an option of another kind, name those of this command with the same meaning."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ != "NoSuchOption":  # of click, or of the copy of it in newer versions of typer
                raise
            unknown: Any = error
            known = [max(one.opts, key=len) for one in self.params if one.param_type_name == "option"]
            alike = next((names for names in SAME_MEANING if unknown.option_name in names), ())
            unknown.possibilities = [name for name in known if name in alike] or unknown.possibilities
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and remember its context meanwhile."""
        running_commands.append(ctx)
        try:
            return super().invoke(ctx)
        finally:
            running_commands.pop()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with --help-all, which the help lists if an option is hidden."""
        params: list[Any] = super().get_params(ctx)
        return [*params, _help_all(hidden=not any(getattr(one, "hidden", False) for one in params))]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the name of the command in the usage line."""
        arguments = [one for one in self.params if one.param_type_name == "argument"]
        return ["[OPTIONS]", *(_argument(one) if one.required else f"[{_argument(one)}]" for one in arguments)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, the description, the example, the arguments and the options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_examples(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options of each panel."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            if one.param_type_name == "argument":
                rows.setdefault("Arguments", []).append((_argument(one), one.help or ""))
            elif not one.hidden or (ctx.meta.get(__name__) and one.name != HELP_ALL):
                rows.setdefault(one.rich_help_panel or OTHER_OPTIONS, []).append((_names(one), _meaning(one, ctx)))
        for panel in sorted(rows, key=_order):
            _write_section(formatter, panel, rows[panel])


class Group(TyperGroup):
    """A group of commands whose help lists them by task."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with --help-all, so that it is accepted by every command."""
        return [*super().get_params(ctx), _help_all(hidden=True)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usage, the description, the example, the commands of each task, and the options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_examples(ctx, formatter)
        self.format_commands(ctx, formatter)
        options = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        _write_section(formatter, "Options", [(_names(one), _meaning(one, ctx)) for one in options])
        formatter.write(f"\nSee `{ctx.command_path} COMMAND --help` for the options of a command.\n")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands; those of the whole command line by task."""
        names = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        tasks = COMMANDS_BY_TASK if ctx.parent is None else {"Commands": tuple(names)}
        listed = {name for task in tasks.values() for name in task}
        for task, members in {**tasks, OTHER_COMMANDS: tuple(name for name in names if name not in listed)}.items():
            rows = [(name, self.commands[name].get_short_help_str(1000)) for name in members if name in names]
            _write_section(formatter, task, rows)


class App(typer.Typer):
    """A Typer application whose commands have this help."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("cls", Group)
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH})
        super().__init__(rich_markup_mode=None, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Return a decorator that registers a command."""
        context = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}
        return super().command(name, **{"cls": Command, "context_settings": context, **settings})


def _help_all(*, hidden: bool) -> TyperOption:
    return TyperOption(
        param_decls=["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, hidden=hidden,
        help="Show this message with all options, rare ones too, and exit.",
    )  # fmt: skip


def _show_all(ctx: Any, _option: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[__name__] = True
        typer.echo(ctx.get_help())
        ctx.exit()


def _argument(one: Any) -> str:
    """Return an argument as it is written in the usage line: INPUT..."""
    name = one.metavar or (one.name or "").upper()
    return name if one.nargs == 1 or name.endswith("...") else f"{name}..."


def _names(one: Any) -> str:
    """Return the flags of an option and the name of its value: -t, --threshold NUMBER."""
    flags = sorted(one.opts, key=lambda flag: flag.startswith("--"))
    names = ", ".join(flags) + "".join(f" / {flag}" for flag in one.secondary_opts)
    return names if one.is_flag else f"{names} {_metavar(one)}"


def _metavar(one: Any) -> str:
    if one.metavar:
        return str(one.metavar)
    kind = one.type.name.removesuffix(" range")
    if kind in METAVARS:
        return METAVARS[kind]
    return "COLUMN" if (one.help or "").startswith("Column") else "TEXT"


def _meaning(one: Any, ctx: Any) -> str:
    """Return the help of an option, with its choices and its default."""
    parts = []
    if choices := getattr(one.type, "choices", None):
        parts.append("one of " + ", ".join(str(getattr(value, "value", value)) for value in choices))
    default = one.get_default(ctx, call=False)
    if one.show_default and default not in (None, False, [], ()):
        parts.append(f"default: {_default(one, default)}")
    return (one.help or "") + (f" [{'; '.join(parts)}]" if parts else "")


def _default(one: Any, value: Any) -> str:
    if value is True:
        return str(one.opts[-1].lstrip("-"))
    values = value if isinstance(value, list | tuple) else [value]
    return ", ".join(str(getattr(each, "value", each)) for each in values)


def _order(panel: str) -> tuple[int, int]:
    """Return where a section comes: arguments, what is similar, the kind's own, ..., the options of the help."""
    ends = {"Arguments": -1, OTHER_OPTIONS: 1}
    return ends.get(panel, 0), PANELS.index(panel if panel in PANELS else "")


def _write_examples(ctx: Any, formatter: Any) -> None:
    """Write the examples of a command, unwrapped, so that they can be copied."""
    name = ctx.command_path.partition(" ")[2]
    if name in COMMAND_EXAMPLES:
        formatter.write(f"\n{_bold('Example:' if len(COMMAND_EXAMPLES[name]) == 1 else 'Examples:')}\n")
        for example in COMMAND_EXAMPLES[name]:
            formatter.write(f"  lookalike {example}\n")


def _write_section(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        formatter.write(f"\n{_bold(heading + ':')}\n")
        column = min(max(len(name) for name, _ in rows), NAME_COLUMN) + 4
        for name, meaning in rows:
            lines = textwrap.wrap(meaning, formatter.width - column, break_on_hyphens=False, break_long_words=False)
            first = f"  {name}".ljust(column) if len(name) + 4 <= column else f"  {name}\n{'':{column}}"
            formatter.write(f"{first}{lines[0] if lines else ''}".rstrip() + "\n")
            formatter.write("".join(f"{'':{column}}{line}\n" for line in lines[1:]))


def _bold(text: str) -> str:
    return typer.style(text, bold=True) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def prepare_completion() -> None:
    """Let typer answer a shell that asks for completions."""
    if COMPLETION_VARIABLE in os.environ:
        from typer.completion import get_completion_inspect_parameters

        get_completion_inspect_parameters()
