"""What requests and answers of the service look like, for the kind of items that its index holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    create_model,
)

from lookalike.data import Scale
from lookalike.errors import BadBody, BadJson, BatchTooLarge, nearest

LARGEST = 9_223_372_036_854_775_000  # the last below 2**63 that readers of JSON agree on, also those that use doubles
Int = Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST), BeforeValidator(lambda value: _whole(value))]
Count = Annotated[StrictInt, Field(ge=1, le=100_000), BeforeValidator(lambda value: _whole(value))]
Id = Annotated[StrictStr | Int, Field(description="What the user calls an item.")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[StrictInt, Field(ge=0), BeforeValidator(lambda value: _whole(value))]
Value = StrictStr | StrictInt | Number | StrictBool | None
UNION = {"str", "int", "float", "bool", "constrained-int"}
ITEMS: dict[str, tuple[Any, str, Any]] = {  # what an item is, in words, and an example
    "documents": (StrictStr, "A text.", "the quick brown fox jumps over the lazy dog"),
    "strings": (StrictStr, "A string.", "Anna Meier"),
    "sets": (list[StrictStr] | list[Int], "The elements of a set.", ["milk", "bread"]),
    "vectors": (list[Number], "The numbers of a vector.", [0.3, -1.2, 0.5]),
    "bits": (StrictStr | Whole, "A code: hexadecimal digits, or a whole number.", "ff00a1b2"),
    "records": (dict[str, Value], "The fields of a record.", {"name": "Anna Meier", "city": "Bern"}),
}


class Body(BaseModel):
    """No field that is not known."""

    model_config = ConfigDict(extra="forbid")


class Removed(BaseModel):
    """removed: how many items were taken out."""

    removed: int


class Health(BaseModel):
    """status: ok."""

    status: str


class Failure(BaseModel):
    """error: a name for programs; message: one line that says what came, what was expected, what to do."""

    error: str
    message: str


@dataclass(frozen=True)
class Bodies:
    """The bodies of requests to an index of one kind, and of its answers."""

    query: type[BaseModel]
    items: type[BaseModel]
    compare: type[BaseModel]
    matches: type[BaseModel]
    added: type[BaseModel]
    compared: type[BaseModel]


def bodies(kind: str, scale: Scale, threshold: float, batch: int) -> Bodies:
    """For this kind of items. threshold: that of the index; batch: items in one request, at most."""
    column = scale.column
    reach: Any = {"minimum": threshold, "maximum": 1} if scale.sign > 0 else {"minimum": 0, "maximum": threshold}
    nearer: Any = Annotated[Number, Field(json_schema_extra=reach)]  # the index itself says what is wrong
    form, about, example = ITEMS[kind]
    item: Any = Annotated[form, Field(description=about, examples=[example])]
    items: Any = Annotated[list[item], Field(max_length=batch)]
    match: Any = _model("Match", id=(Id, ...), **{column: (float, ...)})
    return Bodies(
        query=_model(
            "Query", items=(items, ...),
            threshold=(nearer | None, Field(None, description="Only matches from here on; within the index's own.")),
            k=(Count | None, Field(None, description="So many of the nearest, at most.")),
        ),
        items=_model(
            "Items", items=(items, ...),
            ids=(list[Id] | None, Field(None, max_length=batch, description="One for each item; else numbers.")),
            if_new=(StrictBool, Field(False, description="Add only what has no match in the index yet.")),
        ),
        compare=_model("Compare", left=(item, ...), right=(item, ...)),
        matches=_model("Matches", matches=(list[list[match]], Field(description="For each item, nearest first."))),
        added=_model(
            "Added", added=(int, Field(description="Items whose ids were not there.")),
            replaced=(int, Field(description="Items that took the place of older ones of the same id.")),
            matches=(
                list[match | None], Field([], description="With if_new: null for what went in, or what it matched."),
            ),
        ),
        compared=_model("Compared", **{column: (float | None, Field(description="null: farther than the index."))}),
    )  # fmt: skip


def _whole(value: Any) -> Any:
    """JSON makes no difference between 7 and 7.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __base__=Body, **fields)


def parse(body: bytes, into: type[BaseModel]) -> Any:
    """The body as one of the models, or an error of one line."""
    try:
        return into.model_validate_json(body)
    except ValidationError as error:
        found = error.errors(include_url=False)
    first = found[0]
    context, name = first.get("ctx", {}), str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "json_invalid":
        raise BadJson(f"the body is not JSON: {context['error']}.")
    if first["type"] == "too_long" and len(first["loc"]) == 1:
        came, taken = context["actual_length"], context["max_length"]
        raise BatchTooLarge(f"{came} {name} came in one request; this server takes {taken}. Send several requests.")
    if first["type"] == "missing":
        raise BadBody(f"no {name!r} in the body, which has {_names(first['input'])}.")
    if first["type"] == "extra_forbidden":
        fields = list(into.model_fields)
        raise BadBody(f"no field {name!r} is known.{nearest(name, fields)} Fields: {', '.join(fields)}.")
    where = _place(first["loc"])
    wished = dict.fromkeys(_wish(one["msg"]) for one in found if _place(one["loc"]) == where)
    raise BadBody(f"{where or 'the body'} should be {' or '.join(wished)}, not {_short(first['input'])}.")


def _place(path: tuple[int | str, ...]) -> str:
    """items[0].name: without the names that pydantic gives to the members of a union."""
    known = [*path[:1], *(part for part in path[1:] if isinstance(part, int) or not ("[" in part or part in UNION))]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in known).lstrip(".")


def _wish(message: str) -> str:
    wish = message.removeprefix("Input should be ").replace("a valid ", "a ")
    return {"a integer": "a whole number", "a boolean": "true or false"}.get(wish, wish)


def _names(value: Any) -> str:
    return ", ".join(map(repr, value)) or "nothing"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
