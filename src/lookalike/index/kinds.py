"""Kinds of items: how a user's items become features and keys, and how features are scored."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from lookalike.core.arrays import F64, I64, Scale, check_choice
from lookalike.errors import InputError, RecallWarning, UsageError, nearest
from lookalike.index.items import Batch
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys


class IndexKind(Protocol):
    """One kind of item. Made from its settings alone, so that an index opened later means the same by it."""

    @property
    def name(self) -> str: ...

    @property
    def scheme(self) -> str:
        """The name of the way in which keys are made; another way has another name."""

    @property
    def queries_at_once(self) -> int | None:
        """The largest number of queries whose probes are made together; None where each has few of them."""

    @property
    def is_own_feature(self) -> bool:
        """Whether features are the items themselves, so that nothing else is stored."""

    @property
    def scale(self) -> Scale:
        """How scores are shown. Inside they are higher for nearer items: a distance has its sign turned."""

    @property
    def threshold(self) -> float:
        """The user's number; nothing farther can be asked for."""

    def settings(self) -> dict[str, Any]:
        """The options that make the same kind again; plain JSON."""

    def plan(self) -> dict[str, Any]:
        """How keys are made and how sure they find what they should, for `info`."""

    def check(self, threshold: float | None) -> float:
        """The threshold of a query, the index's own if None; UsageError where the index cannot answer it."""

    def pieces(self, items: Any) -> Iterator[Any]:
        """The user's items, checked, in pieces (Arrow arrays or the like, with a length) of a few MB."""

    def read(self, source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
        """The items of a source (paths, a table), batch by batch, with their ids. column: that holds the items."""

    def features(self, piece: Any) -> Blobs:
        """What items are compared by."""

    def keys(self, features: Blobs) -> StoredKeys:
        """The keys that items are stored under."""

    def probes(self, features: Blobs) -> StoredKeys:
        """The keys that queries look up, of `queries_at_once` at most. Queries that would need too many are scanned."""

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        """The exact score of each candidate; -inf where it does not reach the threshold."""

    def farthest(self, one: Blobs, other: Blobs) -> float:
        """A threshold that this item and this other one reach unless they have nothing in common; the kind's own where
        finding out would take too long."""

    def raw(self, piece: Any) -> Blobs:
        """The items as bytes."""

    def item(self, raw: bytes) -> Any:
        """The item that these bytes stand for."""


@runtime_checkable
class ScannedKind(IndexKind, Protocol):
    """A kind some of whose queries have too many keys: they are compared with every stored item that is in reach."""

    def in_reach(self, query: int, stored: I64, threshold: float) -> tuple[I64, int]:
        """(rows of the stored items that can match, the steps that comparing with them takes).

        query: bytes of its features; stored i64[n]: bytes of the features of each stored item.
        """


KINDS = {  # where each kind is defined; loaded when it is needed
    "documents": "lookalike.kinds.documents.index:DocumentKind",
    "sets": "lookalike.kinds.documents.index:SetKind",
    "vectors": "lookalike.kinds.vectors.index:VectorKind",
    "bits": "lookalike.kinds.bits.index:BitKind",
    "strings": "lookalike.kinds.strings.index:StringKind",
    "records": "lookalike.kinds.records.index:RecordKind",
    "images": "lookalike.kinds.images.index:ImageKind",
    "faces": "lookalike.kinds.faces.index:FaceKind",
}


def kind_class(name: str) -> Any:
    """The class of the kind of this name."""
    module, _, attribute = KINDS[name].partition(":")
    return getattr(import_module(module), attribute)


def make_kind(name: str, options: Mapping[str, Any]) -> IndexKind:
    """The kind of this name with these options; UsageError names the nearest."""
    check_choice("kind", name, tuple(KINDS))
    known = kind_class(name).options()
    for option in options:
        if option not in known:
            raise UsageError(
                f"an index of {name} has no option {option!r}.{nearest(option, known)} Options: {', '.join(known)}."
            )
    made: IndexKind = kind_class(name).make(options)
    return made


def kind_again(stored: Mapping[str, Any], place: str) -> IndexKind:
    """The kind of an index, from what it has stored; InputError where this version does not know it."""
    name, scheme = stored["kind"], stored["scheme"]
    if name not in KINDS or kind_class(name).scheme != scheme:
        raise InputError(
            f"{place} is an index of {name} by the scheme {scheme}, which this version of lookalike does not know. "
            "Use the version that made it."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)  # it was told at the creation
        made: IndexKind = kind_class(name).make(stored["settings"])
    return made
