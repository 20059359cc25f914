"""After scrub nothing repeats: an independent check that knows only the input, the output and the table of cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.arrays import ShingleRule
from lookalike.kinds.scrub import windows
from oracles import words
from passage_oracles import placed_words

FOLD = ShingleRule()
WORDS = st.sampled_from(["a", "b", "ab", "A", "é", "漢", "字", "か", "e\u0301", "𝒳", "٣"])
SEPARATORS = st.sampled_from([" ", "", ", ", ".\n", "\n\n", " 😀 ", "\u0301 "])
TEXTS = st.lists(
    st.lists(st.tuples(WORDS, SEPARATORS), max_size=24).map(lambda p: "".join(a + b for a, b in p)), max_size=5
)


def tokens_of(text: str, unit: str) -> list[Any]:
    if unit == "word":
        return words(text, FOLD)
    return list(text) if unit == "char" else list(text.encode())


def runs(texts: Sequence[str], unit: str, length: int) -> list[tuple[Any, ...]]:
    """All runs of the length, in all texts."""
    whole = [tokens_of(text, unit) for text in texts]
    return [tuple(tokens[i : i + length]) for tokens in whole for i in range(len(tokens) - length + 1)]


def check(texts: list[str], result: la.Scrubbed, unit: str, length: int) -> None:
    out = result.kept["text"].to_pylist()
    found = runs(out, unit, length)
    assert len(found) == len(set(found)), (texts, out)
    removed = result.removed.to_pylist()
    for row, (text, rest) in enumerate(zip(texts, out, strict=True)):
        cuts = [cut for cut in removed if cut["row"] == row]
        edges = [0, *(edge for cut in cuts for edge in (cut["start"], cut["end"])), len(text)]
        assert edges == sorted(edges)
        assert "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)) == rest
        data = text.encode()
        for cut in cuts:
            assert text[cut["start"] : cut["end"]] == cut["text"]
            assert data[cut["start_byte"] : cut["end_byte"]].decode() == cut["text"]
    for cut in removed:
        if cut["kept"] is None:
            continue
        source = texts[cut["kept"]]
        copy = source[cut["kept_start"] : cut["kept_end"]]
        assert (
            source.encode()[cut["kept_start_byte"] : cut["kept_end_byte"]].decode("utf-8", "replace") == copy
            or unit == "byte"
        )
        assert cut["occurrences"] is None or cut["occurrences"] > 1
        overlap = [
            other
            for other in removed
            if other["row"] == cut["kept"] and other["start"] < cut["kept_end"] and other["end"] > cut["kept_start"]
        ]
        inside = [w for w in placed_words(source, FOLD) if cut["kept_start"] <= w[0] < cut["kept_end"]]
        gone = [w for w in inside if any(other["start"] <= w[0] < other["end"] for other in overlap)]
        assert unit != "word" or not gone, (texts, removed)
        if unit == "word":
            cut_words = [w[2] for w in placed_words(texts[cut["row"]], FOLD) if cut["start"] <= w[0] < cut["end"]]
            assert cut_words == [w[2] for w in inside]


@given(
    TEXTS, st.sampled_from(["word", "char", "byte"]), st.integers(1, 6), st.sampled_from(["first", "last", "longest"])
)
@example(["aaaaaaaa"], "char", 3, "first")
@example(["abababab", "bababa"], "char", 3, "last")
@example(["a漢b", "漢 漢"], "word", 1, "first")
@example(["x a b c y", "", "a b c"], "word", 2, "first")
@settings(max_examples=250)
def test_no_run_of_the_output_occurs_twice(texts: list[str], unit: Any, length: int, keep: str) -> None:
    result = la.scrub(texts, unit=unit, min_tokens=length, keep=keep, threads=1)
    check(texts, result, unit, length)


@given(TEXTS, st.integers(2, 7), st.sampled_from(["word", "char"]))
@example(["aaaaaaaaaaaa", "baaaa"], 4, "char")
@example(["abcabcabcabc", "xbcabcay"], 5, "char")
@settings(max_examples=150)
def test_anchors_do_not_hide_a_repeat(texts: list[str], length: int, unit: Any) -> None:
    expected = la.scrub(texts, unit=unit, min_tokens=length, threads=1)
    with mock.patch.object(windows, "SHORTEST_ANCHORED", 2):
        result = la.scrub(texts, unit=unit, min_tokens=length, threads=1)
    assert result.removed == expected.removed
    check(texts, result, unit, length)


@given(TEXTS, st.integers(1, 4), st.sampled_from(["sentence", "line", "paragraph"]))
@settings(max_examples=120)
def test_nor_when_cuts_are_widened(texts: list[str], length: int, at: Any) -> None:
    result = la.scrub(texts, min_tokens=length, at=at, threads=1)
    check(texts, result, "word", length)


@given(TEXTS, st.integers(1, 4), st.floats(0.1, 1.0))
@settings(max_examples=100)
def test_documents_that_would_lose_more_are_dropped(texts: list[str], length: int, most: float) -> None:
    result = la.scrub(texts, min_tokens=length, max_loss=most, threads=1)
    out = result.kept["text"].to_pylist()
    found = runs(out, "word", length)
    assert len(found) == len(set(found))
    assert len(out) == len(texts) - result.receipt["counts"]["documents_dropped"]
    dropped = [row for row, state in enumerate(result.cuts.states) if state == 1]
    rest = [text for row, text in enumerate(texts) if row not in dropped]
    for text, cut in zip(rest, out, strict=True):
        assert len(words(text, FOLD)) - len(words(cut, FOLD)) <= most * len(words(text, FOLD)) + 1e-9


@given(TEXTS, st.integers(1, 4), st.floats(0.1, 0.9))
@settings(max_examples=60)
def test_or_kept_whole(texts: list[str], length: int, most: float) -> None:
    result = la.scrub(texts, min_tokens=length, max_loss=most, on_max_loss="keep", threads=1)
    out = result.kept["text"].to_pylist()
    whole = {row for row, state in enumerate(result.cuts.states) if state == 2}
    assert all(out[row] == texts[row] for row in whole)
    found = runs([text for row, text in enumerate(out) if row not in whole], "word", length)
    assert len(found) == len(set(found))


@given(TEXTS, st.integers(1, 3))
@settings(max_examples=100)
def test_protected_text_stays(texts: list[str], length: int) -> None:
    texts = [*texts, "z z z"]  # not all of the text is protected
    result = la.scrub(texts, min_tokens=length, protect="b+", threads=1)
    for text, rest in zip(texts, result.kept["text"].to_pylist(), strict=True):
        assert rest.count("b") == text.count("b")


@given(TEXTS, st.integers(2, 12), st.integers(1, 3), st.sampled_from([1.0, 0.5]), st.sampled_from([None, "b+"]))
@example(["a b ab A é a b ab A A é a b", "a b ab é é a b"], 5, 2, 1.0, None)
@settings(max_examples=150)
def test_nor_beside_near_copies(texts: list[str], length: int, gap: int, most: float, protect: str | None) -> None:
    texts = [*texts, "z z"]
    given = {"max_loss": most, "on_max_loss": "keep", "protect": protect, "min_tokens": length, "threads": 1}
    result = la.scrub(texts, gap=gap, **given)
    if most == 1.0 and protect is None:
        check(texts, result, "word", length)
    out = result.kept["text"].to_pylist()
    for row, (text, rest) in enumerate(zip(texts, out, strict=True)):
        assert protect is None or rest.count("b") == text.count("b")
        if rest != text:
            assert len(words(text, FOLD)) - len(words(rest, FOLD)) <= most * len(words(text, FOLD)) + 1e-9, row


LINES = st.lists(
    st.sampled_from(["one line of text", "another line", "a", "", " ", "one line of text  ", "}"]), max_size=12
)


@given(st.lists(st.tuples(LINES, st.sampled_from(["\n", "\n\n", "\r\n"])).map(lambda p: p[1].join(p[0])), max_size=4),
       st.integers(1, 3), st.sampled_from(["line", "paragraph"]))  # fmt: skip
@settings(max_examples=100)
def test_no_line_or_paragraph_occurs_more_often(texts: list[str], times: int, level: Any) -> None:
    result = la.scrub(texts, level=level, max_times=times, min_tokens=2, threads=1)
    counts: dict[str, int] = {}
    for text in result.kept["text"].to_pylist():
        lines = [line.rstrip() for line in text.split("\n")]
        parts = lines if level == "line" else [part.strip("\n") for part in "\n".join(lines).split("\n\n")]
        for part in parts:
            if len(part.split()) >= 2:
                counts[part] = counts.get(part, 0) + 1
    assert max(counts.values(), default=0) <= times or level == "paragraph"
    for cut in result.removed.to_pylist():
        assert cut["occurrences"] > times


@given(TEXTS, st.integers(2, 6))
@settings(max_examples=40)
def test_copies_are_found_in_parts(texts: list[str], length: int) -> None:
    options: dict[str, Any] = {"unit": "word", "min_tokens": length}
    whole = la.scrub(texts, **options).cuts.pieces
    with mock.patch("lookalike.kinds.scrub.repeats.RESOLVED_AT_ONCE", 1):
        assert la.scrub(texts, **options).cuts.pieces.tolist() == whole.tolist()
