"""Fill the measured tables of README.md and docs from docs/data: python scripts/make_tables.py

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`. Numbers are kept in docs/data only; a test
compares, so that a page cannot say anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/comparison.md", "docs/choosing.md")
REGION = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
NAMES = {"articles": "articles", "django": "Django pages", "titles": "titles", "licences": "licences"}
WEIGHED = {**NAMES, "products": "products", "template": "in a template"}


def data(name: str) -> Any:
    return json.loads((ROOT / "docs/data" / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Markdown; the first `left` columns stand at the left, numbers at the right."""
    marks = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, marks, *rows))


def share(value: float) -> str:
    """Four digits, as people write them in tables: .9922, 1."""
    return "1" if value == 1 else f"{value:.4f}".lstrip("0")


def documents(corpus: str, *, brief: bool = False) -> str:
    """Tools on one corpus; brief: what fits a front page."""
    made = data("measured")["documents"]["corpora"][corpus]
    head = [made["name"], "seconds", "peak memory", "recall", "recall .80–.85", "precision"]
    rows = [
        [run["tool"], f"{run['seconds']:.1f}", f"{run['memory_mb']:,} MB",
         *(share(run[name]) for name in ("recall", "recall_edge", "precision"))]
        for run in made["runs"]
    ]  # fmt: skip
    if brief:
        keep = (0, 1, 3, 5)
        return table([head[i] for i in keep], [[row[i] for i in keep] for row in rows])
    return table(head, rows)


def kinds() -> str:
    rows = [[row["task"], row["lookalike"], row["others"], f"`{row['script']}`"] for row in data("measured")["kinds"]]
    return table(["task", "lookalike", "others", "benchmarks/"], rows, left=4)


def records() -> str:
    made = data("measured")["records"]
    rows = [
        [run["set"], share(run["plain"]), share(run["one_to_one"]) if run["one_to_one"] else "–"]
        for run in made["runs"]
    ]
    return table(["set", "F1", "F1, one-to-one"], rows) + "\n\n" + made["note"]


def index() -> str:
    """An index that grows, asked one document at a time."""
    head = ["tool", "documents", "added a second", "peak memory", "p50", "p99", "recall", "recall .80–.85", "precision"]
    rows = [
        [run["tool"], f"{run['documents']:,}", f"{run['added_per_second']:,}", f"{run['memory_mb']:,} MB",
         f"{run['p50_ms']:.2f} ms", f"{run['p99_ms']:.2f} ms",
         *(share(run[name]) for name in ("recall", "recall_edge", "precision"))]
        for run in data("measured")["index"]["runs"]
    ]  # fmt: skip
    return table(head, rows)


def service() -> str:
    """The same index over HTTP."""
    rows = [
        [f"{run['connections']}", f"{run['per_second']:,}", f"{run['p50_ms']:g} ms", f"{run['p99_ms']:g} ms"]
        for run in data("measured")["service"]["runs"]
    ]
    return table(["connections", "queries a second", "p50", "p99"], rows, left=0)


def rules(texts: str) -> str:
    """How well a threshold on each similarity tells true pairs from others."""
    head = ["unit, k", "best F1", "thresholds within .01 of it", "F1 at .8", "median true pair", "nearest other pair"]
    rows = [
        [f"{row['unit']} {row['k']}", f"{row['best_f1']:.3f}", f"{row['good_from']:.2f} – {row['good_to']:.2f}",
         f"{row['f1_at_0.8']:.3f}", f"{row['median_true']:.2f}", f"{row['nearest_other']:.2f}"]
        for row in data("choosing")["rules"] if row["texts"] == texts
    ]  # fmt: skip
    return table(head, rows)


def weights() -> str:
    """How well a threshold tells true pairs from others, with and without weights."""
    found = {
        (row["texts"], row["unit"], row["k"], row["weight"], row["measure"]): row for row in data("choosing")["weights"]
    }
    ways = [("none", "jaccard"), ("idf", "jaccard"), ("none", "cosine"), ("idf", "cosine")]
    rows = []
    for texts, unit, k in dict.fromkeys(key[:3] for key in found):
        cells = [found[texts, unit, k, *way] for way in ways]
        rows.append(
            [WEIGHED[texts], f"{unit} {k}",
             *(f"{row['best_f1']:.3f} ({row['good_from']:.2f} – {row['good_to']:.2f})" for row in cells)]
        )  # fmt: skip
    return table(["texts", "unit, k", "jaccard", "jaccard, idf", "cosine", "cosine, idf"], rows)


def thresholds() -> str:
    """What each threshold finds."""
    by: dict[float, dict[str, Any]] = {}
    for row in data("choosing")["thresholds"]:
        by.setdefault(row["threshold"], {})[row["texts"]] = row
    rows = [
        [f"{t:g}", f"{found['licences']['pairs']:,}", f"{found['django']['pairs']:,}",
         f"{found['django']['precision']:.3f}", f"{found['django']['recall']:.3f}"]
        for t, found in by.items()
    ]  # fmt: skip
    head = ["threshold", "licences: pairs", "Django: pairs", "precision", "recall (same page)"]
    return table(head, rows)


def recalls() -> str:
    """What each requested recall gives."""
    head = ["texts", "wish", "bands × rows", "planned at .6", "found of .60–.65", "found of all", "measured by the run",
            "candidates"]  # fmt: skip
    rows = [
        [NAMES[row["texts"]], f"{row['wish']:g}", f"{row['bands']} × {row['rows']}",
         *(f"{row[name]:.4f}" for name in ("planned", "recall_at_edge", "recall", "measured")),
         f"{row['candidates']:,.0f}"]
        for row in data("choosing")["recalls"]
    ]  # fmt: skip
    return table(head, rows)


TABLES: dict[str, Callable[[], str]] = {
    "documents-brief": lambda: documents("generated", brief=True),
    "documents-generated": lambda: documents("generated"),
    "documents-real": lambda: documents("real"),
    "kinds": kinds,
    "records": records,
    "index": index,
    "service": service,
    "rules-articles": lambda: rules("articles"),
    "rules-django": lambda: rules("django"),
    "rules-titles": lambda: rules("titles"),
    "thresholds": thresholds,
    "weights": weights,
    "recalls": recalls,
}


def filled(page: str) -> str:
    """The page with its tables as the data have them."""
    return REGION.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", page)


def main() -> None:
    for name in PAGES:
        path = ROOT / name
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
