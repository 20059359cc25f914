"""Evidence for choosing unit, k, weights, threshold and recall, from real texts: python benchmarks/choosing.py

With `--only weights` (or rules, thresholds, recalls) the others stay as they are. Writes docs/data/choosing.json, from
which scripts/make_tables.py fills the tables of docs/choosing.md. Texts are in the folder of LOOKALIKE_DATA: news
articles with planted copies, the Django documentation in five releases (the truth: the same page in two releases),
titles of papers in two catalogues (the truth: the same paper), names of products in two shops (the truth: the same
product), and the licence texts of SPDX (no truth; the exact join is the measure). For the weights the Django pages are
also put into a template: each ends with the text of the Apache licence.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import tarfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import lookalike as la
from machine import machine
from shared_data import place

OUT = Path(__file__).resolve().parents[1] / "docs/data/choosing.json"
RULES = [("word", 1), ("word", 2), ("word", 3), ("word", 5), ("word", 8)]
WEIGHT_RULES = (("word", 1), ("word", 2), ("word", 5), ("char", 3))
WEIGHTS = (("none", "jaccard"), ("idf", "jaccard"), ("none", "cosine"), ("idf", "cosine"))
RULES += [("char", 3), ("char", 5), ("char", 9), ("char", 15), ("line", 1)]
LOW = 0.1  # pairs below this similarity are not looked at
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
WISHES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
SEEDS = range(20)
NEAR_BEST = 0.01
GRID = [i / 100 for i in range(10, 100)]

Pair = tuple[str, str]


@dataclass(frozen=True)
class Texts:
    """Documents by id, and the pairs that belong together."""

    ids: list[str]
    texts: list[str]
    truth: set[Pair]


def articles() -> Texts:
    """2,500 news articles, 20 pairs of which are lightly rewritten copies."""
    folder = place("minhash-articles")
    with gzip.open(folder / "articles_2500.train.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(" ", 1) for line in lines]
    pairs = [line.split() for line in (folder / "articles_2500.truth").read_text().splitlines() if line.strip()]
    return Texts([row[0] for row in rows], [row[1] for row in rows], {(min(a, b), max(a, b)) for a, b in pairs})


def django() -> Texts:
    """1,316 pages in five releases; the same path is the same page."""
    pages: dict[str, str] = {}
    with tarfile.open(place("django-docs-versions") / "django_docs.tar.xz") as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                pages[member.name.removeprefix("django_docs/")] = file.read().decode("utf-8", "replace")
    same: dict[str, list[str]] = {}
    for name in sorted(pages):
        same.setdefault(name.partition("/")[2], []).append(name)
    truth = {pair for names in same.values() for pair in combinations(names, 2)}
    return Texts(list(pages), list(pages.values()), truth)


def titles() -> Texts:
    """4,910 titles of papers, from DBLP and ACM; 2,224 papers are in both."""
    folder, ids, texts = place("er-clean-clean"), [], []
    for side in ("dblp", "acm"):
        with gzip.open(folder / f"D4_{side}.csv.gz", "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="%"):
                ids.append(f"{side}-{row['id']}")
                texts.append(row["title"])
    with gzip.open(folder / "D4_gt.csv.gz", "rt", encoding="utf-8") as file:
        truth = {(f"acm-{row['D2']}", f"dblp-{row['D1']}") for row in csv.DictReader(file, delimiter="%")}
    return Texts(ids, texts, truth)


def products() -> Texts:
    """2,157 names of products, from Abt and Buy; 1,076 pairs are the same product."""
    folder, ids, texts = place("er-clean-clean"), [], []
    for side in ("abt", "buy"):
        with gzip.open(folder / f"D2_{side}.csv.gz", "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="|"):
                ids.append(f"{side}-{row['id']}")
                texts.append(row["name"])
    with gzip.open(folder / "D2_gt.csv.gz", "rt", encoding="utf-8") as file:
        truth = {(f"abt-{row['D1']}", f"buy-{row['D2']}") for row in csv.DictReader(file, delimiter="|")}
    return Texts(ids, texts, truth)


def in_a_template(pages: Texts, template: str) -> Texts:
    return Texts(pages.ids, [f"{text}\n{template}" for text in pages.texts], pages.truth)


def licences() -> Texts:
    """727 licence texts, without a truth."""
    with gzip.open(place("spdx-licenses") / "spdx-full.json.gz", "rt", encoding="utf-8") as file:
        texts = {name: entry["licenseText"] for name, entry in json.load(file).items()}
    return Texts(list(texts), list(texts.values()), set())


def scored(data: Texts, threshold: float, **options: Any) -> tuple[list[Pair], np.ndarray, Any]:
    """The pairs from the threshold on, their similarities, and the result."""
    result = la.pairs(data.texts, threshold=threshold, max_pairs=10_000_000, **options)
    left, right = (np.array(data.ids)[result.pairs[side].to_numpy()] for side in ("left", "right"))
    pairs = [(min(a, b), max(a, b)) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    return pairs, result.pairs["similarity"].to_numpy(), result


def rule_row(name: str, data: Texts, unit: str, k: int) -> dict[str, Any]:
    """How well one threshold on this similarity tells true pairs from others."""
    pairs, similarity, result = scored(data, LOW, unit=unit, k=k, method="exact")
    if name == "titles":
        pairs, similarity = across(pairs, similarity)
    true = np.array([pair in data.truth for pair in pairs])
    f1 = {}
    for threshold in GRID:
        found = similarity >= threshold
        f1[threshold] = 2 * int(true[found].sum()) / (int(found.sum()) + len(data.truth))
    best = max(f1.values())
    good = [threshold for threshold, value in f1.items() if value >= best - NEAR_BEST]
    missed = np.zeros(len(data.truth) - int(true.sum()))
    return {
        "texts": name, "unit": unit, "k": k, "best_f1": best, "good_from": good[0], "good_to": good[-1],
        "f1_at_0.8": f1[0.8], "median_true": float(np.median(np.append(similarity[true], missed))),
        "nearest_other": float(similarity[~true].max(initial=0.0)), "shingles": result.receipt["counts"]["shingles"],
    }  # fmt: skip


def across(pairs: list[Pair], similarity: np.ndarray) -> tuple[list[Pair], np.ndarray]:
    """Keep the pairs between two catalogues, each of which is clean in itself."""
    keep = np.array([a[0] != b[0] for a, b in pairs])
    return [pair for pair, kept in zip(pairs, keep, strict=True) if kept], similarity[keep]


def weight_rows(name: str, data: Texts) -> list[dict[str, Any]]:
    """The best F1 of each rule with and without weights, and how wide the range of good thresholds is."""
    rows = []
    for unit, k in WEIGHT_RULES:
        for weight, measure in WEIGHTS:
            if name == "template" and unit != "word":
                continue  # most pairs of pages share most characters of three letters
            low = 0.3 if name in ("django", "template") else LOW
            pairs, similarity, _ = scored(data, low, unit=unit, k=k, weight=weight, measure=measure, method="exact")
            if name in ("titles", "products"):
                pairs, similarity = across(pairs, similarity)
            true = np.array([pair in data.truth for pair in pairs])
            f1 = {}
            for threshold in (at for at in GRID if at >= low):
                found = similarity >= threshold
                f1[threshold] = 2 * int(true[found].sum()) / (int(found.sum()) + len(data.truth))
            best = max(f1.values())
            good = [threshold for threshold, value in f1.items() if value >= best - NEAR_BEST]
            rows.append(
                {
                    "texts": name, "unit": unit, "k": k, "weight": weight, "measure": measure, "best_f1": best,
                    "good_from": good[0], "good_to": good[-1],
                }
            )  # fmt: skip
    return rows


def threshold_rows(name: str, data: Texts) -> list[dict[str, Any]]:
    """What each threshold finds with the default rule."""
    pairs, similarity, _ = scored(data, THRESHOLDS[0], method="exact")
    true = np.array([pair in data.truth for pair in pairs])
    rows = []
    for threshold in THRESHOLDS:
        found = similarity >= threshold
        row: dict[str, Any] = {"texts": name, "threshold": threshold, "pairs": int(found.sum())}
        if data.truth:
            right = int(true[found].sum())
            row |= {"precision": right / max(1, int(found.sum())), "recall": right / len(data.truth)}
        rows.append(row)
    return rows


def recall_rows(name: str, data: Texts, threshold: float = 0.6) -> list[dict[str, Any]]:
    """What each requested recall gives: by the plan at the threshold, by the run's own audit, and in truth."""
    exact, similarity, _ = scored(data, threshold, method="exact")
    edge = {pair for pair, s in zip(exact, similarity, strict=True) if s < threshold + 0.05}
    rows = []
    for wish in WISHES:
        runs = [scored(data, threshold, recall=wish, method="lsh", seed=seed) for seed in SEEDS]
        sets, receipts = [set(found) for found, _, _ in runs], [result.receipt for _, _, result in runs]
        plan = receipts[0]["plan"]
        rows.append(
            {
                "texts": name, "wish": wish, "bands": plan["bands"], "rows": plan["rows"],
                "planned": plan["recall_at_threshold"],
                "measured": float(np.mean([receipt["recall_measured"]["recall"] for receipt in receipts])),
                "recall": float(np.mean([len(found) / len(exact) for found in sets])),
                "recall_at_edge": float(np.mean([len(found & edge) / len(edge) for found in sets])),
                "candidates": float(np.mean([receipt["counts"]["candidates"] for receipt in receipts])),
                "pairs": len(exact), "edge": len(edge),
            }
        )  # fmt: skip
    return rows


def all_rules(sets: dict[str, Texts]) -> list[dict[str, Any]]:
    rules = []
    for name in ("articles", "django", "titles"):
        for unit, k in RULES:
            if name != "django" and unit == "line":
                continue  # an article, a title is one line
            rules.append(rule_row(name, sets[name], unit, k))
    return rules


def all_weights(sets: dict[str, Texts]) -> list[dict[str, Any]]:
    texts = licences()
    template = in_a_template(sets["django"], texts.texts[texts.ids.index("Apache-2.0")])
    weighed = {"products": products(), "titles": sets["titles"], "django": sets["django"], "template": template}
    return [row for name, data in weighed.items() for row in weight_rows(name, data)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("rules", "weights", "thresholds", "recalls"))
    only = parser.parse_args().only
    sets = {"articles": articles(), "django": django(), "licences": licences(), "titles": titles()}
    both = ("django", "licences")
    parts = {
        "rules": lambda: all_rules(sets),
        "weights": lambda: all_weights(sets),
        "thresholds": lambda: [row for name in both for row in threshold_rows(name, sets[name])],
        "recalls": lambda: [row for name in both for row in recall_rows(name, sets[name])],
    }
    made = json.loads(OUT.read_text()) if only else {"machine": machine()}
    made |= {name: make() for name, make in parts.items() if only in (None, name)}
    OUT.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
