"""The command `lookalike samples`: small data sets to follow the documentation with."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o

TOWN = "The town council voted on Monday to plant three hundred trees before the spring."
SHORT = "The town council voted on Monday to plant three hundred trees before spring!"
NEWS = (
    TOWN,
    SHORT,
    "A goal in the last minute gave the visitors a draw that nobody had expected.",
    TOWN.upper(),
    "On Monday the council voted: three hundred trees will be planted before the spring.",
    "Rain is expected in the north; the south stays dry and warm until the weekend.",
)
PEOPLE = ("Ann Lee,York", "Anne Lee,York", "Bob Stone,Hull", "Cy Old,Bath")
SALES = (("ann", "tea"), ("ann", "jam"), ("bob", "tea"), ("bob", "jam"), ("cy", "nails"))
FOOTER = " copyright all rights reserved subscribe to our newsletter for more stories like this one"
SYLLABLES = (("ka", "mi", "to", "su", "re", "no", "li", "va"), ("ran", "til", "sek", "mor", "dan", "fel"))


@o.takes()
def samples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to.", show_default=False)],
    topic: Annotated[
        str | None,
        o.option(o.RUN, "--topic", metavar="NAME", help="The data of one how-to guide, such as documents or photos."),
    ] = None,
    force: o.RunOptions.Force = False,
) -> None:
    """Write the small data sets that the documentation uses: texts, essays, people, sales and vectors.

    They are made up, and do not change from one machine to another.
    """
    from lookalike.cli import terminal
    from lookalike.cli.sample_sets import TOPICS
    from lookalike.errors import UsageError, listed, nearest
    from lookalike.io.atomic import check_place, replacing

    if topic is not None and topic not in TOPICS:
        raise UsageError(f"no topic {topic!r}.{nearest(topic, TOPICS)} Topics: {listed(TOPICS)}.")
    files = texts() | {"embeddings.npy": _vectors()} if topic is None else TOPICS[topic]()
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        if (folder / name).parent.is_dir():
            check_place(folder / name, force=force)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name, force=force) as draft:
            draft.path.write_bytes(content.encode() if isinstance(content, str) else content)
    terminal.err.say("Wrote", ", ".join(str(folder / name) for name in files))


def texts() -> dict[str, str | bytes]:
    """Return the text files by name: a corpus with near-copies from two sites, and smaller ones."""
    rng = random.Random(1)
    words = [first + last for first in SYLLABLES[0] for last in SYLLABLES[1]]
    stories = [" ".join(rng.choices(words, k=60)) for _ in range(12)]
    rows = [
        {"url": f"https://a.example/{n}", "quality": n % 3, "text": story + FOOTER} for n, story in enumerate(stories)
    ]
    rows += [
        {"url": f"https://b.example/{n}", "quality": 5, "text": stories[n].replace("karan", "other") + FOOTER}
        for n in range(4)
    ]
    return {
        "news.csv": "id,text\n" + "".join(f"{name},{text}\n" for name, text in zip("abcdef", NEWS, strict=True)),
        "a.txt": TOWN + "\n",
        "b.txt": SHORT + "\n",
        "corpus.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "test.jsonl": json.dumps({"id": "t", "text": rows[5]["text"]}) + "\n",
        "essays/ann.txt": stories[6] + "\n",
        "essays/bob.txt": f"{stories[7]} {' '.join(stories[6].split()[10:40])}\n",
        "people.csv": "id,name,town\n" + "".join(f"{n},{person}\n" for n, person in enumerate(PEOPLE, 1)),
        "sales.csv": "customer,product\n" + "".join(f"{who},{what}\n" for who, what in SALES),
        "walk.csv": "value\n" + "".join(f"{value:.3f}\n" for value in _walk()),
    }


def _walk() -> list[float]:
    """Return a random walk in which 120 steps occur twice."""
    rng = random.Random(2)
    steps = [rng.gauss(0, 1) for _ in range(900)]
    steps[600:720] = [step + rng.gauss(0, 0.05) for step in steps[150:270]]
    return list(accumulate(steps))


def _vectors() -> bytes:
    """Return a .npy file of 50 vectors in 8 dimensions; the last is near the first."""
    from io import BytesIO

    import numpy as np

    vectors = np.random.default_rng(0).standard_normal((50, 8))
    vectors[-1] = vectors[0] * 1.01 + 0.01
    out = BytesIO()
    np.save(out, vectors)
    return out.getvalue()
