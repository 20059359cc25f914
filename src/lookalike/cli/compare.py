"""The command `lookalike compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.core.formatting import share
from lookalike.errors import InputError, MissingInput


@o.takes()
def compare(
    left: Annotated[str, typer.Argument(help="A file, or the text itself.", show_default=False)],
    right: Annotated[str, typer.Argument(help="A file, or the text itself.", show_default=False)],
    unit: Annotated[o.Unit, o.option(o.SHINGLES_PANEL, help="Of what a shingle is made.")] = o.Unit.word,
    k: Annotated[int | None, o.option(o.SHINGLES_PANEL, "-k", help="Units in a shingle.", show_default=False)] = None,
    bag: Annotated[bool, o.option(o.SHINGLES_PANEL, "--bag", help="Count repeated shingles.")] = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Compare two texts by every measure, and mark what they share."""
    import json as json_module
    from dataclasses import asdict

    from rich.text import Text

    from lookalike.cli.terminal import Screen
    from lookalike.core.arrays import ShingleRule
    from lookalike.kinds.documents.compare import compare as compare_texts

    rule = ShingleRule.for_unit(unit.value, k, bag=bag)
    result = compare_texts(_text(left), _text(right), rule=rule)
    if json:
        sys.stdout.write(json_module.dumps(asdict(result), indent=2, ensure_ascii=False) + "\n")
        return
    out = Screen()
    for name, side in ((left, "left"), (right, "right")):
        out.rule(Text(_title(name)), style="dim")
        body = Text()
        for piece, shared in result.marked(side):  # type: ignore[arg-type]
            body.append(piece, style="bold green" if shared else "dim")
        out.print(body)
    out.rule(style="dim")
    for name, value in result.measures.items():
        out.print(f"{name.replace('_', ' '):<24} {share(value)}", markup=False)
    out.print(
        f"{'shared shingles':<24} {result.shared_shingles} of {result.shingles_left} and {result.shingles_right}",
        markup=False,
    )
    if rule.k > 1 and min(result.shingles_left, result.shingles_right) == 1:
        out.print(
            f"A text of up to {rule.k} {rule.unit}s is one shingle, alike or not: try a smaller -k, or --unit char."
        )


def _text(argument: str) -> str:
    """Return the content of the file with this name, or the argument itself if there is no such file."""
    path = Path(argument)
    try:
        if not path.is_file():
            if path.suffix and len(argument.split()) == 1:
                message = f"no such file: {argument}. To compare texts that look like file names, add a blank."
                raise MissingInput(message)
            return argument
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{argument} is not valid UTF-8 (byte {error.start}).") from error
    except MissingInput:
        raise
    except OSError:  # a text too long to be a file name
        return argument


def _title(argument: str) -> str:
    return argument if len(argument) <= 60 else argument[:57] + "..."
