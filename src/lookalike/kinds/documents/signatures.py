"""Computation of signatures from sets, and of band keys from signatures."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from lookalike.core.arrays import I64, U32, U64, Recipe, Sets, Signatures
from lookalike.errors import UsageError
from lookalike.kernels import hashing, sketches

P61 = (1 << 61) - 1


def sketch(sets: Sets, recipe: Recipe) -> Signatures:
    """Compute the signature of each set; the expected share of agreeing slots of two sets is their Jaccard similarity.

    Fast Similarity Sketching costs about one hash per element for sets larger than the signature; classic minhash
    costs `length` hashes per element.

    >>> import numpy as np
    >>> one = Sets(np.array([3, 5, 8], np.uint64), np.array([0, 3]))
    >>> sketch(one, Recipe(length=4)).values.shape
    (1, 4)
    """
    return sketch_items(sets.elements, sets.offsets[:-1], sets.sizes, recipe)


def sketch_items(elements: U64, starts: I64, sizes: I64, recipe: Recipe) -> Signatures:
    """Compute signatures as `sketch` does, for sets at any positions of the array of elements."""
    values = np.empty((len(starts), recipe.length), np.uint32)
    if recipe.scheme == "fss-1":
        sketches.sketch_sets(elements, starts, sizes, np.uint64(recipe.seed), values)
    elif recipe.scheme == "minhash-1":
        a, b = universal_functions(recipe.seed, recipe.length)
        sketches.minhash_sets(elements, starts, sizes, a, b, np.uint64(1 << 32), values)
    elif recipe.scheme == "darts-1":
        raise UsageError("scheme 'darts-1' needs weights: use WeightedMinHash.")
    else:
        raise UsageError("scheme 'permutation-1' needs its permutations: use sketch_by_permutations.")
    whole = Signatures(values, replace(recipe, bits=32))
    return whole if recipe.bits == 32 else whole.cut(recipe.bits)


def sketch_by_permutations(sets: Sets, permutations: U32) -> Signatures:
    """Compute textbook minhash signatures: elements are row numbers, and permutations[j, row] is the position of a row.

    The recipe's seed is a hash of the permutations.
    """
    if len(sets.elements) and int(sets.elements.max()) >= permutations.shape[1]:
        raise UsageError(
            f"an element is {sets.elements.max()}; the permutations are of 0 to {permutations.shape[1] - 1} only."
        )
    values = np.empty((len(sets), len(permutations)), np.uint32)
    sketches.permute_sets(
        sets.elements, sets.offsets[:-1], sets.sizes, np.ascontiguousarray(permutations, np.uint32), values
    )
    named = int.from_bytes(hashlib.blake2b(permutations.astype("<u4").tobytes(), digest_size=8).digest(), "little")
    return Signatures(values, Recipe(scheme="permutation-1", seed=named, length=len(permutations)))


def universal_functions(seed: int, length: int) -> tuple[U64, U64]:
    """Derive coefficients a (1 to p-1) and b (0 to p-1) of `length` functions ((a x + b) mod p) mod N, p = 2^61 - 1."""
    words = np.empty(2 * length, np.uint64)
    hashing.mix_all(np.arange(2 * length, dtype=np.uint64), np.uint64(seed), words)
    return words[:length] % np.uint64(P61 - 1) + np.uint64(1), words[length:] % np.uint64(P61)


def band_keys(signatures: Signatures, bands: int, rows: int) -> U64:
    """Compute the band keys, u64[n, bands]: equal if all rows of a band agree (and by chance once in 2^64)."""
    if bands * rows > signatures.values.shape[1]:
        raise UsageError(f"{bands} bands of {rows} rows need {bands * rows} hashes; the signatures have "
                         f"{signatures.values.shape[1]}.")  # fmt: skip
    out = np.empty((len(signatures), bands), np.uint64)
    sketches.band_keys(signatures.values, rows, out)
    return out
