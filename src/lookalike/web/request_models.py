"""Pydantic models of the requests and responses of the service, for the kind of items of its index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError, create_model

from lookalike.errors import BadBody, BadJson, BatchTooLarge, nearest
from lookalike.index.kinds import IndexKind
from lookalike.web.body_shape import check_shape
from lookalike.web.item_schemas import Count, Int, ItemSchema, Number

Id = Annotated[StrictStr | Int, Field(description="What the user calls an item.")]
Ids = Annotated[list[Id], Field(fail_fast=True)]
UNION = {"str", "int", "float", "bool", "constrained-int"}  # pydantic's names for the members of a union


class Body(BaseModel):
    """Base of all bodies; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class Removed(Body):
    """What a removal did."""

    removed: int = Field(description="How many items were taken out.")


class Health(Body):
    """How the server is."""

    status: str = Field(description="ok.")


class Failure(Body):
    """error: a name for programs; message: one line that says what came, what was expected, what to do."""

    error: str
    message: str


@dataclass(frozen=True)
class Bodies:
    """The models of the request and response bodies for one index."""

    query: type[BaseModel]
    items: type[BaseModel]
    compare: type[BaseModel]
    matches: type[BaseModel]
    added: type[BaseModel]
    compared: type[BaseModel]
    stored: type[BaseModel]
    texts: type[BaseModel]
    quotations: type[BaseModel]


def bodies(kind: IndexKind, form: ItemSchema, batch: int) -> Bodies:
    """Create the models for items of this kind and form. batch: the most items in one request."""
    scale, threshold = kind.scale, kind.threshold
    types: list[Any] = [
        Annotated[item_type, Field(description=form.about, examples=[form.example])] for item_type in form.types
    ]
    item: Any = Union[tuple(types)]  # noqa: UP007  (its members are not known before)
    lists: Any = [list.__class_getitem__(item_type) for item_type in types]
    items: Any = Union[tuple(Annotated[list_type, Field(max_length=batch, fail_fast=True)] for list_type in lists)]  # noqa: UP007
    reach: Any = {"minimum": threshold, "maximum": 1} if scale.sign > 0 else {"minimum": 0, "maximum": threshold}
    if kind.name == "passages":  # an index of passages answers any share
        reach = {"exclusiveMinimum": 0, "maximum": 1}
    number: Any = Int if kind.name in ("bits", "strings") and scale.sign < 0 else Number  # bits and edits are integers
    nearer: Any = Annotated[number, Field(json_schema_extra=reach)]  # the index itself checks the range
    match: Any = _model("Match", id=(Id, ...), **{scale.column: (float, ...)})
    lists_of = f"a list of id and {scale.column}, nearest first"
    far = Field(description="Whether they match or not; null where a string is empty, or too long for that.")
    return Bodies(
        query=_model(
            "Query", items=(items, ...),
            threshold=(nearer | None, Field(None, description="Only matches from here on; within the index's own.")),
            k=(Count | None, Field(None, description="Maximum number of matches.")),
        ),
        items=_model(
            "Items", items=(items, ...),
            ids=(Ids | None, Field(None, description="One for each item; else the next numbers.")),
            if_new=(StrictBool, Field(False, description="Add only what has no match in the index yet.")),
        ),
        compare=_model("Compare", left=(item, ...), right=(item, ...)),
        matches=_model("Matches", matches=(list[list[match]], Field(description=f"For each item: {lists_of}."))),
        added=_model(
            "Added", added=(int, Field(description="Items whose ids were not there.")),
            replaced=(int, Field(description="Items that took the place of older ones of the same id.")),
            matches=(list[match | None], Field([], description="With if_new: null for what went in, or its match.")),
        ),
        stored=_model("Stored", id=(Id, ...), item=(Any, Field(description="As it was given; null if not stored."))),
        compared=_model("Compared", **{scale.column: (float | None, far)}),
        texts=_model(
            "Texts", items=(items, ...), k=(Count | None, Field(None, description="Maximum number of stored texts.")),
        ),
        quotations=_model("Quotations", passages=(
            list[list[_quotation()]], Field(description="For each text: its passages, by stored text.")  # type: ignore[misc]
        )),
    )  # fmt: skip


def _quotation() -> type[BaseModel]:
    """Create the model of a passage that a text shares with a stored one."""
    places = dict.fromkeys(("start", "end", "stored_start", "stored_end"), (int, ...))
    words = Field(description="Number of shared words.")
    return _model("Quotation", id=(Id, ...), **places, tokens=(int, words), text=(str, Field(description="The words.")))


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __base__=Body, **fields)


def parse(body: bytes, into: type[BaseModel], batch: int) -> Any:
    """Parse a body into a model; raise an error of one line if it is invalid. batch: the most items in one request."""
    check_shape(body, batch)
    try:
        return into.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    first = problems[0]
    where, context = _place(first["loc"]), first.get("ctx", {})
    if first["type"] == "json_invalid":
        raise BadJson(f"the body is not JSON: {context['error']}.")
    if first["type"] == "too_long" and where == "items":
        came, taken = context["actual_length"], context["max_length"]
        raise BatchTooLarge(f"{came} items came in one request; this server takes {taken}. Send several requests.")
    if first["type"] == "missing":
        raise BadBody(f"no {where!r} in the body, which has {', '.join(map(repr, first['input'])) or 'nothing'}.")
    if first["type"] == "extra_forbidden":
        fields = list(into.model_fields)
        raise BadBody(f"no field {where!r} is known.{nearest(where, fields)} Fields: {', '.join(fields)}.")
    expected = dict.fromkeys(_wish(problem["msg"]) for problem in problems if _place(problem["loc"]) == where)
    raise BadBody(f"{where or 'the body'} should be {' or '.join(expected)}, not {_short(first['input'])}.")


def _place(path: tuple[int | str, ...]) -> str:
    """Format the location of an error, such as items[0].name, without the names of pydantic for members of a union."""
    known = [*path[:1], *(part for part in path[1:] if isinstance(part, int) or not ("[" in part or part in UNION))]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in known).lstrip(".")


def _wish(message: str) -> str:
    wish = message.removeprefix("Input should be ").replace("a valid ", "a ")
    wish = wish.replace("String should match pattern", "text that matches")
    return {"a integer": "a whole number", "a boolean": "true or false", "a array": "a list"}.get(wish, wish)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
