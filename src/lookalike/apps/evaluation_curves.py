"""Pictures of an evaluation: precision, recall and F1 against the threshold, as SVG, PNG or HTML (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.apps.curves import BOTTOM, CURVE, EXTENSIONS, FALSE, FALSE_INK, GRID, INK, LEFT, LOOK, MUTED, TOP
from lookalike.apps.evaluate import Evaluation, thinned
from lookalike.data import F64
from lookalike.errors import MissingExtra, UsageError, nearest
from lookalike.io.atomic import replacing
from lookalike.stages.agreement import GroupCurve, PairCurve

WIDTH, HEIGHT = 520, 300  # of one panel, without what is written around it
LABEL_ROOM, LINE = 84, 17  # right of a panel, for the names of the lines; the least distance between two names
GAP = 46  # between two panels
POINTS = 600  # more than this many steps cannot be seen
RAND = "#6a3d9a"


def save_evaluation(evaluation: Evaluation, path: str | Path, *, force: bool = False) -> None:
    """Draw precision, recall and F1 against the threshold to `path` (.svg, .png or .html); groups beside the pairs.

    The best F1 is marked. The file appears whole or not at all. The HTML page holds all it needs and asks no other
    machine. An answer without similarities has no curve: UsageError.
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
        # no base address is allowed: the picture needs no data from elsewhere
        spec: dict[str, Any] = {"vl_spec": chart.to_dict(), "allowed_base_urls": []}
        if kind == ".png":
            content = vl_convert.vegalite_to_png(scale=2, **spec)
        else:
            content = vl_convert.vegalite_to_svg(**spec).encode()
    with replacing(target, force=force) as draft:
        draft.nbytes = len(content)
        draft.path.write_bytes(content)


def check_picture(path: Path) -> str:
    """The extension, in small letters, or UsageError where no picture has it.

    >>> check_picture(Path("curve.SVG"))
    '.svg'
    """
    kind = path.suffix.lower()
    if kind not in EXTENSIONS:
        raise UsageError(
            f"cannot draw a curve as {path.suffix or path.name!r}.{nearest(kind, EXTENSIONS)} "
            f"Choices: {', '.join(EXTENSIONS)}."
        )
    return kind


def _drawable(curve: PairCurve) -> bool:
    return len(curve) > 0 and not np.isnan(curve.threshold[0])


def _chart(alt: Any, evaluation: Evaluation, curves: Sequence[PairCurve]) -> Any:
    panels = [_group_panel(alt, c) if isinstance(c, GroupCurve) else _pair_panel(alt, c) for c in curves]
    main, counts = curves[0], evaluation.counts
    best = main.best
    title = alt.TitleParams(
        f"Best F1 {main.f1[best]:.3f} at threshold {_short(main.threshold[best])}: "
        f"precision {main.precision[best]:.3f}, recall {main.recall[best]:.3f}",
        subtitle=f"{counts['reported_pairs']:,} pairs reported, {counts['correct_pairs']:,} of {counts['true_pairs']:,} "
        f"true pairs among them, average precision {main.average_precision:.3f}",
    )
    return (
        alt.hconcat(*panels, spacing=GAP + LABEL_ROOM)
        .properties(title=title, background="white", description="Precision, recall and F1 against the threshold")
        .properties(padding={"left": 12, "right": 12, "top": 12, "bottom": 12})
        .configure(**LOOK)
    )
