"""Documentation of an API as one HTML page without scripts or external resources."""

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
h2 { margin-top: 2.5rem; font-size: 1.15rem } h2 code { font-size: 1.05rem }
h3 { font-size: 1rem; margin: 1rem 0 .2rem } summary { cursor: pointer }
table { border-collapse: collapse } td { padding: .15rem 1.2rem .15rem 0; vertical-align: top }
"""


def api_page(schema: dict[str, Any], base: str) -> str:
    """Render an OpenAPI schema as HTML: every path with its fields, an example as a command, and its responses.

    base: the URL of the server, such as http://127.0.0.1:8080.
    """
    title = escape(schema["info"]["title"])
    parts = [f"<h1>{title}</h1><p>{escape(schema['info']['description'])}</p>"]
    parts.append('<p>The same for programs: <a href="openapi.json">openapi.json</a></p>')
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            parts += _operation(path, method.upper(), operation, schema, base)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return f"{head}<title>{title}</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>"


def _operation(path: str, method: str, one: dict[str, Any], schema: dict[str, Any], base: str) -> Iterator[str]:
    yield f"<h2>{escape(method)} <code>{escape(path)}</code></h2><p>{escape(one['description'])}</p>"
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        yield _fields(body)
    yield f"<pre>{escape(_command(base + path, method, one, body))}</pre>"
    answers = dict(one["responses"])
    fields = _fields(_content(answers.pop("200"), schema))
    if fields:
        yield f"<h3>Answer</h3>{fields}"
    rows = "".join(f"<tr><td>{escape(status)}<td>{escape(one['description'])}" for status, one in answers.items())
    yield f"<details><summary>What can go wrong</summary><table>{rows}</table></details>"


def _content(answer: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a response, with a reference resolved."""
    content = answer.get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    resolved: dict[str, Any] = schema["components"]["schemas"].get(name, content)
    return resolved


def _fields(body: dict[str, Any]) -> str:
    """Render the fields of a body as an HTML table."""
    rows = [
        f"<tr><td><code>{escape(name)}</code><td>{escape(_about(field))}{'' if _needed(name, body) else ' Optional.'}"
        for name, field in body.get("properties", {}).items()
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _needed(name: str, body: dict[str, Any]) -> bool:
    return name in body.get("required", ())


def _about(field: dict[str, Any]) -> str:
    """Return the description of a field; for a list without one, describe its items and their largest number."""
    if "description" in field:
        return str(field["description"])
    alternative = field.get("anyOf", [field])[0]
    if "items" not in alternative:
        return ""
    return f"A list, of {alternative['maxItems']:,} at most. Each: {alternative['items']['description']}"


def _command(url: str, method: str, one: dict[str, Any], body: dict[str, Any] | None) -> str:
    command = "curl" if method == "GET" or body is not None else f"curl -X {method}"
    if "security" in one:
        command += " -H 'Authorization: Bearer TOKEN'"
    if body is None:
        return f"{command} {url}"
    text = json.dumps({name: _example(body["properties"][name]) for name in body["required"]}, ensure_ascii=False)
    quoted = text.replace("'", "'\\''")
    return f"{command} -H 'Content-Type: application/json' \\\n  -d '{quoted}' \\\n  {url}"


def _example(field: dict[str, Any]) -> Any:
    """Return the first example of a field; for a list without examples, a list with the first example of its items."""
    alternative = field.get("anyOf", [field])[0]
    return alternative["examples"][0] if "examples" in alternative else [alternative["items"]["examples"][0]]
