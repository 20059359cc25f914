"""Hashes, signatures and band keys are what they always were."""

from __future__ import annotations

import json

import pytest

from golden.make import FILE, RULES, TEXTS, golden
from oracles import elements, fast_similarity_sketch, minhash, tokens

KEPT = json.loads(FILE.read_text())


@pytest.mark.promise("docs/reference/formats.md", "golden values in the tests guard every hash")
@pytest.mark.parametrize("name", KEPT)
def test_nothing_has_changed(name: str) -> None:
    assert golden()[name] == KEPT[name]
    assert golden().keys() == KEPT.keys()


@pytest.mark.parametrize("name", RULES)
def test_the_slow_twin_gives_the_same_elements(name: str) -> None:
    rule = RULES[name]
    assert [sorted(kept) for kept in KEPT["elements"][name]] == [elements(tokens(t, rule), rule) for t in TEXTS]


def test_the_slow_twin_gives_the_same_signatures() -> None:
    sets = KEPT["elements"]["words"]
    assert KEPT["signatures"]["fss-1, seed 42"] == [fast_similarity_sketch(s, 8, 42) for s in sets]
    assert KEPT["signatures"]["minhash-1, seed 42"] == [minhash(s, 8, 42) for s in sets]
