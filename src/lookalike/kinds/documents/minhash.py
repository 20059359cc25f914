"""Signatures of sets that grow, and a table of them to look up, with the method names that datasketch users know."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, KeysView
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lookalike.core import formatting
from lookalike.core.arrays import F64, U32, U64, Recipe, Sets, ShingleRule, Signatures, check_choice
from lookalike.errors import BadText, UsageError
from lookalike.kernels import shingles, sketches, tokens
from lookalike.kinds.documents.signatures import band_keys, sketch
from lookalike.planning.banding import plan

TOKEN_RULE = ShingleRule(unit="token", k=1)  # a MinHash of strings is the signature `la.pairs` makes of a list of them
PENDING = 4096  # tokens that wait to be hashed together: a call of the kernel costs as much as hundreds of tokens
TWO32 = 2.0**32


class MinHash:
    """The signature of a set of tokens that are added one by one. Its size does not grow with the set.

    Two of them estimate the Jaccard similarity of their sets with standard error sqrt(J(1-J)/num_perm) or less.
    Both schemes can be merged, exactly: in each slot a MinHash keeps the least hash that the set has there, and the
    least of a union is the lesser of the two. For Fast Similarity Sketching, `fss-1`, "least" goes by round, then by
    value, so 64 bits a slot are kept (8 num_perm bytes) from which `digest` makes the 32 of the signature. It costs
    about one hash a token, `minhash-1` num_perm of them.

    >>> left, right = MinHash(), MinHash()
    >>> left.update_batch(["milk", "bread", "eggs", "rice"])
    >>> right.update_batch(["milk", "bread", "eggs", "tea"])
    >>> 0.4 < left.jaccard(right) < 0.8
    True
    """

    def __init__(self, num_perm: int = 128, *, seed: int = 42, scheme: Literal["fss-1", "minhash-1"] = "fss-1") -> None:
        check_choice("scheme", scheme, ("fss-1", "minhash-1"))
        if not 0 <= seed < 1 << 64:
            raise UsageError(f"seed is {seed}; expected a whole number from 0 to 2^64 - 1.")
        self.recipe = Recipe(scheme=scheme, seed=seed, length=num_perm, shingles=TOKEN_RULE)
        self._pending: list[bytes] = []
        self._least: U64 = np.full(num_perm, sketches.EMPTY)

    @classmethod
    def bulk(cls, sets: Iterable[Iterable[bytes | str]], **options: Any) -> list[MinHash]:
        """One MinHash for each set of tokens, all with the same options."""
        return list(cls.generator(sets, **options))

    @classmethod
    def generator(cls, sets: Iterable[Iterable[bytes | str]], **options: Any) -> Iterator[MinHash]:
        """As `bulk`, one at a time."""
        for one in sets:
            made = cls(**options)
            made.update_batch(one)
            yield made

    @property
    def num_perm(self) -> int:
        return self.recipe.length

    @property
    def seed(self) -> int:
        return self.recipe.seed

    @property
    def scheme(self) -> str:
        return self.recipe.scheme

    def update(self, token: bytes | str) -> None:
        """Add a token; a text counts as its UTF-8 bytes. Adding one again changes nothing."""
        self._pending.append(_bytes(token))
        if len(self._pending) >= PENDING:
            self._settle()

    def update_batch(self, tokens: Iterable[bytes | str]) -> None:
        """Add many tokens."""
        for token in tokens:
            self.update(token)

    def jaccard(self, other: MinHash) -> float:
        """The estimate of the Jaccard similarity of the two sets; 0 where one is empty. RecipeMismatch if not alike."""
        self.recipe.check_same(other.recipe)
        if self.is_empty() or other.is_empty():
            return 0.0
        return float(np.mean(self._settle() == other._settle()))

    def merge(self, other: MinHash) -> None:
        """Become the MinHash of the union: equal to one that saw the tokens of both. RecipeMismatch if not alike."""
        self.recipe.check_same(other.recipe)
        np.minimum(self._settle(), other._settle(), out=self._least)

    def count(self) -> float:
        """An estimate of how many different tokens were added, off by about 1/sqrt(num_perm) of it."""
        return 0.0 if self.is_empty() else max(1, self.num_perm - 1) / float(self._waited().sum())

    def is_empty(self) -> bool:
        """True while no token was added."""
        return not self._pending and bool(self._least[0] == sketches.EMPTY)

    def copy(self) -> MinHash:
        """Another of the same value, that grows by itself."""
        made = MinHash(self.num_perm, seed=self.seed, scheme=self.recipe.scheme)  # type: ignore[arg-type]
        made._pending, made._least = self._pending.copy(), self._least.copy()
        return made

    def clear(self) -> None:
        """Be empty again."""
        self._pending.clear()
        self._least[:] = sketches.EMPTY

    def digest(self) -> U32:
        """The signature, u32[num_perm]: what the pipeline makes of the same set."""
        least = self._settle()
        if self.is_empty():
            return np.full(self.num_perm, sketches.NOTHING)
        values = least.astype(np.uint32)
        if self.scheme == "fss-1":
            values ^= (least >> sketches.HALF).astype(np.uint32) * sketches.ROUND
            values[values == sketches.NOTHING] = 0
        return values

    def __len__(self) -> int:
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MinHash):
            return NotImplemented
        return self.recipe == other.recipe and np.array_equal(self._settle(), other._settle())

    def _settle(self) -> U64:
        """Hash what is pending; then the least hash in each slot."""
        if self._pending:
            np.minimum(self._least, _least(_elements(self._pending), self.recipe), out=self._least)
            self._pending.clear()
        return self._least

    def _waited(self) -> F64:
        """How long each slot waited for its least hash, where a set of n makes the wait exponential with mean 1/n.

        A slot is still empty at a fraction v of its hashes with probability (1-v)^n under minhash; under Fast
        Similarity Sketching at a fraction v of round i with ((1-1/k)^i (1-v/k))^n, and ((1-1/k)^k (1-v))^n in the
        round that is all its own. The wait is -log of that for n = 1.
        """
        least = self._settle()
        share = ((least & sketches.LOW).astype(np.float64) + 0.5) / TWO32
        if self.scheme == "minhash-1" or self.num_perm == 1:
            return np.negative(np.log1p(-share))
        k = self.num_perm
        rounds = np.minimum(least >> sketches.HALF, np.uint64(k)).astype(np.float64)
        waited: F64 = -rounds * math.log1p(-1 / k) - np.log1p(-np.where(rounds < k, share / k, share))
        return waited


class MinHashLSH:
    """A table of MinHashes that finds the keys of those similar to a given one, without comparing all.

    The threshold means recall there: a set with Jaccard similarity exactly `threshold` is found with probability
    `recall` or more, one above it more surely. Some below it are found as well: they are candidates, to be compared.
    `plan` says with which bands and rows, and any probability. `params=(bands, rows)` takes these instead.

    >>> table = MinHashLSH(threshold=0.5)
    >>> for key, text in {"a": "one two three four", "b": "one two three five", "c": "six seven"}.items():
    ...     table.insert(key, MinHash.bulk([text.split()])[0])
    >>> sorted(table.query(MinHash.bulk([["one", "two", "three", "four"]])[0]))
    ['a', 'b']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        *,
        recall: float = 0.99,
        params: tuple[int, int] | None = None,
    ) -> None:
        if params is not None and len(params) != 2:
            raise UsageError(f"params is {params}; expected (bands, rows).")
        bands, rows = params or (None, None)
        self.plan = plan(threshold, recall=recall, num_hashes=num_perm, bands=bands, rows=rows)
        self._recipe: Recipe | None = None  # of the first that is inserted
        self._rows: dict[Hashable, list[int]] = {}
        self._tables: list[dict[int, dict[Hashable, None]]] = [{} for _ in range(self.plan.bands)]

    @property
    def b(self) -> int:
        """The number of bands."""
        return self.plan.bands

    @property
    def r(self) -> int:
        """The number of rows in a band."""
        return self.plan.rows

    @property
    def keys(self) -> KeysView[Hashable]:
        """The keys, in the order in which they were inserted."""
        return self._rows.keys()

    def insert(self, key: Hashable, minhash: MinHash) -> None:
        """Put a MinHash in as it is now. UsageError if the key is there; RecipeMismatch if it is not like the others.

        An empty one is kept but never found: it is similar to nothing.
        """
        if key in self._rows:
            raise UsageError(f"key {key!r} is in the table already; remove it first, or take another key.")
        found = self._buckets(minhash)
        self._recipe = minhash.recipe
        self._rows[key] = found
        for table, bucket in zip(self._tables, found, strict=False):
            table.setdefault(bucket, {})[key] = None

    def query(self, minhash: MinHash) -> list[Hashable]:
        """The keys of all that share a band with this one, each once. Cost: what is found, not what is stored."""
        found: dict[Hashable, None] = {}
        for table, bucket in zip(self._tables, self._buckets(minhash), strict=False):
            found.update(table.get(bucket, {}))
        return list(found)

    def remove(self, key: Hashable) -> None:
        """Take a key out; UsageError if it is not there."""
        if key not in self._rows:
            raise UsageError(
                f"key {key!r} is not in the table of {formatting.count(len(self._rows), 'keys')}; insert it first."
            )
        for table, bucket in zip(self._tables, self._rows.pop(key), strict=False):
            del table[bucket][key]
            if not table[bucket]:
                del table[bucket]

    def is_empty(self) -> bool:
        """True while no key is in."""
        return not self._rows

    def get_counts(self) -> list[dict[int, int]]:
        """For each band, how many keys each of its buckets holds."""
        return [{bucket: len(keys) for bucket, keys in table.items()} for table in self._tables]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._rows

    def _buckets(self, minhash: MinHash) -> list[int]:
        """The bucket in each band; none for an empty set."""
        recipe = self._recipe or replace(minhash.recipe, length=self.plan.num_hashes)
        recipe.check_same(minhash.recipe)
        if minhash.is_empty():
            return []
        signature = Signatures(minhash.digest()[np.newaxis], recipe)
        found: list[int] = band_keys(signature, self.plan.bands, self.plan.rows)[0].tolist()
        return found


def _bytes(token: bytes | str) -> bytes:
    if isinstance(token, bytes):
        return token
    if not isinstance(token, str):
        raise UsageError(f"a token is {token!r}; expected bytes or str. For a number, add str(number).")
    try:
        return token.encode()
    except UnicodeEncodeError as error:
        raise BadText(
            f"character {error.start} of token {token!r} is half of a surrogate pair; expected valid Unicode."
        ) from error


def _elements(strings: list[bytes]) -> U64:
    """The element of each token, as shingles of one token have it."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    hashes, elements = np.empty(len(strings), np.uint64), np.empty(len(strings), np.uint64)
    tokens.hash_strings(np.frombuffer(b"".join(strings), np.uint8), offsets, hashes)
    shingles.roll(hashes, len(strings), 1, False, elements)
    return elements


def _least(elements: U64, recipe: Recipe) -> U64:
    """The least hash of the elements (at least one) in each slot: of (round, value) under Fast Similarity Sketching."""
    if recipe.scheme == "minhash-1":
        one = Sets(elements, np.array([0, len(elements)]))
        return np.asarray(sketch(one, recipe).values[0], np.uint64)
    least, values = np.empty(recipe.length, np.uint64), np.empty(recipe.length, np.uint32)
    sketches.fast_similarity_sketch(elements, 0, len(elements), np.uint64(recipe.seed), least, values)
    return least
