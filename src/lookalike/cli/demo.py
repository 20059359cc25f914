"""The command `lookalike demo`."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

from lookalike.cli import options as o


@o.takes()
def demo(
    folder: Annotated[Path, o.option(o.RUN, "-o", "--output", help="The folder to write to.")] = Path("lookalike-demo"),
    force: o.RunOptions.Force = False,
) -> None:
    """Find the near-duplicates among the source files of Python's own standard library."""
    import pyarrow as pa

    from lookalike.cli import terminal
    from lookalike.cli.summary import lines
    from lookalike.io.atomic import check_folder, check_place
    from lookalike.io.write import write_table
    from lookalike.kinds.documents import api as documents
    from lookalike.web.report import report

    texts_file, page = folder.with_name(folder.name + "-texts.parquet"), folder.with_name(folder.name + ".html")
    check_folder(folder, force=force)
    check_place(texts_file, force=force)
    check_place(page, force=force)
    library = Path(sysconfig.get_path("stdlib"))
    files = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    texts = pa.table(
        {
            "id": [path.relative_to(library).as_posix() for path in files],
            "text": [path.read_bytes().decode("utf-8", "replace") for path in files],
        }
    )
    out = terminal.Screen(soft_wrap=True)
    out.print(f"Reading {len(files):,} source files of Python's standard library in {library} ...", markup=False)
    write_table(texts, texts_file, force=force)
    with terminal.progress(False) as progress:
        result = documents.dedup(texts_file, threshold=0.8, keep="longest", progress=progress)
        result.save(folder, force=force)
    report(folder, page, force=force)
    table = result.groups
    out.print(f"\nThe largest groups of files that are at least 80 % alike ({len(table['group'].unique())} in all):\n")
    for size, members in _largest(table.to_pylist(), 5):
        out.print(f"  {size:>4} files  {', '.join(members[:3])}{' ...' if size > 3 else ''}", markup=False)
    out.print()
    sys.stdout.flush()
    wrote = [folder / name for name in sorted(path.name for path in folder.iterdir())]
    for label, text in lines(result.receipt, [*wrote, texts_file]):
        terminal.err.say(label, text)
    name = "lookalike" if shutil.which("lookalike") else f"{sys.executable} -m lookalike"
    out.print(f"\nLook at it in your browser: open {page}", markup=False)
    out.print("\nTry next:")
    out.print(f"  {name} explore {folder}", markup=False)
    for least_alike in result.pairs.sort_by([("similarity", "ascending")]).slice(0, 1).to_pylist():
        left, right = (library / least_alike[side] for side in ("left", "right"))
        out.print(f"  {name} compare {left} {right}", markup=False)
    out.print(f"  {name} pairs '{library}/encodings/*.py' -t 0.5 -o alike && {name} report alike", markup=False)
    out.print(f"  {name} plan -t 0.8 -o curve.html", markup=False)
    out.print(f"  {name} dedup YOUR.parquet --text COLUMN -o clean.parquet --removed removed.csv", markup=False)


def _largest(rows: list[dict[str, object]], count: int) -> list[tuple[int, list[str]]]:
    """Return (size, ids) of the largest groups."""
    members: dict[object, list[str]] = {}
    for row in rows:
        members.setdefault(row["group"], []).append(str(row["id"]))
    return sorted(((len(ids), ids) for ids in members.values()), key=lambda group: -group[0])[:count]
