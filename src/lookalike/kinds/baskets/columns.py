"""Choose the columns that hold the baskets, the items and the ratings."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lookalike.errors import InputError, UsageError, listed
from lookalike.io.columns import check_column
from lookalike.io.texts import is_text, kind_of_text

USUAL_RATING = ("rating", "ratings", "stars")


@dataclass(frozen=True)
class BasketColumns:
    """The names of the columns; "" if there is none. listed: the item column holds lists."""

    set: str
    item: str
    rating: str = ""
    listed: bool = False


def choose_columns(
    schema: pa.Schema,
    where: str,
    *,
    set: str | None,  # noqa: A002  (the user's word)
    item: str | None,
    rating: str | None,
    rate: bool,
    split: bool,
) -> BasketColumns:
    """Return the named columns, else the only possible ones.

    rate: ratings are needed. split: a row is a basket whose items are written in one text.

    >>> two = pa.schema([("customer", pa.string()), ("product", pa.string())])
    >>> choose_columns(two, "a.csv", set=None, item=None, rating=None, rate=False, split=False)
    BasketColumns(set='customer', item='product', rating='', listed=False)
    """
    for name in (set, item, rating):
        if name is not None:
            check_column(schema, name, where)
    rating = rating or next((n for n in schema.names if rate and n.lower() in USUAL_RATING), None)
    if rate and rating is None:
        raise UsageError(f"min_rating needs ratings: name their column with `rating`. Columns: {listed(schema.names)}.")
    lists = [field.name for field in schema if _is_list(field.type)]
    if item is None and not split and len(lists) == 1 and lists[0] != set:
        item = lists[0]
    if item is not None and (_is_list(schema.field(item).type) or split):
        is_list = _is_list(schema.field(item).type)
        if is_list and split:
            raise UsageError(f"column {item!r} in {where} holds lists; a separator goes with text.")
        if is_list and kind_of_text(schema.field(item).type) is None:
            raise InputError(f"column {item!r} in {where} is {schema.field(item).type}; items are strings or integers.")
        if set is None and "id" in schema.names and item != "id":
            set = "id"  # noqa: A001
        return BasketColumns(set or "", item, rating or "", is_list)
    others = [name for name in schema.names if name not in (set, item, rating)]
    wanted = (set is None) + (item is None)
    if len(others) > wanted:
        others = [name for name in others if name.lower() not in USUAL_RATING]
    if wanted and len(others) != wanted:
        raise UsageError(
            f"name the columns of {where}: `set` for what a basket belongs to, `item` for what is in it "
            f"(or `lines` where each line is a basket). Columns: {listed(schema.names)}."
        )
    set = set or others.pop(0)  # noqa: A001
    item = item or others.pop(0)
    if set == item:
        raise UsageError(f"set and item are both the column {set!r}; expected two. Columns: {listed(schema.names)}.")
    for name in (set, item):
        if not (is_text(schema.field(name).type) or pa.types.is_integer(schema.field(name).type)):
            raise InputError(
                f"column {name!r} in {where} is {schema.field(name).type}; baskets and items are strings or integers."
            )
    return BasketColumns(set, item, rating or "")


def _is_list(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_nested(dtype) and hasattr(dtype, "value_type"))
