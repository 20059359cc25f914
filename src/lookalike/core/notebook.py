"""HTML for the display of results in a notebook: a card with facts, a table and a small inline SVG plot.

All text is escaped; there are no scripts and no external resources. Text and axes have the colour of the page, so that
a card is readable on light and on dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

PLOT_WIDTH, PLOT_HEIGHT = 320, 150  # pixels
PLOT_LEFT, PLOT_BOTTOM, PLOT_TOP, PLOT_RIGHT = 34, 22, 8, 10  # pixels from the edges of a plot to its axes
BLUE, AMBER, RED = "#3d85c6", "#e08a00", "#d64550"  # readable on white and on black
NOTEBOOK_ROWS = 10  # maximum number of rows shown of a table
NOTEBOOK_EXCERPT = 60  # characters of an item that such a row shows
CARD_STYLE = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
CELL_STYLE = "padding:2px 12px 2px 0;text-align:{};border:0;background:none;white-space:nowrap"
MAX_CELL_CHARACTERS = 60  # longer cells are truncated

Point = tuple[float, float]


def card(title: str, facts: Iterable[tuple[str, object]], *parts: str) -> str:
    """Render a card: a title, a line of facts, and parts (tables, plots) side by side if the page is wide enough.

    >>> card("2 < 3", [("pairs", 7)]).endswith('2 &lt; 3</div><div style="opacity:.85"><b>7</b> pairs</div></div>')
    True
    """
    said = " · ".join(f"<b>{escape(str(value))}</b> {escape(name)}" for name, value in facts)
    shown = "".join(f'<div style="margin-top:8px">{part}</div>' for part in parts if part)
    beside = f'<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start">{shown}</div>' if shown else ""
    return (
        f'<div style="{CARD_STYLE};overflow-x:auto"><div style="font-weight:600">{escape(title)}</div>'
        f'<div style="opacity:.85">{said}</div>{beside}</div>'
    )


def table(names: Sequence[str], rows: Sequence[Sequence[object]], total: int) -> str:
    """Render the first rows of a table of `total` rows; numbers are aligned to the right.

    >>> table(["left", "similarity"], [["<b>", 0.5]], total=3).endswith("and 2 more</div>")
    True
    """
    if not rows:
        return ""
    sides = ["right" if isinstance(value, (int, float)) else "left" for value in rows[0]]
    head = _row("th", [escape(name) for name in names], sides)
    body = "".join(_row("td", [escape(_cell(value)) for value in row], sides) for row in rows[:NOTEBOOK_ROWS])
    more = total - min(len(rows), NOTEBOOK_ROWS)
    rest = f'<div style="opacity:.7">and {more:,} more</div>' if more > 0 else ""
    return f'<table style="border-collapse:collapse;font-size:12px">{head}{body}</table>{rest}'


def curve(points: Sequence[Point], *, mark: float, words: str, rising: bool) -> str:
    """Plot the candidate probability against a similarity (rising) or a distance (falling), with the threshold `mark`.

    The areas of false positives (amber) and false negatives (red) are shaded.

    >>> made = curve([(0.0, 0.0), (1.0, 1.0)], mark=0.5, words="similarity", rising=True)
    >>> made.count("<path")  # two errors, the curve, the axes
    4
    """
    last = points[-1][0] or 1.0
    near = [point for point in points if (point[0] >= mark) == rising]
    far = [point for point in points if (point[0] < mark) == rising]
    at = [(_x(x / last), _y(y)) for x, y in points]
    shapes = _area(far, last, 0.0, AMBER) + _area(near, last, 1.0, RED)
    line = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in at)
    bound = _x(mark / last)
    return _plot(
        f'{shapes}<path d="{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
        f'<line x1="{bound:.1f}" x2="{bound:.1f}" y1="{_y(0):.1f}" y2="{_y(1):.1f}" '
        'stroke="currentColor" stroke-dasharray="4 3"/>',
        across=[(share, f"{share * last:g}") for share in (0.0, 0.5, 1.0)], up=[(0.0, "0"), (0.5, ".5"), (1.0, "1")],
        words=f"{words} (bound {mark:g})", title=f"probability of meeting against {words}, bound {mark:g}",
    )  # fmt: skip


def histogram(counts: Sequence[int], low: float, high: float, words: str) -> str:
    """Plot a histogram of pairs in bins of equal width from `low` to `high`.

    >>> histogram([3, 0, 9], 0.7, 1.0, "similarity").count("<rect")
    2
    """
    most = max(counts, default=0)
    if not most:
        return ""
    step = 1.0 / len(counts)
    bars = "".join(
        f'<rect x="{_x(i * step):.1f}" y="{_y(count / most):.1f}" width="{(_x(step) - _x(0)) * 0.86:.1f}" '
        f'height="{_y(0) - _y(count / most):.1f}" fill="{BLUE}"><title>{count:,}</title></rect>'
        for i, count in enumerate(counts)
        if count
    )
    across = [(share, f"{low + share * (high - low):.3g}") for share in (0.0, 0.5, 1.0)]
    return _plot(bars, across=across, up=[(0.0, "0"), (1.0, _short(most))], words=words, title=f"pairs by {words}")


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    made = (f'<{tag} style="{CELL_STYLE.format(side)}">{cell}</{tag}>' for cell, side in zip(cells, sides, strict=True))
    return f"<tr>{''.join(made)}</tr>"


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_CELL_CHARACTERS else text[: MAX_CELL_CHARACTERS - 1] + "…"


def _x(share: float) -> float:
    return PLOT_LEFT + share * (PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT)


def _y(share: float) -> float:
    return PLOT_HEIGHT - PLOT_BOTTOM - share * (PLOT_HEIGHT - PLOT_BOTTOM - PLOT_TOP)


def _area(points: Sequence[Point], last: float, level: float, colour: str) -> str:
    """Draw the area between a part of the curve and a horizontal line."""
    if not points:
        return ""
    at = [(_x(x / last), _y(y)) for x, y in points]
    base = _y(level)
    outline = f"M{at[0][0]:.1f},{base:.1f}L" + "L".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return f'<path d="{outline}L{at[-1][0]:.1f},{base:.1f}Z" fill="{colour}" fill-opacity=".4"/>'


def _plot(shapes: str, *, across: list[tuple[float, str]], up: list[tuple[float, str]], words: str, title: str) -> str:
    """Draw shapes inside a pair of labelled axes."""
    frame = f'<path d="M{_x(0)},{_y(1)}V{_y(0)}H{_x(1)}" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
    text = 'fill="currentColor" font-size="11" font-family="system-ui,sans-serif"'
    ends = {0.0: "start", 1.0: "end"}
    below = [(_x(share), PLOT_HEIGHT - 7.0, ends.get(share, "middle"), word) for share, word in across]
    beside = [(PLOT_LEFT - 5.0, _y(share) + 4, "end", word) for share, word in up]
    labels = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {text}>{escape(word)}</text>'
        for x, y, anchor, word in below + beside
    )
    return (
        f'<svg role="img" aria-label="{escape(title)}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" '
        f'viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}">{shapes}{frame}{labels}</svg>'
        f'<div style="opacity:.7;font-size:12px;padding-left:{PLOT_LEFT}px">{escape(words)}</div>'
    )


def _short(number: int) -> str:
    """Abbreviate a number to about four characters: 950, 12k, 3.4M.

    >>> _short(950), _short(12_345), _short(3_400_000)
    ('950', '12k', '3.4M')
    """
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.2g}{name}" if number < 100 * size else f"{number // size}{name}"
    return str(number)
