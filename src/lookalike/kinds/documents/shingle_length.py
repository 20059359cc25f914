"""Choice of the shingle unit and length from data, by how often unrelated documents share a shingle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import Sets, ShingleRule, Unit
from lookalike.errors import InputError, UsageError
from lookalike.io.read import open_collection
from lookalike.kinds.documents.api import dedup
from lookalike.kinds.documents.features import shingle

LENGTHS: dict[Unit, range] = {"char": range(1, 16), "word": range(1, 9)}
ALPHABET = 20  # effective number of equally frequent letters in the textbook argument
SAMPLE_BYTES = 32 << 20  # maximum bytes of text to read
SAMPLE_DOCUMENTS = 1000
RELATED = 0.3  # Jaccard similarity of 5-word shingles at which two documents count as related
SHORT_DOCUMENT_WORDS = 20  # below this median number of words, characters are suggested


@dataclass(frozen=True)
class ShingleLength:
    """The chance agreement of one choice of unit and k.

    measured: the probability that a random shingle of a random document occurs in another, unrelated document of the
    sample. by_formula: the textbook estimate n / 20^k for n characters (None for words).
    """

    unit: Unit
    k: int
    measured: float
    by_formula: float | None


@dataclass(frozen=True)
class ShingleSurvey:
    """The result of `suggest_k`. documents: size of the sample; words, characters: medians per document."""

    unit: Unit
    k: int
    target: float
    documents: int
    words: int
    characters: int
    lengths: tuple[ShingleLength, ...]

    def best(self, unit: Unit) -> int | None:
        """Return the smallest k of a unit that reaches the target, or None."""
        return next((one.k for one in self.lengths if one.unit == unit and one.measured <= self.target), None)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def suggest_k(
    source: Any,
    *,
    target: float = 0.01,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  (the name of the option)
    seed: int = 0,
) -> ShingleSurvey:
    """Suggest the unit and the length k of shingles for a collection of texts.

    k is the smallest length for which a random shingle of one document occurs in an unrelated document with probability
    at most `target`: shorter shingles are shared by chance, longer ones lose similarity with every edit. Documents that
    are similar to another one are removed from the sample, because they do not share shingles by chance.

    Parameters
    ----------
    source
        Paths, a list of strings, or a table.
    target
        The largest probability of a shared shingle by chance.
    text, id
        Columns of the texts and their ids, if not recognised.
    seed
        Seed of the sample.

    Returns
    -------
    ShingleSurvey
        The unit, k, and the curve of the probability over k.

    Examples
    --------
    >>> import lookalike as la
    >>> from random import Random
    >>> draw = Random(1)
    >>> texts = [" ".join(draw.choices(["red", "green", "blue", "grey"], k=30)) for _ in range(50)]
    >>> survey = la.suggest_k(texts)
    >>> survey.unit, survey.k  # four words: 4^k shingles must be many more than 30
    ('word', 6)
    """
    if not 0 < target < 1:
        raise UsageError(f"target is {target}; expected a probability above 0 and below 1.")
    texts = _sample(source, text, id, seed)
    lengths = []
    words = _median(shingle(texts, ShingleRule(unit="word", k=1, bag=True)))
    characters = _median(shingle(texts, ShingleRule(unit="char", k=1, bag=True)))
    for unit, ks in LENGTHS.items():
        for k in ks:
            measured = _shared_by_chance(shingle(texts, ShingleRule(unit=unit, k=k)))
            formula = min(1.0, characters / ALPHABET**k) if unit == "char" else None
            lengths.append(ShingleLength(unit, k, measured, formula))
    chosen: Unit = "char" if words < SHORT_DOCUMENT_WORDS else "word"
    survey = ShingleSurvey(chosen, 0, target, len(texts), words, characters, tuple(lengths))
    other: Unit = "word" if chosen == "char" else "char"
    for unit in (chosen, other):
        k_least = survey.best(unit)
        if k_least is not None:
            return ShingleSurvey(unit, k_least, *list(vars(survey).values())[2:])
    return ShingleSurvey(chosen, LENGTHS[chosen][-1], *list(vars(survey).values())[2:])


def _sample(source: Any, text: str | None, id: str | None, seed: int) -> pa.Array:  # noqa: A002
    """Sample up to SAMPLE_DOCUMENTS non-empty texts from the beginning of the source, without near-duplicates."""
    collection = open_collection(source, text=text, id=id, on_bad_text="replace")
    if collection.is_tokens:
        raise UsageError(f"{collection.name} holds token lists, which are shingled as they are; expected texts.")
    parts, size = [], 0
    for batch in collection.texts():
        parts.append(batch.texts)
        size += batch.texts.nbytes
        if size > SAMPLE_BYTES:
            break
    texts = pa.chunked_array(parts, pa.large_string()).combine_chunks() if parts else pa.array([], pa.large_string())
    texts = texts.filter(pa.compute.greater(pa.compute.utf8_length(texts), 0))
    drawn = np.random.default_rng(seed).permutation(len(texts))[:SAMPLE_DOCUMENTS]
    texts = texts.take(pa.array(np.sort(drawn)))
    if len(texts):
        texts = dedup(pa.table({"text": texts}), threshold=RELATED, audit=0).kept["text"].combine_chunks()
    if len(texts) < 2:
        raise InputError(f"{collection.name} has fewer than 2 unrelated texts; a choice of k needs more.")
    return texts


def _median(sets: Sets) -> int:
    return int(np.median(sets.sizes))


def _shared_by_chance(sets: Sets) -> float:
    """Return the mean share of other documents that contain a shingle: averaged per document, then over documents."""
    n = len(sets)
    _, number, count = np.unique(sets.elements, return_inverse=True, return_counts=True)
    owner = np.repeat(np.arange(n), sets.sizes)
    shares = np.bincount(owner, (count[number] - 1) / (n - 1), minlength=n)
    return float((shares / np.maximum(1, sets.sizes)).mean())
