"""Incremental MinHash signatures and an LSH table to query them, with the method names of datasketch."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lookalike.core import formatting
from lookalike.core.arrays import F64, U32, U64, Recipe, Sets, ShingleRule, Signatures, check_choice
from lookalike.errors import BadText, RecipeMismatch, UsageError
from lookalike.kernels import shingles, sketches, tokens
from lookalike.kinds.documents.signatures import band_keys, sketch
from lookalike.planning.banding import plan

if TYPE_CHECKING:
    from lookalike.kinds.documents.weighted_minhash import WeightedMinHash

TOKEN_RULE = ShingleRule(
    unit="token", k=1
)  # a MinHash of strings equals the signature that `la.pairs` computes of the list
PENDING = 4096  # tokens buffered before hashing: a kernel call costs as much as hundreds of tokens
TWO32 = 2.0**32


class MinHash:
    """Compute the signature of a set whose tokens are added one by one, in constant memory.

    Two signatures estimate the Jaccard similarity of their sets with a standard error of at most sqrt(J(1-J)/num_perm).
    Signatures of both schemes can be merged exactly: each slot stores the minimum hash of the set in that slot, and the
    minimum of a union is the minimum of the two. Fast Similarity Sketching (`fss-1`) orders hashes by round, then by
    value, so a slot stores 64 bits (8 num_perm bytes in total), from which `digest` computes the 32 bits of the
    signature. `fss-1` costs about one hash per token, `minhash-1` num_perm hashes per token.

    hashfunc: maps the bytes of a token to an integer, of which the lowest 64 bits count; tokens with equal integers are
    one token. MinHashes with different functions cannot be compared.

    >>> left, right = MinHash(), MinHash()
    >>> left.update_batch(["milk", "bread", "eggs", "rice"])
    >>> right.update_batch(["milk", "bread", "eggs", "tea"])
    >>> 0.4 < left.jaccard(right) < 0.8
    True
    >>> left
    MinHash(num_perm=128, seed=42, scheme='fss-1')
    """

    def __init__(
        self, num_perm: int = 128, *, seed: int = 42, scheme: Literal["fss-1", "minhash-1"] = "fss-1",
        hashfunc: Callable[[bytes], int] | None = None,
    ) -> None:  # fmt: skip
        check_choice("scheme", scheme, ("fss-1", "minhash-1"))
        if not 0 <= seed < 1 << 64:
            raise UsageError(f"seed is {seed}; expected a whole number from 0 to 2^64 - 1.")
        self.recipe = Recipe(scheme=scheme, seed=seed, length=num_perm, shingles=TOKEN_RULE)
        self.hashfunc = hashfunc
        self._pending: list[bytes] = []
        self._least: U64 = np.full(num_perm, sketches.EMPTY)

    @classmethod
    def bulk(cls, sets: Iterable[Iterable[bytes | str]], **options: Any) -> list[MinHash]:
        """Return one MinHash for each set of tokens, all with the same options."""
        return list(cls.generator(sets, **options))

    @classmethod
    def generator(cls, sets: Iterable[Iterable[bytes | str]], **options: Any) -> Iterator[MinHash]:
        """Yield one MinHash at a time; otherwise the same as `bulk`."""
        for token_set in sets:
            minhash = cls(**options)
            minhash.update_batch(token_set)
            yield minhash

    def __repr__(self) -> str:
        return f"MinHash(num_perm={self.num_perm}, seed={self.seed}, scheme={self.scheme!r})"

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
        """Add a token; a str is encoded as UTF-8. Adding a token twice has no effect."""
        data = as_bytes(token)
        self._pending.append(data if self.hashfunc is None else _word(self.hashfunc(data)))
        if len(self._pending) >= PENDING:
            self._settle()

    def update_batch(self, tokens: Iterable[bytes | str]) -> None:
        """Add many tokens."""
        for token in tokens:
            self.update(token)

    def _check_same(self, other: MinHash) -> None:
        self.recipe.check_same(other.recipe)
        if self.hashfunc != other.hashfunc:
            raise RecipeMismatch("the MinHashes have different functions `hashfunc`; expected the same for both.")

    def jaccard(self, other: MinHash) -> float:
        """Estimate the Jaccard similarity of the two sets (0 if one is empty).

        Raises RecipeMismatch if the two differ in scheme, seed or length.
        """
        self._check_same(other)
        if self.is_empty() or other.is_empty():
            return 0.0
        return float(np.mean(self._settle() == other._settle()))

    def merge(self, other: MinHash) -> None:
        """Merge `other` into this MinHash, which then equals the MinHash of the union of both sets.

        Raises RecipeMismatch if the two differ in scheme, seed or length.
        """
        self._check_same(other)
        np.minimum(self._settle(), other._settle(), out=self._least)

    @classmethod
    def union(cls, *minhashes: MinHash) -> MinHash:
        """Return the MinHash of the union of the sets of these MinHashes.

        Raises RecipeMismatch if they differ in scheme, seed or length.
        """
        if not minhashes:
            raise UsageError("union got no MinHash; expected at least one.")
        whole = minhashes[0].copy()
        for one in minhashes[1:]:
            whole.merge(one)
        return whole

    @property
    def hashvalues(self) -> U32:
        """The signature; the same as `digest()`."""
        return self.digest()

    def count(self) -> float:
        """Estimate the number of distinct tokens, with a relative error of about 1/sqrt(num_perm)."""
        return 0.0 if self.is_empty() else max(1, self.num_perm - 1) / float(self._waited().sum())

    def is_empty(self) -> bool:
        """Return True if no token has been added."""
        return not self._pending and bool(self._least[0] == sketches.EMPTY)

    def copy(self) -> MinHash:
        """Return an independent copy."""
        copied = MinHash(self.num_perm, seed=self.seed, scheme=self.recipe.scheme, hashfunc=self.hashfunc)  # type: ignore[arg-type]
        copied._pending, copied._least = self._pending.copy(), self._least.copy()
        return copied

    def clear(self) -> None:
        """Remove all tokens."""
        self._pending.clear()
        self._least[:] = sketches.EMPTY

    def digest(self) -> U32:
        """Return the signature, u32[num_perm], equal to the one that `la.pairs` computes for the same set."""
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
        """Hash the buffered tokens, and return the minimum hash of each slot."""
        if self._pending:
            np.minimum(self._least, _least(elements_of(self._pending), self.recipe), out=self._least)
            self._pending.clear()
        return self._least

    def _waited(self) -> F64:
        """Return the waiting time of each slot for its minimum hash: exponential with mean 1/n for a set of size n.

        Under minhash a slot is still empty at a fraction v of the hash range with probability (1-v)^n. Under Fast
        Similarity Sketching the probability is ((1-1/k)^i (1-v/k))^n at a fraction v of round i, and
        ((1-1/k)^k (1-v))^n in the round that belongs to the slot alone. The waiting time is -log of that for n = 1.
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
    """An LSH table that returns the keys of the MinHashes similar to a query, without comparing all of them.

    A set whose Jaccard similarity is exactly `threshold` is found with probability at least `recall`, and with a higher
    probability above the threshold. Some sets below it are returned too: results are candidates, to be compared.
    The attribute `plan` holds the bands and rows, and gives the probability at any similarity. `params=(bands, rows)`
    sets them directly.

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
        self._recipe: Recipe | None = None  # of the first MinHash that was inserted
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
        """The keys in insertion order."""
        return self._rows.keys()

    def insert(self, key: Hashable, minhash: MinHash | WeightedMinHash) -> None:
        """Insert the current state of a MinHash, or a WeightedMinHash, under a key.

        Raises UsageError if the key exists, and RecipeMismatch if the MinHash differs from the others in scheme, seed
        or length. An empty MinHash is stored but never found, because it is similar to nothing.
        """
        if key in self._rows:
            raise UsageError(f"key {key!r} is in the table already; remove it first, or take another key.")
        buckets = self._buckets(minhash)
        self._recipe = minhash.recipe
        self._rows[key] = buckets
        for table, bucket in zip(self._tables, buckets, strict=False):
            table.setdefault(bucket, {})[key] = None

    @contextmanager
    def insertion_session(self) -> Iterator[MinHashLSH]:
        """Yield the table itself, which needs no buffer: for programs that insert within a session."""
        yield self

    def query(self, minhash: MinHash | WeightedMinHash) -> list[Hashable]:
        """Return the distinct keys that share a band with this MinHash, in time proportional to the result."""
        keys: dict[Hashable, None] = {}
        for table, bucket in zip(self._tables, self._buckets(minhash), strict=False):
            keys.update(table.get(bucket, {}))
        return list(keys)

    def remove(self, key: Hashable) -> None:
        """Remove a key; raises UsageError if it is not in the table."""
        if key not in self._rows:
            raise UsageError(
                f"key {key!r} is not in the table of {formatting.count(len(self._rows), 'keys')}; insert it first."
            )
        for table, bucket in zip(self._tables, self._rows.pop(key), strict=False):
            del table[bucket][key]
            if not table[bucket]:
                del table[bucket]

    def is_empty(self) -> bool:
        """Return True if the table has no keys."""
        return not self._rows

    def get_counts(self) -> list[dict[int, int]]:
        """Return, for each band, the number of keys in each of its buckets."""
        return [{bucket: len(keys) for bucket, keys in table.items()} for table in self._tables]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._rows

    def _buckets(self, minhash: MinHash | WeightedMinHash) -> list[int]:
        """Return the bucket of the MinHash in each band; an empty list for an empty set."""
        recipe = self._recipe or replace(minhash.recipe, length=self.plan.num_hashes)
        recipe.check_same(minhash.recipe)
        if minhash.is_empty():
            return []
        signature = Signatures(minhash.digest()[np.newaxis], recipe)
        buckets: list[int] = band_keys(signature, self.plan.bands, self.plan.rows)[0].tolist()
        return buckets


def _word(value: int) -> bytes:
    """Return the lowest 64 bits of an integer as bytes."""
    return (int(value) & (1 << 64) - 1).to_bytes(8, "little")


def as_bytes(token: bytes | str) -> bytes:
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


def elements_of(strings: list[bytes]) -> U64:
    """Hash each token to an element, in the same way as a shingle of one token."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    hashes, elements = np.empty(len(strings), np.uint64), np.empty(len(strings), np.uint64)
    tokens.hash_strings(np.frombuffer(b"".join(strings), np.uint8), offsets, hashes)
    shingles.roll(hashes, len(strings), 1, False, elements)
    return elements


def _least(elements: U64, recipe: Recipe) -> U64:
    """Return the minimum hash of the elements (at least one) in each slot; fss-1 orders hashes by (round, value)."""
    if recipe.scheme == "minhash-1":
        one = Sets(elements, np.array([0, len(elements)]))
        return np.asarray(sketch(one, recipe).values[0], np.uint64)
    least, values = np.empty(recipe.length, np.uint64), np.empty(recipe.length, np.uint32)
    sketches.fast_similarity_sketch(elements, 0, len(elements), np.uint64(recipe.seed), least, values)
    return least
