"""docs/openapi.json, and docs/api-reference.md, which says the same for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from fastapi import FastAPI

import infinicon
from docs.generate.markdown import code, made_from, page, table
from infinicon import errors
from infinicon.api import openapi
from infinicon.api.app import ROUTES
from infinicon.settings import Settings

Schema: TypeAlias = dict[str, Any]

INTRODUCTION = """What a schema cannot say, such as the order in which a request is checked, is in [api.md](api.md). The document itself,
for generators of clients, is [openapi.json](openapi.json); a running Infinicon serves it at `/openapi.json`, with the limits that it
was configured with."""

TYPES = """A field that is not required may be absent; in a request it may also be `null`, which says the same. A time is RFC 3339 with a
zone."""

METHODS = ("get", "head", "post", "put", "patch", "delete")
FORMATS = {"date-time": "time"}
TIME = "RFC 3339 with a zone."
"""What every time says, which is said once for all of them."""


def document() -> Schema:
    """The OpenAPI document of an Infinicon with the settings' defaults."""
    app = FastAPI(title="Infinicon", version=infinicon.__version__, description=openapi.DESCRIPTION)
    for module in ROUTES:
        app.include_router(module.router)
    built: Schema = json.loads(json.dumps(openapi.build(app, Settings.model_construct())))
    return built


def make_document() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def make() -> str:
    whole = document()
    operations = list(_operations(whole))
    return page(
        made_from("the OpenAPI document", "src/infinicon/errors.py"),
        "# HTTP API reference",
        INTRODUCTION,
        "## In general",
        whole["info"]["description"],
        "## Operations",
        table(
            ("operation", "what it does", "permission"),
            [
                (f"[{method.upper()} {path}](#{_anchor(method, path)})", operation["summary"], _permission(operation))
                for path, method, operation in operations
            ],
        ),
        *(_operation(*entry) for entry in operations),
        "## Types",
        TYPES,
        *(_type(name, schema) for name, schema in whole["components"]["schemas"].items()),
        "## Errors",
        table(("code", "status", "retry", "when"), _errors()),
        "## Limits",
        table(("limit", "value"), [(code(name), code(value)) for name, value in whole["x-limits"].items()]),
    )


def _operations(whole: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, methods in whole["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def _anchor(method: str, path: str) -> str:
    """As GitHub makes it of a heading."""
    return f"{method} {path}".lower().replace(" ", "-").translate(str.maketrans("", "", "/{}."))


def _permission(operation: Schema) -> str:
    if "security" not in operation:
        return "no key"
    return code(operation["x-permission"]) if "x-permission" in operation else "any key"


def _operation(path: str, method: str, operation: Schema) -> str:
    parts = [f"### {method.upper()} {path}", f"{_sentence(operation['summary'])} Permission: {_permission(operation)}."]
    parts.append(operation.get("description", ""))
    if "parameters" in operation:
        parts.append(
            table(("parameter", "in", "type", "required", "what it is"), map(_parameter, operation["parameters"]))
        )
    if "requestBody" in operation:
        media = operation["requestBody"]["content"]["application/json"]
        parts.append(f"Request: {type_of(media['schema'])}, for example")
        parts.append(f"```json\n{json.dumps(media['example'], indent=2, ensure_ascii=False)}\n```")
    answers = operation["responses"]
    if method == "head":
        return page(*parts, f"Answer: the status alone, {' or '.join(sorted(answers))}.")
    kinds = answers["200"]["content"]
    parts.append(
        "Answer: " + " or ".join(f"{code(kind)}, {type_of(media['schema'])}" for kind, media in kinds.items()) + "."
    )
    failures = sorted(status for status in answers if status not in ("200", "default"))
    if failures:
        parts.append(f"Errors: {', '.join(failures)}; their bodies are {_link('MemoryApiError')}.")
    return page(*parts)


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _parameter(parameter: Schema) -> tuple[str, ...]:
    required = "yes" if parameter["required"] else ""
    return (
        code(parameter["name"]),
        parameter["in"],
        type_of(parameter["schema"]),
        required,
        parameter.get("description", ""),
    )


def _type(name: str, schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (code(field), type_of(inner), "yes" if field in required else "", _described(inner))
        for field, inner in schema.get("properties", {}).items()
    ]
    return page(
        f"### {name}",
        schema.get("description", ""),
        table(("field", "type", "required", "what it is"), rows) if rows else type_of(schema),
    )


def _described(schema: Schema) -> str:
    """What a field says, or else the one alternative to null that says something."""
    said = [part.get("description") for part in (schema, *schema.get("anyOf", ())) if part.get("format") != "date-time"]
    own = schema.get("description") if schema.get("description") != TIME else None
    default = f"Default: {code(json.dumps(schema['default']))}." if "default" in schema else ""
    return " ".join(filter(None, (own or next(filter(None, said), ""), default)))


def type_of(schema: Schema) -> str:
    """A schema in words, on one line."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(type_of(part) for part in schema["anyOf"] if part.get("type") != "null")
    if "const" in schema or "enum" in schema:
        return ", ".join(code(choice) for choice in schema.get("enum", [schema.get("const")]))
    return _plain_type(schema)


def _plain_type(schema: Schema) -> str:
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"list{_bounds(schema, 'Items')} of {type_of(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {type_of(values)}" if isinstance(values, dict) and values else "object"
    if kind == "string":
        kind = FORMATS.get(schema.get("format", ""), "string")
        return kind + _bounds(schema, "Length", " characters")
    return str(kind) + _bounds(schema, "imum")


def _bounds(schema: Schema, suffix: str, unit: str = "") -> str:
    least, most = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    if least is None and most is None:
        return ""
    if most is None:
        return f" (at least {least}{unit})"
    return f" ({least} to {most}{unit})" if least is not None else f" (at most {most}{unit})"


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _errors() -> Iterator[tuple[str, ...]]:
    for kind in _tree(errors.InfiniconError):
        yield code(kind.code), str(kind.http_status), "yes" if kind.retryable else "no", kind.__doc__ or ""


def _tree(kind: type[errors.InfiniconError]) -> Iterator[type[errors.InfiniconError]]:
    """Every error that a caller can meet: its own code says so, and it is declared where all of them are."""
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from _tree(child)
