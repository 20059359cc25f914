"""Figures in the prose of the docs follow from the measured data, from constants of the code, or from arithmetic."""

from __future__ import annotations

import json
import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.core.arrays import ShingleRule

ROOT = Path(__file__).parents[2]
COMPARISON = "docs/comparison.md"


def data(name: str) -> Any:
    return json.loads((ROOT / f"docs/data/{name}.json").read_text(encoding="utf-8"))


def source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.promise("README.md", "need only Python 3.11 or newer and make")
@pytest.mark.promise("docs/index.md", "Python 3.11 or newer")
@pytest.mark.promise("docs/tutorial/first-steps.md", "You need Python 3.11 or newer")
def test_the_python_that_is_needed() -> None:
    assert tomllib.loads(source("pyproject.toml"))["project"]["requires-python"] == ">=3.11"


@pytest.mark.promise("docs/choosing.md", "take the defaults (five words, 0.8, recall 0.99)")
@pytest.mark.promise("docs/choosing.md", "The default is 0.99")
def test_the_defaults() -> None:
    job = la.pairs(["a b c d e f"]).receipt["job"]
    assert (job["threshold"], job["recall"]) == (0.8, 0.99)
    assert (job["rule"]["unit"], job["rule"]["k"]) == ("word", 5)


@pytest.mark.promise("docs/tutorial/first-steps.md", "1 for equal sets, 0 for sets that share nothing")
def test_the_ends_of_the_jaccard_similarity() -> None:
    text, other = "a b c d e f g", "h i j k l m n"
    assert la.jaccard(text, text) == 1
    assert la.jaccard(text, other) == 0
    assert 0 < la.jaccard(text, text + " h") < 1


@pytest.mark.promise("README.md", "Jaccard 0.8 over word 5-shingles, against an independent exact join")
@pytest.mark.promise("docs/comparison.md", "tokenising included, Jaccard 0.8 over word 5-shingles")
@pytest.mark.promise("docs/comparison.md", '"Recall .80–.85" is the recall among true pairs just above the threshold')
def test_what_the_benchmark_of_documents_compares() -> None:
    assert '"-t", "0.8"' in source("benchmarks/documents.py")
    assert "NUM, DEN = 4, 5" in source("benchmarks/truth.py")
    assert "\nK = 5\n" in source("benchmarks/sets.py")
    assert "lookalike" not in re.findall(r"^(?:from|import) (\w+)", source("benchmarks/truth.py"), re.MULTILINE)
    assert 'column("similarity").to_numpy() < 0.85' in source("benchmarks/score.py")


def rules(texts: str) -> dict[tuple[str, int], dict[str, Any]]:
    return {(row["unit"], row["k"]): row for row in data("choosing")["rules"] if row["texts"] == texts}


@pytest.mark.promise("docs/choosing.md", "All rules reach a similar best F1 (.986 to .995)")
@pytest.mark.promise("docs/choosing.md", "grows from 0.20 (single words) to 0.47 (five words)")
def test_rules_on_revised_pages() -> None:
    by_rule = rules("django")
    best = [row["best_f1"] for row in by_rule.values()]
    assert (f"{min(best):.3f}", f"{max(best):.3f}") == ("0.986", "0.995")
    room = {rule: row["median_true"] - row["nearest_other"] for rule, row in by_rule.items()}
    assert (round(room["word", 1], 2), round(room["word", 5], 2)) == (0.20, 0.47)
    for unit in ("word", "char"):
        lengths = sorted(k for u, k in by_rule if u == unit)
        for name in ("median_true", "nearest_other"):
            values = [by_rule[unit, k][name] for k in lengths]
            assert values == sorted(values, reverse=True)
        assert [room[unit, k] for k in lengths] == sorted(room[unit, k] for k in lengths)


@pytest.mark.promise("docs/choosing.md", "different papers have the same title (nearest other pair: 1.00)")
def test_rules_on_titles() -> None:
    by_rule = rules("titles")
    assert {row["nearest_other"] for row in by_rule.values()} == {1.0}
    assert max(by_rule, key=lambda rule: by_rule[rule]["best_f1"]) == ("word", 1)


@pytest.mark.promise("docs/choosing.md", "names of products rise from .439 to .576")
@pytest.mark.promise("docs/choosing.md", "fall to .717 without weights and reach .972 with the cosine of idf")
@pytest.mark.promise("docs/choosing.md", ".990 and .992 for pages and word 5-shingles")
@pytest.mark.promise("docs/choosing.md", "single words are slightly better without: .925 and .918, .913")
@pytest.mark.promise("docs/choosing.md", "The best F1 of one threshold, with and without weights")
def test_when_weights_help() -> None:
    best = {
        (row["texts"], f"{row['unit']} {row['k']}", row["weight"], row["measure"]): f"{row['best_f1']:.3f}"
        for row in data("choosing")["weights"]
    }
    plain, idf = ("none", "jaccard"), ("idf", "cosine")
    assert (best["products", "char 3", *plain], best["products", "char 3", *idf]) == ("0.439", "0.576")
    assert (best["template", "word 2", *plain], best["template", "word 2", *idf]) == ("0.717", "0.972")
    assert (best["django", "word 5", *plain], best["django", "word 5", *idf]) == ("0.990", "0.992")
    titles = [best["titles", "word 1", *way] for way in (plain, ("idf", "jaccard"), idf)]
    assert titles == ["0.925", "0.918", "0.913"]


def similarity_after(changes: int, words: int = 300) -> float:
    """The Jaccard similarity of a text of different words to itself with some words changed, far apart."""
    text = [f"w{i}" for i in range(words)]
    changed = list(text)
    for i in range(changes):
        changed[10 + i * (words - 20) // changes] = f"x{i}"
    return la.jaccard(" ".join(text), " ".join(changed))


@pytest.mark.promise("docs/choosing.md", "At n = 300 and k = 5 that is 0.967; five such changes give 0.84")
@pytest.mark.promise("docs/choosing.md", "a threshold of 0.9 allows 3 changed words, 0.8 allows 6 and 0.5 allows 19")
@pytest.mark.promise("docs/choosing.md", "changes k of about n shingles on each side")
def test_changed_words_and_the_threshold() -> None:
    assert round((300 - 5) / (300 + 5), 3) == round(similarity_after(1), 3) == 0.967
    assert round(similarity_after(5), 2) == 0.84
    for threshold, changes in ((0.9, 3), (0.8, 6), (0.5, 19)):
        assert similarity_after(changes) >= threshold > similarity_after(changes + 1)


@pytest.mark.promise("docs/choosing.md", "From 0.5 upwards no reported pair of Django pages is wrong")
def test_thresholds_on_revised_pages() -> None:
    rows = [row for row in data("choosing")["thresholds"] if row["texts"] == "django"]
    assert {row["precision"] for row in rows if row["threshold"] >= 0.5} == {1.0}
    recalls = [row["recall"] for row in rows]
    assert recalls == sorted(recalls, reverse=True)


@pytest.mark.promise("docs/choosing.md", "Threshold 0.6, word 5-shingles, the average of 20 seeds")
@pytest.mark.promise("docs/choosing.md", "the promise for a pair of similarity exactly 0.6")
@pytest.mark.promise(
    "docs/choosing.md", "the recall against the exact join, for the pairs just above the threshold and for all pairs"
)
@pytest.mark.promise("docs/choosing.md", "Word 5-shingles; the licence texts of SPDX")
def test_what_the_benchmark_of_choices_measures() -> None:
    code = source("benchmarks/choosing.py")
    assert "\nSEEDS = range(20)\n" in code
    assert "threshold: float = 0.6" in code
    assert "if s < threshold + 0.05" in code
    assert "unit" not in code[code.index("def threshold_rows") : code.index("def all_rules")]  # the default rule
    for row in data("choosing")["recalls"]:
        plan = la.Plan(threshold=0.6, recall=row["wish"], num_hashes=128, bands=row["bands"], rows=row["rows"])
        assert plan.recall_at_threshold == pytest.approx(row["planned"])


@pytest.mark.promise("docs/choosing.md", "even `--recall 0.5` finds 88 % of the pairs or more")
@pytest.mark.promise(
    "docs/choosing.md", "From 0.9 to 0.999 the number of candidates, and with it the cost, grows by less than a third"
)
def test_wishes() -> None:
    by_wish: dict[str, dict[float, dict[str, Any]]] = {}
    for row in data("choosing")["recalls"]:
        assert row["recall_at_edge"] >= row["wish"]  # the promise is kept at the threshold
        by_wish.setdefault(row["texts"], {})[row["wish"]] = row
    assert min(rows[0.5]["recall"] for rows in by_wish.values()) >= 0.88
    for rows in by_wish.values():
        assert rows[0.999]["candidates"] / rows[0.9]["candidates"] < 4 / 3


@pytest.mark.promise("docs/choosing.md", "A shingle is stored as a 64-bit hash")
@pytest.mark.promise("docs/choosing.md", "for n = 10,000 that is 5·10⁻¹²")
@pytest.mark.promise("docs/choosing.md", "0.03 for a billion shingles")
@pytest.mark.promise("docs/choosing.md", "the numbers become n²/2^32 = 0.02 false matches per pair at n = 10,000")
def test_hash_bits() -> None:
    import pyarrow as pa

    from lookalike.kinds.documents.features import shingle

    words = pa.array([" ".join(f"w{i}" for i in range(200))], pa.large_string())
    for bits in (64, 32):
        hashes = shingle(words, ShingleRule(k=1, hash_bits=bits)).elements
        assert hashes.dtype == np.uint64
        assert bits - 1 < np.log2(float(hashes.max())) <= bits
        assert 0.4 < (hashes < 2 ** (bits - 1)).mean() < 0.6  # spread over all bits
    assert f"{10_000**2 / 2**64:.0e}" == "5e-12"
    assert round((10**9) ** 2 / 2**65, 2) == 0.03
    assert round(10_000**2 / 2**32, 2) == 0.02
    assert round((10**6) ** 2 / 2**33) == 116


@pytest.mark.promise("docs/comparison.md", "Every table says which command makes it")
def test_tables_name_their_benchmarks() -> None:
    sections = re.split(r"^## ", source(COMPARISON), flags=re.MULTILINE)
    for section in sections:
        if "<!-- table:" in section:
            named = re.findall(r"`(?:benchmarks/)?([\w/]+\.py)[^`]*`", section)
            assert named or "`make bench`" in section, section.splitlines()[0]
            assert all((ROOT / "benchmarks" / name).is_file() for name in named)


def tools(corpus: str) -> dict[str, dict[str, Any]]:
    return {run["tool"]: run for run in data("measured")["documents"]["corpora"][corpus]["runs"]}


@pytest.mark.promise("docs/comparison.md", "two cores of a virtual machine (AMD EPYC, 24 GiB)")
def test_the_machine() -> None:
    assert data("measured")["machine"] in source(COMPARISON)
    machine = data("choosing")["machine"]
    assert (machine["processor"], machine["cores"], round(machine["memory_bytes"] / 2**30)) == ("AMD EPYC", 2, 24)


@pytest.mark.promise("docs/comparison.md", "Their precision is therefore below 1")
@pytest.mark.promise("docs/comparison.md", '"rensa, 16 bands of 8" shows what another choice does')
@pytest.mark.promise("docs/comparison.md", "it finds 41.5 % of the pairs between .80 and .85")
def test_other_tools() -> None:
    for corpus in ("generated", "real"):
        runs = tools(corpus)
        assert all(run["precision"] < 1 for tool, run in runs.items() if "lookalike" not in tool)
        assert runs["rensa, 16 bands of 8"]["recall_edge"] > runs["rensa"]["recall_edge"]
        assert runs["rensa, 16 bands of 8"]["precision"] < runs["rensa"]["precision"]
    assert tools("real")["daft"]["recall_edge"] == 0.415


@pytest.mark.promise("docs/comparison.md", "documents of 1.7 kB, then queries 5,000 others")
@pytest.mark.promise("docs/comparison.md", "Recall was 1 over 1,331 true matches")
def test_the_index_and_the_service() -> None:
    assert "QUERIES, WARM = 5000, 500" in source("benchmarks/index.py")
    assert data("measured")["service"]["recall"] == 1
    assert data("measured")["service"]["true_matches"] == 1331


@pytest.mark.promise("docs/how-to/baskets.md", "9,835 baskets have 2.76 million pairs at 0.2")
@pytest.mark.promise(
    "docs/how-to/recommend-from-baskets.md", "9,835 baskets with 2.76 million pairs at 0.2 take 0.28 s"
)
def test_baskets_that_were_measured() -> None:
    rows = [row for row in data("measured")["kinds"] if row["task"].startswith("9,835 shopping baskets")]
    assert len(rows) == 1
    assert "all pairs at 0.2 (2.76 million)" in rows[0]["task"]
    assert (rows[0]["script"], rows[0]["lookalike"][:6]) == ("baskets.py", "0.28 s")


@pytest.mark.promise("docs/how-to/bits.md", "for a million random 64-bit codes it takes the exact join up to 11 bits")
def test_bits_that_are_joined_exactly() -> None:
    from lookalike.core.method_choice import EXACT_COST_RATIO
    from lookalike.kinds.bits.multi_index import SegmentCosts, exact_plan, lsh_plan

    assert EXACT_COST_RATIO == 1.25
    costs = SegmentCosts(10**6, 1, 0.5)
    exact = [
        costs.of(exact_plan(64, bits, costs)) <= EXACT_COST_RATIO * costs.of(lsh_plan(64, bits, 0.99, costs))
        for bits in range(1, 15)
    ]
    assert exact == [True] * 11 + [False] * 3


@pytest.mark.promise("docs/how-to/classify.md", "(2,000 by default, drawn at random)")
def test_labelled_texts_that_are_tested() -> None:
    from inspect import signature

    import pyarrow as pa

    table = pa.table({"text": [f"a b{i}" for i in range(30)], "topic": ["x"] * 29 + [None]})
    assert signature(la.classify).parameters["test_size"].default == 2000
    assert la.classify(table, label="topic", test_size=7).receipt["accuracy"]["tested"] == 7
    assert la.classify(table, label="topic").receipt["accuracy"]["tested"] == 29


@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "has a Jaccard similarity of only 0.34 to the page")
def test_a_question_inside_a_page() -> None:
    page = [f"w{i}" for i in range(80)]
    assert round(la.jaccard(" ".join(page), " ".join(page[20:50])), 2) == 0.34


@pytest.mark.promise("docs/how-to/faces.md", "Below 2,000 items everything is compared unless `--method lsh` is given")
def test_few_faces_are_compared_exactly() -> None:
    from lookalike.kinds.faces import local as faces

    rows = np.random.default_rng(0).random((faces.MAX_ALL_PAIRS_FACES, 4)).astype(np.float32)
    assert faces.MAX_ALL_PAIRS_FACES == 2000
    few = la.faces.pairs(rows[:-1], tolerance=0.0001, threshold=1.0, audit=0)
    assert few.receipt["choice"]["method"] == "exact"
    assert la.faces.pairs(rows[:20], threshold=1.0, method="lsh", audit=0).receipt["choice"]["method"] == "lsh"


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "(10 of 64 is the default)")
@pytest.mark.promise("docs/how-to/images.md", "differ in at most `--max-bits` (10) of 64 bits")
def test_bits_of_pictures() -> None:
    from lookalike.kinds.images.spec import ImageJob

    assert ImageJob().threshold == 10
    assert ImageJob(threshold=64).threshold == 64
    with pytest.raises(la.errors.UsageError, match="from 0 to 64"):
        ImageJob(threshold=65)


@pytest.mark.promise("docs/how-to/explore.md", "the largest groups (6,000 items)")
@pytest.mark.promise("docs/how-to/explore.md", "400 pairs can be seen side by side, in at most 6 MB")
def test_what_a_report_lists() -> None:
    from lookalike.web import report

    assert (report.MAX_GROUP_MEMBERS, report.NEAR_PAIRS, report.MOST_ALIKE_PAIRS, report.SAMPLED_PAIRS) == (
        6000,
        1500,
        500,
        1000,
    )
    assert (report.VIEWS, report.MAX_TEXT_CHARACTERS) == (400, 6_000_000)


@pytest.mark.promise("docs/how-to/baskets.md", "`--grouping cliques` is available for every kind of item")
def test_every_kind_of_item_has_cliques() -> None:
    commands = re.split(r"^##+ ", source("docs/reference/cli.md"), flags=re.MULTILINE)
    groups = {
        part.split("\n", 1)[0].strip("` "): part for part in commands if re.match(r"`?lookalike .*groups`?\n", part)
    }
    kinds = {"", "records ", "baskets ", "vectors ", "strings ", "bits ", "images ", "faces "}
    assert groups.keys() >= {f"lookalike {kind}groups" for kind in kinds}
    assert [name for name, part in groups.items() if "cliques" not in part and "index" not in name] == []


@pytest.mark.promise("docs/how-to/index.md", "a bulk `add` takes more than 30,000 documents a second")
@pytest.mark.promise("docs/how-to/serve.md", "One process answers more than 1,000 queries a second")
def test_the_speed_of_the_index_and_the_service() -> None:
    million = next(run for run in data("measured")["index"]["runs"] if run["documents"] == 10**6)
    assert million["added_per_second"] > 30_000
    assert million["p50_ms"] < 0.1
    assert min(run["per_second"] for run in data("measured")["service"]["runs"]) > 1000


@pytest.mark.promise("docs/how-to/large.md", "at 32 places and estimates the number of documents, candidates and pairs")
@pytest.mark.promise("docs/how-to/large.md", "(at least 300MB; default: half of the free memory)")
@pytest.mark.promise("docs/how-to/passages.md", "It shows the 300 pairs that share most (`--report-pairs`)")
@pytest.mark.promise("docs/how-to/passages.md", "at least 40 % of each lies in passages that they share")
@pytest.mark.promise("docs/how-to/spark.md", "A bucket with more than 4,096 documents is cut into parts")
@pytest.mark.promise("docs/how-to/spark.md", "Where the system has Java 17 or newer")
@pytest.mark.promise("docs/how-to/spark-kinds.md", "from 100,000 records of each table")
@pytest.mark.promise("docs/explanation/curves.md", "A signature is a list of 128 such numbers")
@pytest.mark.promise("docs/reference/formats.md", "where it is larger than 16 MiB")
def test_constants_and_defaults_that_pages_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect import signature

    from lookalike.io import columnar
    from lookalike.kinds.documents import forecast
    from lookalike.kinds.passages import api as passages
    from lookalike.kinds.records.spark import run as record_run
    from lookalike.runtime.local import memory_budget
    from lookalike.runtime.spark import java, key_join

    assert forecast.SAMPLED_POSITIONS == 32
    assert memory_budget.MIN_BUDGET == 300_000_000
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 10**10)
    assert memory_budget.memory_size(None) == 5 * 10**9
    assert passages.REPORTED == 300
    stories = signature(la.stories).parameters
    assert (stories["share"].default, stories["jaccard"].default) == (0.4, 0.3)
    assert (key_join.GIANT, java.OLDEST) == (4096, 17)
    assert record_run.SAMPLED_RECORDS == 100_000
    assert la.plan(0.8).num_hashes == 128
    assert columnar.DICTIONARY_BYTES == 16 << 20


@pytest.mark.promise(
    "docs/explanation/cost.md", "two sets of similarity 0.9 must share one of their rarest tenth of elements"
)
@pytest.mark.promise("docs/explanation/cost.md", "a template in 200,000 variants has 2·10¹⁰ pairs")
@pytest.mark.promise("docs/explanation/scale.md", "(a pair at 0.8 differs in size by at most a quarter)")
@pytest.mark.promise("docs/explanation/scale.md", "0.4 pairs at 10⁹, four thousand at 10¹¹")
@pytest.mark.promise("docs/explanation/scale.md", "βʳ falls from 6·10⁻¹¹ to 3·10⁻¹⁴")
@pytest.mark.promise("docs/explanation/curves.md", "it gives 9 bands of 13 rows")
def test_arithmetic_of_the_explanations() -> None:
    """Of n elements, a set at Jaccard similarity t must have one of its n - ceil(t n) + 1 rarest in common."""
    for n in (100, 1000):
        assert n - math.ceil(Fraction(9, 10) * n) + 1 == n // 10 + 1
        assert n - math.ceil(Fraction(4, 10) * n) + 1 > n // 2
    assert round(200_000 * 199_999 / 2 / 1e10) == 2
    assert Fraction(1) / Fraction(4, 5) - 1 == Fraction(1, 4)
    assert round((10**9) ** 2 / 2 * 16 / 2**64, 1) == 0.4
    assert round((10**11) ** 2 / 2 * 16 / 2**64, -3) == 4000
    assert (f"{0.02**6:.0e}", f"{0.02**8:.0e}") == ("6e-11", "3e-14")
    balanced = la.Plan(threshold=0.8, recall=0.99, num_hashes=128, bands=9, rows=13)
    assert f"{balanced.probability(0.8):.2f}" == "0.40"


@pytest.mark.promise("docs/explanation/scale.md", "(`--copies`, 5 % are exact copies)")
@pytest.mark.promise("docs/explanation/scale.md", "each document has `--partners` (0.4) of them")
@pytest.mark.promise("docs/explanation/scale.md", "(`--background`, 0.02: a common phrase)")
@pytest.mark.promise("docs/explanation/scale.md", "(2.6 ns for each byte that crosses)")
@pytest.mark.promise("docs/explanation/scale.md", "which work 0.75 of the time because stages wait for their last task")
@pytest.mark.promise("docs/explanation/scale.md", "and the model assumes 5")
def test_the_assumptions_of_the_model() -> None:
    from lookalike.cost_model import scale
    from lookalike.cost_model.costs import Costs

    load, costs = scale.Load(items=1e6, mean_bytes=1000), Costs()
    assert (load.copies, load.partners, load.background) == (0.05, 0.4, 0.02)
    assert (costs.byte_crossing, costs.row_shuffled, costs.byte_shuffled) == (2.6, 750.0, 7.4)
    assert (scale.BUSY, scale.Cluster(executors=2).bandwidth, scale.ROUNDS) == (0.75, 500e6, 5)


@pytest.mark.promise("docs/how-to/strings.md", "Without ids, strings are known by their row numbers from 0")
def test_row_numbers_of_strings() -> None:
    found = la.strings.pairs(["abcd", "wxyz", "abce"], max_edits=1).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in found] == [(0, 2)]


@pytest.mark.promise("docs/reference/index-format.md", "the XXH64 of the header (8 bytes, seed 0)")
def test_the_head_of_a_segment(tmp_path: Path) -> None:
    from lookalike.index.kernels import blocks

    with la.Index.create(tmp_path / "seen", k=2) as index:
        index.add(["a b c d", "e f g h"])
        index.compact()
    magic = b"lookalike seg 2\n"
    files = [path.read_bytes() for path in sorted((tmp_path / "seen").rglob("*")) if path.is_file()]
    segments = [content for content in files if content.startswith(magic)]
    assert segments
    for content in segments:
        start = len(magic) + 16
        end = start + int.from_bytes(content[len(magic) : start - 8], "little")
        header = json.loads(content[start:end])
        assert header.keys() == {"arrays", "bytes", "block"}
        words = np.frombuffer(content[start:end], np.uint64)
        assert int.from_bytes(content[start - 8 : start], "little") == blocks.xxh64(words, 0, len(words), np.uint64(0))
        assert end % 64 == 0
        assert all(array.keys() == {"dtype", "count", "at"} for array in header["arrays"].values())
        assert [array["at"] % 64 for array in header["arrays"].values()] == [0] * len(header["arrays"])
