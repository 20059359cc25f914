"""Kinds of items: how items are converted into features and keys, and how features are scored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lookalike.core.arrays import F64, I64, Scale, check_choice
from lookalike.errors import InputError, RecallWarning, UsageError, nearest
from lookalike.index.items import Batch
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys


class IndexKind(Protocol):
    """The interface of a kind of item. Its settings alone determine it, so that a reopened index has the same kind."""

    @property
    def name(self) -> str: ...

    @property
    def scheme(self) -> str:
        """The name of the method that computes keys; a changed method has a new name."""

    @property
    def queries_at_once(self) -> int | None:
        """The largest number of queries whose probes are computed together; None if each query has few probes."""

    @property
    def is_own_feature(self) -> bool:
        """Whether the features are the items themselves, so that the items need not be stored separately."""

    @property
    def scale(self) -> Scale:
        """How scores are shown. Internally a higher score is nearer, so distances are negated."""

    @property
    def threshold(self) -> float:
        """The threshold of the index, as users see it; queries cannot use a looser one."""

    def settings(self) -> dict[str, Any]:
        """Return the options that recreate the kind, as plain JSON values."""

    def plan(self) -> dict[str, Any]:
        """Return the plan of the keys and its recall, for `Index.info`."""

    def check(self, threshold: float | None) -> float:
        """Return the threshold of a query, by default that of the index; UsageError if the index cannot answer it."""

    def pieces(self, items: Any) -> Iterator[Any]:
        """Yield the given items, validated, in pieces of a few MB (Arrow arrays or other sized collections)."""

    def read(self, source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
        """Yield the items and ids of a source (paths, a table) in batches. column: the column that holds the items."""

    def features(self, piece: Any) -> Blobs:
        """Return the features of items, by which they are compared."""

    def keys(self, features: Blobs) -> StoredKeys:
        """Return the keys under which items are stored."""

    def probes(self, features: Blobs) -> StoredKeys:
        """Return the keys that queries (at most `queries_at_once`) look up. Queries with too many keys are scanned."""

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        """Return the exact score of each candidate, or -inf if it does not reach the threshold."""

    def farthest(self, one: Blobs, other: Blobs) -> float:
        """Return a threshold that two items reach unless they have nothing in common.

        It is the threshold of the kind if the comparison would take too long.
        """

    def raw(self, piece: Any) -> Blobs:
        """Serialise items to bytes."""

    def item(self, raw: bytes) -> Any:
        """Deserialise an item from the bytes of `raw`."""


@runtime_checkable
class ScannedKind(IndexKind, Protocol):
    """A kind whose queries may need too many keys; these are compared with every stored item that is in reach."""

    def in_reach(self, query: int, stored: I64, threshold: float) -> tuple[I64, int]:
        """Return (rows of the stored items that can match, number of steps that the comparisons take).

        query: size of its features in bytes; stored i64[n]: size of the features of each stored item in bytes.
        """


class SharedRun(NamedTuple):
    """A passage of a query and a stored text: candidate: position of the stored text; the rest in characters."""

    candidate: int
    start: int
    end: int
    stored_start: int
    stored_end: int
    tokens: int


@runtime_checkable
class PassageFinder(IndexKind, Protocol):
    """A kind of texts that knows where two of them share passages."""

    def shared_runs(
        self, query: bytes, features: Blobs, stored: Blobs, raw: Callable[[I64], Sequence[bytes | None]],
        most: int | None,
    ) -> list[SharedRun]:  # fmt: skip
        """Return the passages that a text shares with stored ones, most shared words first.

        query, features: the text and its features; stored: the features of the others; raw: rows of `stored` to their
        bytes, None for removed ones; most: the largest number of stored texts.
        """


def too_loose(threshold: float, found: str, nearer: str = "nearer") -> UsageError:
    """Return the error for a query beyond the threshold of an index. found: what the index finds."""
    return UsageError(
        f"threshold is {threshold:g}; this index finds {found}. Ask for that or {nearer}, or create another index."
    )


KINDS = {  # module and class of each kind, imported on first use
    "documents": "lookalike.kinds.documents.index:DocumentKind",
    "sets": "lookalike.kinds.documents.index:SetKind",
    "baskets": "lookalike.kinds.baskets.index:BasketKind",
    "vectors": "lookalike.kinds.vectors.index:VectorKind",
    "bits": "lookalike.kinds.bits.index:BitKind",
    "strings": "lookalike.kinds.strings.index:StringKind",
    "records": "lookalike.kinds.records.index:RecordKind",
    "images": "lookalike.kinds.images.index:ImageKind",
    "faces": "lookalike.kinds.faces.index:FaceKind",
    "passages": "lookalike.kinds.passages.index:PassageKind",
}


def kind_class(name: str) -> Any:
    """Import and return the class of the kind with this name."""
    module, _, attribute = KINDS[name].partition(":")
    return getattr(import_module(module), attribute)


def make_kind(name: str, options: Mapping[str, Any]) -> IndexKind:
    """Create the kind with this name and these options; UsageError suggests the nearest name for an unknown one."""
    check_choice("kind", name, tuple(KINDS))
    known = kind_class(name).options()
    for option in options:
        if option not in known:
            raise UsageError(
                f"an index of {name} has no option {option!r}.{nearest(option, known)} Options: {', '.join(known)}."
            )
    kind: IndexKind = kind_class(name).make(options)
    return kind


def kind_again(stored: Mapping[str, Any], place: str) -> IndexKind:
    """Recreate the kind of an index from its stored settings; InputError if this version does not know its scheme."""
    name, scheme = stored["kind"], stored["scheme"]
    if name not in KINDS or kind_class(name).scheme != scheme:
        raise InputError(
            f"{place} is an index of {name} by the scheme {scheme}, which this version of lookalike does not know. "
            "Use the version that made it."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)  # it was issued when the index was created
        kind: IndexKind = kind_class(name).make(stored["settings"])
    return kind
