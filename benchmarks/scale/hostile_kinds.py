"""Peak memory and CPU time of other kinds of items in hostile shapes at three sizes, with the exponent of growth.

    python benchmarks/scale/hostile_kinds.py [NAME ...]

Each shape is run at its size, twice and four times that; NAME is the beginning of the names to run. The exponent is the
slope of log(CPU seconds) over log(items), less a run on one item's share; a run that is refused shows its message.
Where every item matches every other, the answer itself grows with the square, until `--max-pairs`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import above  # noqa: F401
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hostile import exponent
from PIL import Image

from measure import measure

DRAW = np.random.default_rng(1)
# promise: docs/explanation/limits.md | documents that is the square of their number (4,000: 4 core seconds)
# promise: docs/explanation/limits.md | shows the growth of every kind for such shapes
WORDS = [f"{number:06x}" for number in DRAW.integers(0, 16**6, 20_000)]
START_SECONDS = 0.35  # CPU time of a run on a few items
Make = Callable[[Path, int], None]


def text(count: int) -> str:
    return " ".join(WORDS[number] for number in DRAW.integers(0, len(WORDS), count))


FOOTER = text(80)


def table(**columns: Callable[[int], object]) -> Make:
    def make(folder: Path, count: int) -> None:
        made = {name: column(count) for name, column in columns.items()}
        pq.write_table(pa.table(made), folder / "in.parquet")

    return make


def array(values: Callable[[int], np.ndarray]) -> Make:
    return lambda folder, count: np.save(folder / "in.npy", values(count).astype(np.float32))


def one_colour(folder: Path, count: int) -> None:
    (folder / "pictures").mkdir()
    for number in range(count):
        Image.new("RGB", (64, 64), (90, 90, 90)).save(folder / "pictures" / f"{number}.png")


def footers(count: int) -> list[str]:
    return [f"{text(60)} {FOOTER}" for _ in range(count)]


SHAPES: dict[str, tuple[Make, int, str]] = {
    "strings in one bucket": (
        table(s=lambda count: [f"abcdefgh{number:05d}ijklmnop" for number in range(count)]), 5_000,
        "strings groups in.parquet --text s --max-edits 1",
    ),
    "strings with one beginning": (
        table(s=lambda count: [f"aaaaaaaaaa{text(3)}" for _ in range(count)]), 5_000,
        "strings pairs in.parquet --text s --max-edits 2",
    ),
    "baskets with one item in all": (
        table(b=lambda count: np.repeat(np.arange(count), 5),
              i=lambda count: [f"x{k}_{j}" if j else "all" for k in range(count) for j in range(5)]), 10_000,
        "baskets pairs in.parquet --set b --item i -t 0.5",
    ),
    "bits of zeros": (
        table(code=lambda count: np.zeros(count, np.int64)), 50_000, "bits groups in.parquet --max-bits 3"
    ),
    "vectors of one direction": (
        array(lambda count: np.ones((count, 32)) + 0.001 * DRAW.standard_normal((count, 32))), 2_000,
        "vectors groups in.npy --max-angle 10",
    ),
    "vectors of zeros": (
        array(lambda count: np.zeros((count, 32))), 10_000, "vectors groups in.npy --max-distance 1"
    ),
    "records of one town": (
        table(name=lambda count: [text(2) for _ in range(count)], town=lambda count: ["York"] * count), 4_000,
        "records groups in.parquet --audit 0",
    ),
    "images of one colour": (one_colour, 200, "images groups pictures"),
    "faces that are equal": (array(lambda count: np.full((count, 32), 7.0)), 4_000, "faces groups in.npy"),
    "passages with a footer": (table(text=footers), 1_000, "passages in.parquet"),
    "scrub with a footer": (table(text=footers), 2_000, "scrub in.parquet --min-tokens 20"),
    "nearest with a footer": (table(text=footers), 1_000, "nearest in.parquet --top 2"),
    "nearest with a footer dropped": (table(text=footers), 1_000, "nearest in.parquet --top 2 --max-share 0.5"),
}  # fmt: skip


def main() -> None:
    for name, (make, size, command) in SHAPES.items():
        if sys.argv[1:] and not name.startswith(tuple(sys.argv[1:])):
            continue
        seconds: list[float] = []
        sizes = [size, 2 * size, 4 * size]
        for count in sizes:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                make(folder, count)
                program = [sys.executable, "-m", "lookalike", *command.split(), "-o", "out.parquet", "-q"]
                run = measure(program, folder=folder, log=folder / "log.txt", timeout=300)
            seconds.append(max(0.0, run["cpu_seconds"] - START_SECONDS))
            print(
                f"{name}, {count:,}: {run['cpu_seconds']:.1f} CPU s, {run['peak_bytes'] / 1e6:,.0f} MB, "
                f"{run.get('message', run['status'])}", flush=True,
            )  # fmt: skip
        slope = exponent(sizes, seconds) if max(seconds) > START_SECONDS else None
        print(f"{name}: exponent of CPU time {'not measurable' if slope is None else f'{slope:.2f}'}", flush=True)


if __name__ == "__main__":
    main()
