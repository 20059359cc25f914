"""Plot the S-curve of a plan as SVG, PNG or HTML with Altair (the extra `plots`), or as text for a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookalike.errors import MissingExtra, OutputError, UsageError, nearest
from lookalike.planning.banding import Plan, rounded_down

PLOT_EXTENSIONS = (".svg", ".png", ".html")
WIDTH, HEIGHT = 700, 420  # pixels of the whole plot (twice as many in a PNG)
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 78, 52  # pixels from the edges of the plot to the axes
LABEL_ROOM = 132  # pixels for the labels on the right
CURVE_POINTS = 400  # number of points on a curve
MARGIN = 5  # characters to the left of a curve in the terminal
BRAILLE = 0x2800  # the empty pattern; a cell has 2 x 4 dots, whose bits are, by column from the top:
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

INK, MUTED, GRID = "#22303c", "#5d6b78", "#e8ecf0"
CURVE, FALSE, MISSED = "#1c5d99", "#e08a00", "#c62f3b"
FALSE_INK = "#9a5b00"  # the hue of FALSE, dark enough for text
LINES = {"gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "format": ".1f", "tickCount": 10}
NUMBERS = {"labelColor": INK, "labelFontSize": 12}
AXIS_TITLES = {"titleColor": INK, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 10}
TITLE = {"anchor": "start", "frame": "group", "offset": 20, "fontSize": 18, "color": INK}
SUBTITLE = {"subtitleFontSize": 13, "subtitleColor": MUTED}
FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
PLOT_CONFIG = {"font": FONT, "view": {"stroke": None}, "title": TITLE | SUBTITLE, "axis": LINES | NUMBERS | AXIS_TITLES}


def save_curve(plan: Plan, path: str | Path, *, others: Sequence[Plan] = ()) -> None:
    """Plot the S-curve of a plan to `path` (.svg, .png or .html), with `others` as thin lines for comparison.

    The two error areas are shaded: false candidates below the threshold, missed pairs above it. The file is written
    atomically and replaces an existing one. The HTML page is self-contained and makes no network requests.

    >>> import tempfile
    >>> from lookalike.planning.banding import plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_curve(plan(0.8), Path(folder) / "curve.svg")
    ...     print((Path(folder) / "curve.svg").read_text()[:4])
    <svg
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in PLOT_EXTENSIONS:
        raise UsageError(
            f"cannot draw a curve as {target.suffix or target.name!r}.{nearest(kind, PLOT_EXTENSIONS)} "
            f"Choices: {', '.join(PLOT_EXTENSIONS)}."
        )
    chart = curve_chart(plan, others=others)
    import vl_convert

    if kind == ".html":
        options = {"actions": False, "renderer": "svg"}
        _write(target, chart.to_html(inline=True, embed_options=options).encode())
        return
    # no base URL is allowed: the plot needs no external data
    spec: dict[str, Any] = {"vl_spec": chart.to_dict(), "allowed_base_urls": []}
    if kind == ".png":
        _write(target, vl_convert.vegalite_to_png(scale=2, **spec))
    else:
        _write(target, vl_convert.vegalite_to_svg(**spec).encode())


def _write(target: Path, content: bytes) -> None:
    """Write the file atomically."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            part.write_bytes(content)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as failed:
        raise OutputError(f"cannot write {target}: {failed.strerror or failed}.") from failed


def curve_chart(plan: Plan, *, others: Sequence[Plan] = ()) -> Any:
    """Return the plot that `save_curve` writes as an Altair chart."""
    try:
        import altair
        import vl_convert  # noqa: F401  # required to render the chart
    except ImportError as missing:
        raise MissingExtra("a picture of the curve", "plots") from missing
    return _chart(altair, plan, others)


def _chart(alt: Any, plan: Plan, others: Sequence[Plan]) -> Any:
    room = WIDTH - LEFT - RIGHT
    width = room - max(0, round(LABEL_ROOM - (1.0 - _right(plan)) * room))
    used = f"{plan.hashes_used} of {plan.num_hashes} hashes, curve 1 − (1 − s^{plan.rows})^{plan.bands}"
    title = alt.TitleParams(
        f"{plan.shape}: recall {rounded_down(plan.recall_at_threshold)} at similarity {plan.threshold:g}",
        subtitle=used + (", thin lines: other bands × rows" if others else ""),
    )
    layers = [*_areas(alt, plan), *_thin_lines(alt, others), *_curve(alt, plan), *_labels(alt, plan)]
    return (
        alt.layer(*layers)
        .properties(width=width, height=HEIGHT - TOP - BOTTOM, title=title, description=f"S-curve: {plan}")
        .properties(autosize={"type": "none"}, background="white")
        .properties(padding={"left": LEFT, "right": WIDTH - LEFT - width, "top": TOP, "bottom": BOTTOM})
        .configure(**PLOT_CONFIG)
    )


def _layer(alt: Any, points: Sequence[tuple[float, float]]) -> Any:
    whole = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("s:Q", title="similarity of the pair", scale=whole)
    y = alt.Y("p:Q", title="probability that it becomes a candidate", scale=whole)
    return alt.Chart(alt.Data(values=[{"s": s, "p": p} for s, p in points])).encode(x=x, y=y)


def _text(alt: Any, s: float, p: float, words: list[str], **style: Any) -> Any:
    """Draw text at a point, with a white halo that keeps it readable over lines."""
    style = {"align": "left", "dx": 10, "color": INK, "fontSize": 13, "lineHeight": 17, "text": words, **style}
    halo = style | {"color": "white", "stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    return _layer(alt, [(s, p)]).mark_text(**halo) + _layer(alt, [(s, p)]).mark_text(**style)


def _areas(alt: Any, plan: Plan) -> list[Any]:
    """Draw the two error areas, and the lines of the threshold and the target recall."""
    t, wish = plan.threshold, plan.recall
    return [
        _layer(alt, _points(plan, 0.0, t)).mark_area(color=FALSE, opacity=0.30),
        _layer(alt, _points(plan, t, 1.0)).encode(y2=alt.Y2Datum(1)).mark_area(color=MISSED, opacity=0.6),
        _layer(alt, [(0.0, wish), (t, wish)]).mark_line(color=MUTED, strokeDash=[2, 3], strokeWidth=1),
        _layer(alt, [(t, 0.0), (t, 1.0)]).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.2),
    ]


def _thin_lines(alt: Any, others: Sequence[Plan]) -> list[Any]:
    layers = []
    for number, other in enumerate(others):
        height = 0.2 + 0.6 * (number + 0.5) / len(others)  # each label at a different height: fewer overlap
        at, words = _similarity_at(other, height), [f"{other.bands} × {other.rows}"]
        layers += [
            _layer(alt, _points(other, 0.0, 1.0)).mark_line(color=MUTED, opacity=0.6, strokeWidth=1.2),
            _text(alt, at, height, words, dx=6, color=MUTED, fontSize=11),
        ]
    return layers


def _curve(alt: Any, plan: Plan) -> list[Any]:
    reached = [(plan.threshold, plan.probability(plan.threshold))]
    return [
        _layer(alt, _points(plan, 0.0, 1.0)).mark_line(color=CURVE, strokeWidth=3, strokeCap="round"),
        _layer(alt, reached).mark_point(filled=True, color=CURVE, size=90, stroke="white", opacity=1),
    ]


def _labels(alt: Any, plan: Plan) -> list[Any]:
    """Draw the labels under the flat end of the curve, where the plot is empty, or to its left."""
    right, left = _right(plan), min(plan.threshold, _similarity_at(plan, 0.34))
    goal = [f"requested recall {plan.recall:g}"]
    reached = [f"threshold {plan.threshold:g}", f"recall {rounded_down(plan.recall_at_threshold)}"]
    false_words = ["false candidates", _area(plan.false_positive_area)]
    labels = [
        _text(alt, right, 0.87, ["missed pairs", _area(plan.false_negative_area)], color=MISSED),
        _text(alt, right, 0.64, reached, fontWeight="bold"),
    ]
    if plan.midpoint < 0.42:  # no space to the left of the curve
        labels += [
            _text(alt, right, 0.52, goal, color=MUTED, fontSize=12),
            _text(alt, right, 0.34, false_words, color=FALSE_INK),
        ]
    else:
        below = 12 if plan.recall > 0.1 else -12
        labels += [
            _text(alt, 0.0, plan.recall, goal, color=MUTED, fontSize=12, dx=6, dy=below),
            _text(alt, left, 0.42, false_words, color=FALSE_INK, align="right", dx=-14),
        ]
    return labels


def _area(area: float) -> str:
    return f"area {area:.2g}" if area >= 1e-4 or area == 0.0 else "area below 0.0001"


def _right(plan: Plan) -> float:
    """Return the similarity to the right of which the plot has space for labels under the curve."""
    return max(plan.threshold, _similarity_at(plan, 0.93))


def _points(plan: Plan, low: float, high: float) -> list[tuple[float, float]]:
    similarities = [low + (high - low) * i / CURVE_POINTS for i in range(CURVE_POINTS + 1)]
    return [(s, plan.probability(s)) for s in similarities]


def _similarity_at(plan: Plan, probability: float) -> float:
    """Return the similarity at which the curve has this probability."""
    return float((1.0 - (1.0 - probability) ** (1.0 / plan.bands)) ** (1.0 / plan.rows))


def terminal_curve(plan: Plan, width: int = 60, height: int = 14) -> str:
    """Draw the S-curve in Unicode characters: `height` lines of at most `width` characters.

    >>> from lookalike.planning.banding import plan
    >>> print(terminal_curve(plan(0.8), width=44, height=9))
    1.0 ┤                          ⣀⠤⠒⠉⠉⠉⠉⠉⠉⠉⠉⠉
    0.8 ┤                        ⡠⠊    ┊
    0.6 ┤                      ⢀⠜      ┊
    0.4 ┤                    ⢀⠔⠁       ┊
    0.2 ┤                 ⢀⡠⠔⠁         ┊
    0.0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⠤⠤⠔⠊⠁            ┊
        └┴──────┴───────┴──────┴───────▲──────┴
        0.0    0.2     0.4    0.6     0.8    1.0
           ▲ threshold 0.8, recall 0.9922
    """
    if width < 44 or height < 8:
        raise UsageError(f"a curve of {width} x {height} characters cannot be read; expected 44 x 8 or more.")
    columns, levels = width - MARGIN - 1, height - 3
    mark = round(plan.threshold * (columns - 1))
    lines = []
    for level, dots in enumerate(_braille(plan, columns, levels)):
        cells = [chr(BRAILLE + d) if d else "┊" if i == mark else " " for i, d in enumerate(dots)]
        value = 10 * (1 - level / (levels - 1))
        label = f"{value / 10:.1f} ┤" if abs(value - round(value)) < 1e-9 else "    │"
        lines.append(label + "".join(cells))
    axis, labels = ["─"] * columns, [" "] * (columns + 2)
    for tick in range(0, 11, 2):
        at = round(tick / 10 * (columns - 1))
        axis[at], labels[at : at + 3] = "┴", f"{tick / 10:.1f}"
    axis[mark] = "▲"
    caption = f"▲ threshold {plan.threshold:g}, recall {rounded_down(plan.recall_at_threshold)}"
    caption = f"similarity of the pair   {caption}" if len(caption) + 25 <= width else caption
    lines += ["    └" + "".join(axis), " " * (MARGIN - 1) + "".join(labels), caption.center(width)]
    return "\n".join(line.rstrip() for line in lines)


def _braille(plan: Plan, columns: int, levels: int) -> list[list[int]]:
    """Return the braille dots of the curve per cell (2 wide, 4 high), from the top; adjacent dots are connected."""
    cells = [[0] * columns for _ in range(levels)]
    depths = [round((1.0 - plan.probability(i / (2 * columns - 1))) * (4 * levels - 1)) for i in range(2 * columns)]
    for i, depth in enumerate(depths):
        for dot in range(depth, max(depth, depths[i - 1] - 1 if i else depth) + 1):
            cells[dot // 4][i // 2] |= DOTS[i % 2][dot % 4]
    return cells
