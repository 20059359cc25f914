"""The command of a run as words, without where its output goes, so that it can be shown and run again."""

from __future__ import annotations

from enum import Enum
from typing import Any

from lookalike.cli.help import running_commands

NOT_REPEATED = ("output", "removed", "force", "quiet", "json")  # options of where the output goes


def command_words() -> list[str] | None:
    """Return the command that is running, with the options that were given; None outside the command line."""
    if not running_commands:
        return None
    context = running_commands[-1]
    names, above = [], context
    while above.parent is not None:
        names.append(above.info_name or "")
        above = above.parent
    flags: list[str] = []
    given: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if parameter.name in NOT_REPEATED or source is None or source.name != "COMMANDLINE":
            continue
        values = context.params.get(parameter.name)
        listed = list(values) if isinstance(values, list | tuple) else [values]
        if parameter.param_type_name == "argument":
            given += [_word(value) for value in listed if value is not None]
        elif getattr(parameter, "is_flag", False):
            flags.append(_long(parameter.opts if values else parameter.secondary_opts))
        else:
            flags += [word for value in listed for word in (_long(parameter.opts), _word(value))]
    return ["lookalike", *reversed(names), *given, *flags]


def _long(names: list[str]) -> str:
    return next((name for name in names if name.startswith("--")), names[0])


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    from lookalike.io.addresses import shown  # here, because every help loads this module

    return shown(str(value.value if isinstance(value, Enum) else value))
