"""The description of an API as one page without scripts: nothing is loaded from anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { padding: .8rem; border: 1px solid #8885; border-radius: 6px; overflow-x: auto }
h2 { margin-top: 2.5rem; font-size: 1.1rem } h2 b { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse } td { padding: .15rem 1rem .15rem 0; vertical-align: top }
"""


def api_page(schema: dict[str, Any]) -> str:
    """HTML from an OpenAPI schema: every path with its fields, an example as a command, and its answers."""
    parts = [f"<h1>{escape(schema['info']['title'])}</h1><p>{escape(schema['info'].get('description', ''))}</p>"]
    parts.append('<p>The same for programs: <a href="openapi.json">openapi.json</a></p>')
    for path, methods in schema["paths"].items():
        for method, one in methods.items():
            parts += _operation(path, method.upper(), one, schema)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<title>{escape(schema['info']['title'])}</title><style>{STYLE}</style>"
    return f"{head}<body>{''.join(parts)}</body></html>"


def _operation(path: str, method: str, one: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><b>{escape(method)}</b> <code>{escape(path)}</code></h2><p>{escape(one.get('description', ''))}</p>"
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code><td>{'' if name in body.get('required', ()) else 'optional'}"
            f"<td>{escape(_about(field))}"
            for name, field in body["properties"].items()
        )
        yield f"<table>{rows}</table>"
    yield f"<pre>{escape(_command(path, method, one, body))}</pre><table>"
    for status, answer in one["responses"].items():
        media: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        name = media.get("schema", {}).get("$ref", "").rpartition("/")[2]
        fields = ", ".join(schema.get("components", {}).get("schemas", {}).get(name, {}).get("properties", ()))
        yield f"<tr><td>{escape(status)}<td>{escape(answer['description'])}<td><code>{escape(fields)}</code>"
    yield "</table>"


def _about(field: dict[str, Any]) -> str:
    """What a field is for; what its items are where that says more."""
    return str(field.get("description") or field.get("items", {}).get("description", ""))


def _command(path: str, method: str, one: dict[str, Any], body: dict[str, Any] | None) -> str:
    command = "curl" if method == "GET" else f"curl -X {method}"
    if "security" in one:
        command += " -H 'Authorization: Bearer TOKEN'"
    if body is not None:
        text = json.dumps(_example(body), ensure_ascii=False).replace("'", "'\\''")
        command += f" -H 'Content-Type: application/json' \\\n  -d '{text}'"
    return f"{command} \\\n  http://HOST:PORT{path}"


def _example(body: dict[str, Any]) -> Any:
    made: dict[str, Any] = {}
    for name in body.get("required", ()):
        field = body["properties"][name]
        made[name] = field["items"]["examples"] if "items" in field else field["examples"][0]
    return made
