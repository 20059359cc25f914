"""Draw the plots of the documentation into docs/images: python scripts/make_plots.py

Each SVG carries the digest of its data; a test computes the digests again, so that no plot is out of date.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import lookalike as la
from lookalike.core.arrays import Recipe, Sets
from lookalike.kinds.documents.folding import plan_folding
from lookalike.kinds.documents.signatures import sketch
from lookalike.planning.amplification import amplify
from lookalike.planning.families import HYPERPLANES, MINHASH, lines, projections, sampled_bits
from lookalike.planning.plots import CURVE, FALSE, INK, MISSED, MUTED, PLOT_CONFIG, curve_chart

DOCS = Path(__file__).resolve().parents[1] / "docs"
IMAGES = DOCS / "images"
MARK = "<!-- drawn from {} -->"
WIDTH, HEIGHT = 560, 300
COLOURS = [CURVE, FALSE, "#2f8f5b", "#7b3f98", MISSED, MUTED]
LINES = alt.Scale(range=COLOURS)
STEPS = 200


def looks(chart: Any, title: str, subtitle: str) -> Any:
    """The look of all plots."""
    said = alt.TitleParams(title, subtitle=subtitle)
    return chart.properties(title=said, background="white", padding=16).configure(
        **PLOT_CONFIG | {"axis": PLOT_CONFIG["axis"] | {"format": ""}},  # type: ignore[operator]
        legend={"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": INK, "symbolStrokeWidth": 3,
                "labelLimit": 320, "columnPadding": 28, "symbolType": "stroke"},
    )  # fmt: skip


def line_chart(rows: list[dict[str, Any]], x: Any, y: Any, series: str, *, points: bool = False) -> Any:
    """Lines of rows with the columns x, y and `series`."""
    order = list(dict.fromkeys(row[series] for row in rows))
    colour = alt.Color(f"{series}:N", scale=LINES, sort=order, title=None, legend=alt.Legend(orient="right"))
    mark = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT).mark_line(strokeWidth=2.5, point=points)
    return mark.encode(x=x, y=y, color=colour)


def probability(title: str) -> Any:
    return alt.Y("p:Q", title=title, scale=alt.Scale(domain=[0, 1]))


def shapes() -> Any:
    """Many bands and rows of 128 hashes, with the two errors at one threshold."""
    bound = 0.6
    rows = [
        {"s": i / 100, "p": amplify(i / 100, r, b), "shape": f"{b} × {r}", "one": 1}
        for b, r in ((64, 2), (32, 4), (25, 5), (16, 8), (8, 16), (4, 32))
        for i in range(101)
    ]
    whole = alt.Scale(domain=[0, 1], nice=False)
    ticks = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    x = alt.X("s:Q", title="similarity of the pair", scale=whole, axis=ticks)
    y = alt.Y("p:Q", title="becomes a candidate", scale=whole, axis=ticks)
    base = alt.Chart(width=190, height=150).encode(x=x, y=y)
    false = base.transform_filter(alt.datum.s <= bound).mark_area(color=FALSE, opacity=0.35)
    missed = base.transform_filter(alt.datum.s >= bound).mark_area(color=MISSED, opacity=0.5).encode(y2="one:Q")
    line = base.mark_line(color=CURVE, strokeWidth=2.5)
    rule = alt.Chart().mark_rule(color=INK, strokeDash=[4, 3]).encode(x=alt.datum(bound))
    names = alt.Header(title=None, labelFontSize=13, labelFontWeight="bold", labelColor=INK)
    order = list(dict.fromkeys(row["shape"] for row in rows))
    panels = alt.layer(false, missed, line, rule, data=alt.Data(values=rows)).facet(
        facet=alt.Facet("shape:N", sort=order, header=names), columns=3
    )
    said = "1 − (1 − s^r)^b; at threshold 0.6, amber: candidates rejected, red: pairs that never meet"
    return looks(panels, "Bands × rows: six ways to spend 128 hashes", said)


def planned() -> Any:
    return curve_chart(la.plan(0.8), others=[by_hand(9, 13), by_hand(25, 5)])


def textbook() -> Any:
    return curve_chart(by_hand(20, 5), others=[by_hand(15, 5)])


def by_hand(bands: int, rows: int) -> la.Plan:
    return la.Plan(threshold=0.8, recall=0.99, num_hashes=max(128, bands * rows), bands=bands, rows=rows)


def estimates() -> Any:
    """The error of an estimate against the length of the signature, measured on planted pairs."""
    rows = []
    for scheme, name in (("minhash-1", "classic minhash, measured"), ("fss-1", "Fast Similarity Sketching, measured")):
        for length in (16, 32, 64, 128, 256, 512, 1024):
            error = np.sqrt(np.mean(np.square(errors(scheme, length))))
            rows.append({"length": length, "error": round(float(error), 5), "scheme": name})
    law = "law of independent hashes: √(s(1−s)/n)"
    rows += [{"length": n, "error": round((0.5 * 0.5 / n) ** 0.5, 5), "scheme": law} for n in (16, 1024)]
    logarithmic: dict[str, Any] = {"type": "log"}
    x = alt.X("length:Q", title="length of the signature", scale=alt.Scale(base=2, **logarithmic))
    y = alt.Y("error:Q", title="root mean square error", scale=alt.Scale(domain=[0.01, 0.2], **logarithmic))
    chart = line_chart(rows, x, y, "scheme", points=True)
    chart = chart.encode(color=chart.encoding.color.legend(orient="bottom", columns=1))
    return looks(chart, "How far an estimate is off", "400 pairs of sets of 300 elements, similarity 0.5")


def errors(scheme: Any, length: int, pairs: int = 400, size: int = 300) -> np.ndarray:
    """Estimate less truth of pairs that share half of their union."""
    rng = np.random.default_rng(7)
    shared = 2 * size // 3  # of 300 and 300 elements with 200 in common: 200/400
    elements = rng.integers(1, 1 << 63, (pairs, 2 * size - shared), dtype=np.uint64)
    both = np.stack([elements[:, :size], elements[:, size - shared :]], axis=1)
    # the second set: the last `shared` of the first, and as many others as the first has
    sets = Sets(both.reshape(-1), np.arange(2 * pairs + 1) * size)
    made = sketch(sets, Recipe(scheme=scheme, length=length)).values
    return (made[::2] == made[1::2]).mean(axis=1) - 0.5


def folding() -> Any:
    """OR-folding next to minhash bands, at the same promise."""
    bands, folded = la.plan(0.8), plan_folding(0.8, recall=0.99)
    names = f"minhash, {bands.shape}", f"OR-folding, {folded.bands} keys of {folded.rows} rows in each matrix"
    rows = [
        {"s": i / 100, "p": round(plan.probability(i / 100), 6), "way": name}
        for name, plan in zip(names, (bands, folded), strict=True)
        for i in range(101)
    ]
    x = alt.X("s:Q", title="Jaccard similarity of the pair")
    chart = line_chart(rows, x, probability("probability that it becomes a candidate"), "way")
    chart = chart.encode(color=chart.encoding.color.legend(orient="bottom", columns=1))
    return looks(chart, "Two families for sets, one promise: 0.99 at 0.8", "for folding, the least over all sizes")


def ladder() -> Any:
    """How folding makes a column denser."""
    rows, density = [], 0.01
    for fold in range(9):
        rows.append({"fold": fold, "p": round(density, 5), "name": "density of the column"})
        density = 1 - (1 - density) ** 2
    x = alt.X("fold:O", title="times folded: half as many rows each time", axis=alt.Axis(labelAngle=0))
    chart = line_chart(rows, x, alt.Y("p:Q", title="share of ones"), "name", points=True)
    zone = alt.Chart(alt.Data(values=[{"low": 0.2, "high": 0.8}])).mark_rect(color=CURVE, opacity=0.12)
    both = zone.encode(y="low:Q", y2="high:Q") + chart.encode(color=alt.value(CURVE))
    return looks(both, "OR-folding a sparse column", "in the shaded matrices it takes part: density 0.2 to 0.8")


def families() -> Any:
    """What one hash of each family says about a distance."""
    kinds = [
        (MINHASH, 1.0, "minhash: Jaccard distance"), (HYPERPLANES, 180.0, "hyperplanes: angle / 180°"),
        (sampled_bits(64), 64.0, "sampled bits: Hamming / 64"), (projections(1.0), 4.0, "2-stable projections: d / 4w"),
        (lines(1.0), 4.0, "random lines of the plane: d / 4w"),
    ]  # fmt: skip
    rows = [
        {"d": i / STEPS, "p": round(family.p(i / STEPS * reach), 6), "family": name, "dash": number}
        for number, (family, reach, name) in enumerate(kinds)
        for i in range(STEPS + 1)
    ]
    dashes = [[1, 0], [10, 6], [3, 5], [1, 0], [6, 4]]
    x = alt.X("d:Q", title="distance, as a share of the axis")
    chart = line_chart(rows, x, probability("probability that one hash agrees"), "family")
    chart = chart.encode(
        strokeDash=alt.StrokeDash("dash:O", legend=None, scale=alt.Scale(range=dashes)),
        color=chart.encoding.color.legend(orient="bottom", columns=2),
    )  # fmt: skip
    return looks(chart, "Families of hash functions", "the first three are one straight line")


def cost() -> Any:
    """Seconds of both ways, as benchmarks/crossover.py measured them."""
    measured = json.loads((DOCS / "data/cost.json").read_text())
    names = {"exact": "exact join", "lsh": "bands, recall 0.99"}
    rows = [{**row, "way": f"{names[row['method']]}, {row['sets']}"} for row in measured["runs"]]
    x = alt.X("threshold:Q", title="threshold", scale=alt.Scale(domain=[0.4, 0.9]), axis=alt.Axis(tickCount=5))
    y = alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log"))
    chart = line_chart(rows, x, y, "way", points=True)
    chart = chart.encode(color=chart.encoding.color.legend(orient="bottom", columns=2))
    return looks(
        chart, "Exact or banded?", f"{measured['documents']:,} generated documents, two cores, without reading"
    )


PLOTS: dict[str, Callable[[], Any]] = {
    "shapes": shapes, "planned": planned, "textbook": textbook, "estimates": estimates, "folding": folding,
    "ladder": ladder, "families": families, "cost": cost,
}  # fmt: skip


def specs() -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name, Vega-Lite, digest) of every plot."""
    for name, draw in PLOTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = draw().to_dict()
        spec.pop("$schema")  # it names the version of the drawing program
        spec = rounded(spec)
        yield name, spec, hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def rounded(part: Any) -> Any:
    """Numbers with nine digits: the last ones differ between processors."""
    if isinstance(part, float):
        return float(f"{part:.9g}")
    if isinstance(part, dict):
        return {key: rounded(value) for key, value in part.items()}
    return [rounded(value) for value in part] if isinstance(part, list) else part


def main() -> None:
    import vl_convert

    IMAGES.mkdir(exist_ok=True)
    for name, spec, digest in specs():
        drawn = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        (IMAGES / f"{name}.svg").write_text(f"{drawn}\n{MARK.format(digest)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
