"""scrub with `gap`: which near copies are cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.kinds.scrub.kernels.near_audit import extend

VOCABULARY = [f"w{number}" for number in range(2000)]


def edited(words: list[str], rng: random.Random, edits: int) -> list[str]:
    """Replace, drop or insert single words, with at least 12 unchanged ones between two edits."""
    out = list(words)
    for number in range(edits):
        place = len(words) - 14 * (number + 1)
        out[place : place + 1] = rng.choice([["new"], [], ["new", "newer"]])
    return out


@pytest.mark.promise(
    "docs/how-to/clean-a-training-corpus.md", "shares a run of 12 equal words with the copy that stays"
)
def test_copies_with_edits_are_cut_whole() -> None:
    rng = random.Random(5)
    own = iter(range(10**6))

    def around(words: list[str]) -> str:
        return " ".join([*(f"a{next(own)}" for _ in range(20)), *words, *(f"a{next(own)}" for _ in range(20))])

    passages = [rng.choices(VOCABULARY, k=70) for _ in range(20)]
    copies = [edited(words, rng, 1 + number % 4) for number, words in enumerate(passages)]
    texts = [around(words) for words in [*passages, *copies]]
    exact, near = la.scrub(texts, threads=1), la.scrub(texts, gap=3, threads=1)
    assert near.kept["text"].to_pylist()[:20] == texts[:20]
    for text, rest in zip(texts[20:], near.kept["text"].to_pylist()[20:], strict=True):
        assert rest.split() == [word for word in text.split() if word[0] == "a"]
    assert exact.receipt["counts"]["tokens_removed"] < near.receipt["counts"]["tokens_removed"]


def test_a_near_copy_inside_of_its_own_document() -> None:
    rng = random.Random(6)
    words = rng.choices(VOCABULARY, k=60)
    text = " ".join([*words, "then", *words[:30], "other", *words[31:], "end"])
    (rest,) = la.scrub([text], gap=2, threads=1).kept["text"].to_pylist()
    assert rest == " ".join([*words, "then", "end"])


def test_text_that_differs_more_stays() -> None:
    rng = random.Random(7)
    words = rng.choices(VOCABULARY, k=60)
    changed = [word if place % 8 else f"x{place}" for place, word in enumerate(words)]  # no run of 12
    texts = [" ".join(words), " ".join(changed)]
    assert la.scrub(texts, gap=3, threads=1).kept["text"].to_pylist() == texts


def test_gap_is_for_words_at_words() -> None:
    with pytest.raises(UsageError, match="leave level, unit and at out"):
        la.scrub(["a"], gap=2, at="sentence")


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "starts from every 4 equal words of a sampled document")
def test_recall_of_near_copies_is_measured() -> None:
    """A changed word after every seven leaves no run of 12: such copies are near, and missed."""
    rng = random.Random(8)
    passages = [rng.choices(VOCABULARY, k=60) for _ in range(40)]
    found = [edited(words, rng, 2) for words in passages[:30]]
    missed = [[word if place % 8 else f"x{place}" for place, word in enumerate(words)] for words in passages[30:]]
    texts = [" ".join([f"a{number}", *words, "end"]) for number, words in enumerate([*passages, *found, *missed])]
    everything = la.scrub(texts, gap=3, threads=1).receipt["recall_measured"]
    assert everything["recall"] == 0.75
    assert everything["interval_95"] == [0.75, 0.75]
    sampled = la.scrub(texts, gap=3, threads=1, audit=40).receipt["recall_measured"]
    low, high = sampled["interval_95"]
    assert low < 0.75 < high
    assert sampled["sampled"] < 60
    walls = la.scrub(texts, gap=3, threads=1, protect=r"x16 \w+").receipt["recall_measured"]
    assert walls["recall"] == 1  # what is protected is no near copy
    unlike = la.scrub([text.replace(" ", f" {n}x") for n, text in enumerate(texts)], gap=3, threads=1)
    assert unlike.receipt["recall_measured"]["recall"] is None
    assert la.scrub(texts, gap=3, threads=1, audit=0).receipt["recall_measured"] is None
    assert la.scrub(texts, threads=1).receipt["recall_measured"] is None


def test_recall_is_that_of_a_search_from_all_places() -> None:
    """Against a slow search; copies with many edits, of common words, several in one document, some of the same one."""
    rng = random.Random(9)
    common = [f"c{number}" for number in range(60)]
    texts = [rng.choices(common, k=85) for _ in range(6)]
    for number in range(10):
        source, kept = rng.choice(texts[:6]), 6 + number
        copy = [rng.choice(common) if at % kept == 0 else source[number + at] for at in range(72)]
        texts.append([*rng.choices(common, k=5), *copy, *rng.choices(common, k=5)])
    result = la.scrub([" ".join(text) for text in texts], gap=2, min_tokens=48, threads=1)
    rest = [text.split() for text in result.kept["text"].to_pylist()]
    measured = result.receipt["recall_measured"]
    missed = sum(len(regions(rest, number, 48, 2)) for number in range(len(rest)))
    assert 0 < missed == measured["true_pairs"] - measured["found_pairs"]


def regions(texts: list[list[str]], number: int, least: int, gap: int) -> list[tuple[int, int]]:
    """The near copies of earlier texts, or of earlier words, in a text; those that overlap are joined."""
    x, out = texts[number], []
    coded = {word: code for code, word in enumerate({word for text in texts for word in text})}
    tokens = [np.array([coded[word] for word in text], np.uint32) for text in texts]
    pieces = np.empty((400, 3), np.int64)
    for other in range(number + 1):
        y = texts[other]
        for p in range(len(x) - 3):
            for q in range(min(len(y) - 3, p if other == number else len(y))):
                if x[p : p + 4] != y[q : q + 4]:
                    continue
                first, end, y_end, equal = extend(tokens[number], tokens[other], p, q, gap, pieces)
                if equal >= least and (other < number or y_end <= first):
                    out.append((first, end))
    joined: list[tuple[int, int]] = []
    for first, end in sorted(out):
        if joined and first < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((first, end))
    return joined


def test_the_summary_says_how_many_near_copies_were_missed(tmp_path: Path, lookalike: Any) -> None:
    words = " ".join(VOCABULARY[:60])
    texts = [words, words.replace("w7 ", "x "), "unlike"]
    (tmp_path / "in.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    (tmp_path / "none.csv").write_text("id,text\n")

    def said(*options: str, name: str = "in.jsonl") -> str:
        output = tmp_path / "out.jsonl"
        return str(lookalike("scrub", tmp_path / name, "--gap", "3", "-o", output, "--force", *options).err)

    assert "measured 1.0000 (1.0000 to 1.0000) on 3 documents, against a search from every 4 equal words" in said()
    assert "Recall   of near copies · not measured, because audit is 0" in said("--audit", "0")
    assert "not measured: none cut, and none in 3 sampled documents" in said("--min-tokens", "70")
    assert "not measured: no documents" in said(name="none.csv")
