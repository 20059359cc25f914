"""One spelling of an option across commands: what means the same has the same flags, and a flag means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"
# Flags with two types of values, and why.
TWO_TYPES = {
    "--by": "who judges; of stories, what makes a story",
    "--cache": "a folder; of `runs clean`, whether it is emptied",
    "-d": "a largest distance: a number of bits or edits is whole",
    "--engine": "kinds that run on one machine only accept no other choice",
    "--measure": "the measures of an index depend on its kind",
    "--sample": "how many are drawn; of `index create`, from what to learn",
    "--weights": "of fields, how they are chosen; of shingles and items, a table of them",
}


def options() -> list[tuple[str, str, str, str]]:
    """List (command, flags, type of the value, help) of every option of every command."""
    rows = []
    for section in re.split(r"\n##+ lookalike ?", REFERENCE.read_text())[1:]:
        command, _, text = section.partition("\n")
        for found in re.finditer(
            r"^  {1,2}(-\S[^\n]*?)(?:  +(\S[^\n]*))?\n((?:       +\S[^\n]*\n)*)", text, re.MULTILINE
        ):
            if (names := re.fullmatch(r"(.*?-[a-z-]+)(?: ([A-Z].*))?", found[1])) is None:
                continue  # a line of prose
            flags, kind = names.groups("")
            said = " ".join([found[2] or "", *(line.strip() for line in found[3].splitlines())]).strip()
            rows.append((command, flags, kind, re.split(r" (?:\(default|\[default|\[one of)", said)[0]))
    return rows


def test_an_option_takes_the_same_type_of_value_in_every_command() -> None:
    kinds = defaultdict(lambda: defaultdict(list))
    for command, flags, kind, _ in options():
        for flag in re.findall(r"(?<![a-z-])-[a-z-]+", flags):
            kinds[flag][kind].append(command)
    assert len(kinds) > 200
    several = {flag: dict(found) for flag, found in kinds.items() if len(found) > 1 and flag not in TWO_TYPES}
    assert not several


def test_what_means_the_same_has_the_same_flags() -> None:
    named = defaultdict(lambda: defaultdict(list))
    for command, flags, _, said in options():
        if said:
            named[said][flags].append(command)
    assert len(named) > 200
    assert not {said: dict(found) for said, found in named.items() if len(found) > 1}


def test_a_short_flag_means_one_thing() -> None:
    longs = defaultdict(set)
    for _, flags, _, _ in options():
        if short := re.match(r"(-[a-z]), (--[a-z-]+)", flags):
            longs[short[1]].add(short[2])
    distances = {"--max-bits", "--max-edits", "--within"}
    assert {short: names for short, names in longs.items() if len(names) > 1} == {"-d": distances}
