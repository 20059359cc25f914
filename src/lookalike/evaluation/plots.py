"""Plots of an evaluation: precision, recall and F1 by threshold, as SVG, PNG or HTML (with the extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.arrays import F64, Scale
from lookalike.core.formatting import share
from lookalike.errors import MissingExtra, UsageError, nearest
from lookalike.evaluation.agreement import GroupCurve, PairCurve
from lookalike.evaluation.api import Evaluation, thinned
from lookalike.io.atomic import replacing
from lookalike.planning.plots import CURVE, FALSE, FALSE_INK, INK, MUTED, PLOT_CONFIG, PLOT_EXTENSIONS

PANEL_WIDTH, PANEL_HEIGHT = (
    520,
    300,
)  # size of one panel in pixels (a PNG has twice as many), without axes and labels
GAP = 40  # pixels between two panels
LABEL_GAP = 17  # minimum distance between the labels of two lines, in pixels
MAX_CURVE_POINTS = 600  # maximum number of points to draw; more steps would not be visible
RAND = "#7b3f98"
PANEL_TITLE = {"fontSize": 13, "fontWeight": "bold", "color": INK, "offset": 10, "anchor": "start", "frame": "group"}


def save_evaluation(evaluation: Evaluation, path: str | Path, *, force: bool = False) -> None:
    """Plot precision, recall and F1 by threshold to `path` (.svg, .png or .html), for pairs and for groups.

    The best F1 is marked. The file is written atomically. The HTML page is self-contained and makes no requests. Raises
    UsageError for a result without similarities, which has no curve.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from lookalike.evaluation.api import evaluate
    >>> pairs = pa.table({"left": [1, 2], "right": [2, 3], "similarity": [0.9, 0.8]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_evaluation(evaluate(pairs, pairs), Path(folder) / "curve.svg")
    ...     print((Path(folder) / "curve.svg").read_text()[:4])
    <svg
    """
    target = Path(path)
    kind = check_picture(target)
    curves = [curve for curve in (evaluation.pairs, evaluation.groups) if curve is not None and _drawable(curve)]
    if not curves:
        raise UsageError(f"{target}: an answer without similarities has no curve to draw; write -o report.json.")
    try:
        import altair
        import vl_convert
    except ImportError as missing:
        raise MissingExtra("a picture of the curve", "plots") from missing
    chart = _chart(altair, evaluation, curves)
    if kind == ".html":
        content = chart.to_html(inline=True, embed_options={"actions": False, "renderer": "svg"}).encode()
    else:
        # no URL is allowed, since the plot needs no external data
        spec: dict[str, Any] = {"vl_spec": chart.to_dict(), "allowed_base_urls": []}
        if kind == ".png":
            content = vl_convert.vegalite_to_png(scale=2, **spec)
        else:
            content = vl_convert.vegalite_to_svg(**spec).encode()
    with replacing(target, force=force) as draft:
        draft.nbytes = len(content)
        draft.path.write_bytes(content)


def check_picture(path: Path) -> str:
    """Return the file extension in lower case; UsageError if it is not a supported format.

    >>> check_picture(Path("curve.SVG"))
    '.svg'
    """
    kind = path.suffix.lower()
    if kind not in PLOT_EXTENSIONS:
        raise UsageError(
            f"cannot draw a curve as {path.suffix or path.name!r}.{nearest(kind, PLOT_EXTENSIONS)} "
            f"Choices: {', '.join(PLOT_EXTENSIONS)}."
        )
    return kind


def _drawable(curve: PairCurve) -> bool:
    return len(curve) > 0 and not np.isnan(curve.threshold[0])


def _chart(alt: Any, evaluation: Evaluation, curves: Sequence[PairCurve]) -> Any:
    main, counts = curves[0], evaluation.counts
    best = main.take([main.best])
    title = alt.TitleParams(
        f"Best F1 {_share(best.f1[0])} at threshold {best.threshold[0]:.4g}: "
        f"precision {_share(best.precision[0])}, recall {_share(best.recall[0])}",
        subtitle=f"pairs reported: {counts['reported_pairs']:,}, true ones among them: {counts['correct_pairs']:,} of "
        f"{counts['true_pairs']:,}, average precision {_share(main.average_precision)}",
    )
    return (
        alt.hconcat(
            *(_panel(_Plot.of(alt, curve, evaluation.scale), curve, alone=len(curves) == 1) for curve in curves),
            spacing=GAP,
        )
        .properties(title=title, background="white", description="Precision, recall and F1 against the threshold")
        .properties(padding={"left": 14, "right": 14, "top": 16, "bottom": 12})
        .configure(**PLOT_CONFIG)
    )


@dataclass(frozen=True)
class _Plot:
    """Axes of one panel: thresholds from low to high, shares from 0 to 1."""

    alt: Any
    low: float
    high: float
    scale: Scale

    @classmethod
    def of(cls, alt: Any, curve: PairCurve, scale: Scale) -> _Plot:
        low, high = sorted((float(curve.threshold[-1]), float(curve.threshold[0])))
        # The axis is extended a little on the loose side, where all reported pairs count.
        more = (high - low) / 40 or abs(high) / 10 or 1.0
        return cls(alt, low - more, high, scale) if scale.sign > 0 else cls(alt, low, high + more, scale)

    def layer(self, points: Sequence[tuple[float, float]]) -> Any:
        alt = self.alt
        wide = alt.Scale(domain=[self.low, self.high], nice=False, zero=False)
        side = "from" if self.scale.sign > 0 else "up to"
        x = alt.X(
            "t:Q",
            title=f"threshold: the {self.scale.column} {side} which a pair counts",
            scale=wide,
            axis=alt.Axis(format=".4~g", tickCount=8),
        )
        y = alt.Y("v:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False, clamp=True))
        return alt.Chart(alt.Data(values=[{"t": t, "v": v} for t, v in points])).encode(x=x, y=y)

    def text(self, t: float, v: float, words: str, **style: Any) -> Any:
        """Draw text at a point, with a white halo that keeps it readable over lines."""
        style = {"align": "left", "color": INK, "fontSize": 13, "text": words, **style}
        halo = style | {"color": "white", "stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
        return self.layer([(t, v)]).mark_text(**halo) + self.layer([(t, v)]).mark_text(**style)


def _panel(plot: _Plot, curve: PairCurve, *, alone: bool) -> Any:
    """Draw the lines of one curve with labels at their right ends, and a mark at the highest F1."""
    few = curve.take(thinned(curve, MAX_CURVE_POINTS)[:: -plot.scale.sign])  # by ascending threshold
    is_similarity = plot.scale.sign > 0
    thresholds = [plot.low, *few.threshold.tolist()] if is_similarity else [*few.threshold.tolist(), plot.high]
    layers, ends = [], []
    for name, values, style, ink in _lines(few):
        drawn = np.nan_to_num(values).tolist()
        drawn = [drawn[0], *drawn] if is_similarity else [*drawn, drawn[-1]]
        # Between two similarities, the pairs at or above the higher one count; with distances, at or below the lower.
        line = plot.layer(list(zip(thresholds, drawn, strict=True)))
        layers.append(line.mark_line(interpolate="step-before" if is_similarity else "step-after", **style))
        ends.append((drawn[-1], name, ink))
    layers += _best(plot, curve)
    layers += [plot.text(plot.high, height, name, color=ink, dx=8) for height, name, ink in _apart(ends)]
    chart = plot.alt.layer(*layers).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    if alone and not isinstance(curve, GroupCurve):
        return chart
    head = "Groups of connected pairs: B-cubed, and Rand" if isinstance(curve, GroupCurve) else "Pairs"
    return chart.properties(title=plot.alt.TitleParams(head, **PANEL_TITLE))


def _lines(curve: PairCurve) -> list[tuple[str, F64, dict[str, Any], str]]:
    """Return (label, values, style, label colour) of each line; F1 is last, on top of the others."""
    thin, thick = {"strokeWidth": 2}, {"strokeWidth": 3, "color": INK}
    if isinstance(curve, GroupCurve):
        return [
            ("adjusted Rand", curve.adjusted_rand, {"strokeWidth": 1.6, "color": RAND, "strokeDash": [5, 3]}, RAND),
            ("precision", curve.bcubed_precision, thin | {"color": CURVE}, CURVE),
            ("recall", curve.bcubed_recall, thin | {"color": FALSE}, FALSE_INK),
            ("F1", curve.bcubed_f1, thick, INK),
        ]
    return [
        ("precision", curve.precision, thin | {"color": CURVE}, CURVE),
        ("recall", curve.recall, thin | {"color": FALSE}, FALSE_INK),
        ("F1", curve.f1, thick, INK),
    ]


def _best(plot: _Plot, curve: PairCurve) -> list[Any]:
    f1 = curve.bcubed_f1 if isinstance(curve, GroupCurve) else curve.f1
    place = int(np.argmax(np.nan_to_num(f1)))
    t, height = float(curve.threshold[place]), float(np.nan_to_num(f1[place]))
    left = (t - plot.low) < 0.7 * (plot.high - plot.low)
    side: dict[str, Any] = {"align": "left", "dx": 6} if left else {"align": "right", "dx": -6}
    return [
        plot.layer([(t, 0.0), (t, height)]).mark_line(color=MUTED, strokeDash=[4, 3], strokeWidth=1.2),
        plot.layer([(t, height)]).mark_point(filled=True, color=INK, size=90, stroke="white", opacity=1),
        plot.text(t, 0.0, f"best F1 {share(height, 3)} at {t:.4g}", color=MUTED, fontSize=12, dy=-10, **side),
    ]


def _apart(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Move the labels, from the highest down, so that none overlaps another and none is below the axis."""
    least = LABEL_GAP / PANEL_HEIGHT
    ordered = sorted(ends, key=lambda end: -end[0])
    heights = [end[0] for end in ordered]
    for i in range(1, len(heights)):
        heights[i] = min(heights[i], heights[i - 1] - least)
    heights[-1] = max(heights[-1], 0.0)
    for i in range(len(heights) - 2, -1, -1):
        heights[i] = max(heights[i], heights[i + 1] + least)
    return [(height, name, ink) for height, (_, name, ink) in zip(heights, ordered, strict=True)]


def _share(value: float) -> str:
    return "unknown" if np.isnan(value) else share(value, 3)
