"""Checking what callers send. A refusal names the field and the rule, and never repeats the value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, LiteralString, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError

from infinicon.api import strict_json
from infinicon.errors import InvalidRequest

RULES = {
    "missing": "is required",
    "string_type": "must be a string",
    "string_unicode": "must be Unicode text",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing": "must be an integer",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} items",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
}


class Body(BaseModel):
    """What every shape of the wire shares: camelCase, no coercion, unknown fields tolerated, null for a field that is not required
    means its default (where `null_is_absent`)."""

    null_is_absent: ClassVar[bool] = True

    model_config = ConfigDict(
        alias_generator=to_camel,
        strict=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def check_members(cls, value: Any) -> Any:
        """Before the model's own check, which would name the unknown member of one that takes no unknown ones (`extra="forbid"`)."""
        known = {field.alias for field in cls.model_fields.values()}
        if cls.model_config["extra"] == "forbid" and isinstance(value, dict) and not value.keys() <= known:
            raise rule("has an unknown member")
        if not isinstance(value, dict) or None not in value.values():
            return value
        defaults = {field.alias: field.default for field in cls._nullable()}
        return {name: defaults.get(name) if member is None else member for name, member in value.items()}

    @classmethod
    def _nullable(cls) -> list[FieldInfo]:
        """Fields whose own type does not take the null that stands for their default."""
        fields = cls.model_fields.values() if cls.null_is_absent else ()
        return [field for field in fields if not field.is_required() and field.default is not None]

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema takes these nulls, too."""
        schema = handler(core)
        members = handler.resolve_ref_schema(schema).get("properties", {})
        for field in cls._nullable():
            own = members[field.alias]
            beside = {name: own.pop(name) for name in ("default", "description", "title") if name in own}
            members[field.alias] = {"anyOf": [own, {"type": "null"}], **beside}
        return schema


M = TypeVar("M", bound=Body)


def rule(sentence: LiteralString) -> PydanticCustomError:
    """A rule that a validator of ours found broken; the sentence continues the name of the field."""
    return PydanticCustomError("rule", sentence)


def check(model: type[M], value: object, whole: str = "body") -> M:
    """Read one object of the wire. `whole` names it where the fault is not in one of its members.

    Raises:
        InvalidRequest: for the first rule that is broken.
    """
    try:
        parsed = model.model_validate(value)
    except ValidationError as fault:
        raise _refusal(fault.errors(include_url=False, include_input=False)[0], value, whole) from None
    return parsed


def _refusal(error: ErrorDetails, sent: object, whole: str) -> InvalidRequest:
    sentence = error["msg"] if error["type"] == "rule" else RULES.get(error["type"], "is not valid")
    broken = sentence.format(**error.get("ctx", {}))
    return refused(".".join(_place(error, sent)) or whole, broken)


def _place(error: ErrorDetails, sent: object) -> Iterator[str]:
    """The members that lead to the fault. Where a type is a union, the library also names the branch of it that it tried: a name of
    the code's, and no place in what was sent."""
    at: Any = sent
    *_, last = error["loc"] or ("",)
    for part in error["loc"]:
        try:
            at = at[part]
        except (LookupError, TypeError):
            if error["type"] != "missing" or part is not last:
                continue
        yield str(part)


def refused(field: str, broken: str) -> InvalidRequest:
    return InvalidRequest(f"{field} {broken}", details={"field": field, "rule": broken})


def is_storable(text: str) -> bool:
    """Whether Postgres can keep the text and UTF-8 can carry it: no NUL, no lone surrogate."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable_size(value: Any) -> int | None:
    """Bytes of a JSON value in compact UTF-8, or None where a string or a name in it is not storable."""
    try:
        encoded = strict_json.dumps(value)
    except UnicodeEncodeError:
        return None
    if b"\\u0000" in encoded and not _all_storable(value):  # the escape may also stand for itself, behind a backslash
        return None
    return len(encoded)


def _all_storable(value: Any) -> bool:
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, list):
        return all(map(_all_storable, value))
    if isinstance(value, dict):
        return all(is_storable(name) and _all_storable(member) for name, member in value.items())
    return True
