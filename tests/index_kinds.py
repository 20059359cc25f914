"""Items of every kind of index, with what is near: what the contract of an index is tried on."""

from __future__ import annotations

import functools
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.index.store import StoreCandidates


@dataclass(frozen=True)
class Sample:
    """items(n, seed): n items, many of them near an earlier one; options: of the index; wrong: items of another kind."""

    kind: str
    items: Callable[[int, int], list[Any]]
    options: dict[str, Any] = field(default_factory=dict)
    wrong: Any = (3.5,)


def score(index: Any, one: Any, other: Any) -> float | None:
    """What the index says of two items that match, without its keys; None where they do not."""
    kind = index.kind
    features = [_features(kind, item) for item in (one, other)]
    first = np.zeros(1, np.int64)
    met = StoreCandidates(first, first, features[1].data, first, features[1].offsets[1:])
    found = float(kind.score(features[0], met, kind.threshold)[0])
    return None if found == -np.inf else kind.scale.sign * found


def scores(index: Any, one: Any, others: Sequence[Any]) -> list[float | None]:
    """`score` of an item and each of the others."""
    kind = index.kind
    pieces = [_features(kind, other).data for other in others]
    ends = np.cumsum([0, *map(len, pieces)])
    met = StoreCandidates(
        np.zeros(len(others), np.int64), np.arange(len(others)), np.concatenate(pieces), ends[:-1], ends[1:]
    )
    found = kind.score(_features(kind, one), met, kind.threshold)
    return [None if value == -np.inf else kind.scale.sign * value for value in found.tolist()]


def _features(kind: Any, item: Any) -> Any:
    """Features take as long as many comparisons; they are kept for the last kind."""
    if _kept.get("kind") is not kind:
        _kept.clear()
        _kept["kind"] = kind
    text = item if isinstance(item, bytes) else repr(item)
    if text not in _kept:
        _kept[text] = next(kind.features(piece) for piece in kind.pieces([item]))
    return _kept[text]


_kept: dict[Any, Any] = {}


def _chain(n: int, seed: int, fresh: Callable[[random.Random], Any], near: Callable[[random.Random, Any], Any]) -> list:
    draw = random.Random(seed)
    out: list[Any] = []
    for _ in range(n):
        out.append(near(draw, draw.choice(out)) if out and draw.random() < 0.6 else fresh(draw))
    return out


def texts(n: int, seed: int) -> list[str]:
    def near(draw: random.Random, old: str) -> str:
        words = old.split()
        for _ in range(draw.randint(0, 2)):
            words[draw.randrange(len(words))] = f"w{draw.randint(0, 300)}"
        return " ".join(words)

    return _chain(n, seed, lambda draw: " ".join(f"w{draw.randint(0, 300)}" for _ in range(30)), near)


def lists(n: int, seed: int) -> list[list[int]]:
    return [[int(word[1:]) for word in text.split()] for text in texts(n, seed)]


def vectors(n: int, seed: int) -> list[list[float]]:
    def near(draw: random.Random, old: list[float]) -> list[float]:
        return [x + draw.gauss(0, 0.08) for x in old]

    made = _chain(n, seed, lambda draw: [draw.gauss(0, 1) for _ in range(16)], near)
    return np.array(made, np.float32).tolist()


def codes(n: int, seed: int) -> list[int]:
    def near(draw: random.Random, old: int) -> int:
        for _ in range(draw.randint(0, 5)):
            old ^= 1 << draw.randrange(64)
        return old

    return _chain(n, seed, lambda draw: draw.getrandbits(64) | 1 << 63, near)


def words(n: int, seed: int) -> list[str]:
    def near(draw: random.Random, old: str) -> str:
        at = draw.randrange(len(old) + 1)
        return draw.choice([old[:at] + "é" + old[at:], old[:at] + old[at + 1 :] or "a", old])

    return _chain(n, seed, lambda draw: "".join(draw.choice("abcdé") for _ in range(draw.randint(1, 12))), near)


NAMES = ["Anna", "Bertha", "Carla", "Doris", "Emma", "Frieda", "Gerda", "Hanna", "Ida", "Johanna"]


def people(n: int, seed: int) -> list[dict[str, Any]]:
    def fresh(draw: random.Random) -> dict[str, Any]:
        name = f"{draw.choice(NAMES)} {''.join(draw.choice('bcdfgaeiou') for _ in range(8))}"
        return {"name": name, "town": draw.choice(["York", "Leeds", "Hull", "Ripon"]), "born": draw.randint(1900, 2000)}

    def near(draw: random.Random, old: dict[str, Any]) -> dict[str, Any]:
        return draw.choice(
            [dict(old), {**old, "name": " ".join(reversed(old["name"].split()))}, {**old, "town": "Hull"}]
        )

    return _chain(n, seed, fresh, near)


@functools.lru_cache
def pictures(n: int, seed: int) -> list[bytes]:
    """The files of pictures of 32 by 32 pixels, whose hashes need no resampling."""

    def near(draw: random.Random, old: list[int]) -> list[int]:
        return [min(255, max(0, value + draw.choice([-6, 0, 6]))) for value in old]

    made = _chain(n, seed, lambda draw: [draw.randrange(256) for _ in range(64)], near)
    return [_png(np.kron(np.array(one, np.uint8).reshape(8, 8), np.ones((4, 4), np.uint8))) for one in made]


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def measured(n: int, seed: int) -> list[list[float]]:
    def near(draw: random.Random, old: list[float]) -> list[float]:
        return [x + draw.uniform(-9, 9) if draw.random() < 0.8 else draw.uniform(0, 255) for x in old]

    made = _chain(n, seed, lambda draw: [draw.uniform(0, 255) for _ in range(30)], near)
    return np.array(made, np.float32).tolist()


SAMPLES: dict[str, Sample] = {
    "documents": Sample("documents", texts, {"k": 2, "threshold": 0.6}, [[1, 2]]),
    "sets": Sample("sets", lists, {"threshold": 0.6}, ["a text"]),
    "vectors": Sample("vectors", vectors, {"dimensions": 16, "threshold": 12.0}, ["a text"]),
    "bits": Sample("bits", codes, {"bits": 64, "threshold": 6}, ["xyz"]),
    "strings": Sample("strings", words, {"threshold": 2}, [[1.0]]),
    "records": Sample(
        "records", people, {"sample": pa.Table.from_pylist(people(400, 99)), "threshold": 0.75}, ["text"]
    ),
    "images": Sample("images", pictures, {}, ["a path"]),
    "passages": Sample("passages", texts, {"min_tokens": 8, "threshold": 0.5}, [[1, 2]]),
    "faces": Sample("faces", measured, {"dimensions": 30, "threshold": 0.6}, ["a text"]),
}


def connected(edges: Sequence[tuple[int, int]], n: int) -> list[int]:
    """The least member of the component of each of n items."""
    parent = list(range(n))

    def root(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    for a, b in edges:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return [root(x) for x in range(n)]
