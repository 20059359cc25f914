"""Near-duplicate wallpapers: lookalike by default and with other hashes, and imagehash's phash alone.

    python benchmarks/images.py [--folder FOLDER]
    python benchmarks/images.py --icons FOLDER...     icon themes, for example of Debian's tango-icon-theme
    python benchmarks/images.py --unlike FOLDER...    pictures of which no two are alike, for example wallpapers

Truth: pictures of one group, among them portrait crops and dark variants that no hash of the whole can see. Then each
of some pictures is changed in one way and looked up among all: the share found, and the pictures of other groups.
--folder: unlike pictures for the second part, each a group by itself.

--icons: files of the same name in folders of several sizes are the same icon. --unlike: counts and lists what matches.
The peers are imagehash, and if they are installed czkawka (its Python package, at two limits) and the perceptual hash
of imagededup.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from machine import machine
from shared_data import place

# promise: docs/how-to/find-look-alike-images.md | Measured on 72 desktop wallpapers in 30 groups
# promise: docs/how-to/images.md | caption over 15 % .33, .71
# promise: docs/how-to/images.md | with `--orientations`: 1.
# promise: docs/how-to/images.md | that were not looked at before
# promise: docs/how-to/images.md | Pairs of those 72 wallpapers, F1: .946
# promise: docs/how-to/images.md | Icon themes of Debian with files of
# promise: docs/how-to/images.md | in MATE, many icons look the same under different names
# promise: docs/how-to/images.md | 364,231 pairs, 55 matched
# promise: docs/how-to/images.md | 8 pairs of wallpapers are versions of one picture
# promise: docs/how-to/images.md | Constants were chosen on 150 icons
# promise: docs/how-to/images.md | changes 24 desktop wallpapers and looks for each
CHANGED = 24


def measure(tool: str, truth: dict[str, str], found: set[frozenset[str]], cpu: float) -> dict[str, Any]:
    right = sum(len({truth[name] for name in pair}) == 1 for pair in found)
    true = sum(size * (size - 1) // 2 for size in Counter(truth.values()).values())
    precision, recall = right / max(1, len(found)), right / true
    f1 = 2 * precision * recall / max(1e-12, precision + recall)
    return {
        "tool": tool, "precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4),
        "pairs": len(found), "ms_per_image_and_core": round(cpu / len(truth) * 1e3, 2),
    }  # fmt: skip


def ours(folder: Path, **options: Any) -> tuple[set[frozenset[str]], float]:
    import lookalike as la

    begin = time.process_time()
    rows = la.images.pairs(folder, **options).pairs.to_pylist()
    return {frozenset((row["left"], row["right"])) for row in rows}, time.process_time() - begin


def plain(folder: Path, files: list[str], bits: int) -> tuple[set[frozenset[str]], float]:
    """phash of the imagehash package, all pairs within this many bits."""
    import imagehash
    from PIL import Image

    begin = time.process_time()
    codes = [imagehash.phash(Image.open(folder / name)) for name in files]
    found = {
        frozenset((files[i], files[j])) for i in range(len(files)) for j in range(i) if codes[i] - codes[j] <= bits
    }
    return found, time.process_time() - begin


def imagededup_hash(folder: Path, files: list[str]) -> tuple[set[frozenset[str]], float]:
    """The perceptual hash of imagededup, at its default of 10 bits; the networks of the package are not loaded."""
    import types

    import imagededup

    package = types.ModuleType("imagededup.methods")
    package.__path__ = [str(Path(imagededup.__file__).parent / "methods")]
    sys.modules["imagededup.methods"] = package
    from imagededup.methods.hashing import PHash

    begin = time.process_time()
    method = PHash(verbose=False)
    codes = [int(method.encode_image(image_file=str(folder / name)), 16) for name in files]
    found = {
        frozenset((files[i], files[j]))
        for i in range(len(files))
        for j in range(i)
        if (codes[i] ^ codes[j]).bit_count() <= 10
    }
    return found, time.process_time() - begin


def czkawka(folder: Path, limit: int) -> tuple[set[frozenset[str]], float]:
    from czkawka import ImageSimilarity

    begin = time.process_time()
    finder = ImageSimilarity()
    finder.set_directories([str(folder)])
    finder.set_similarity(limit)
    groups = [sorted(Path(name).name for name in group) for group in finder.find_similar()]
    found = {frozenset(two) for group in groups for two in itertools.combinations(group, 2)}
    return found, time.process_time() - begin


def peers(folder: Path, truth: dict[str, str]) -> list[dict[str, Any]]:
    """Measure the peers; one that is not installed says so."""
    tools: dict[str, Any] = {
        "imagehash phash, 10 bits": lambda: plain(folder, list(truth), 10),
        "imagededup phash, 10 bits": lambda: imagededup_hash(folder, list(truth)),
        "czkawka, limit 10": lambda: czkawka(folder, 10),
        "czkawka, limit 20": lambda: czkawka(folder, 20),
    }
    rows = []
    for tool, run in tools.items():
        try:
            rows.append(measure(tool, truth, *run()))
        except ImportError as error:
            rows.append({"tool": tool, "error": str(error)})
    return rows


def icon_theme(theme: Path, place: Path) -> dict[str, str]:
    """Copy the icons of a theme into one folder; return their groups: files of one name, or with the same bytes."""
    groups: dict[str, str] = {}
    contents: dict[bytes, str] = {}
    truth = {}

    def root(name: str) -> str:
        while groups.setdefault(name, name) != name:
            name = groups[name]
        return name

    for file in sorted(theme.rglob("*.png")):
        if file.is_symlink() or not file.is_file():
            continue
        icon = f"{file.parent.name}/{file.stem}"
        data = file.read_bytes()
        groups[root(icon)] = root(contents.setdefault(data, icon))
        name = "__".join(file.relative_to(theme).parts)
        (place / name).write_bytes(data)
        truth[name] = icon
    return {name: root(icon) for name, icon in truth.items()}


def icons(themes: list[Path]) -> list[dict[str, Any]]:
    rows = []
    for theme in themes:
        with tempfile.TemporaryDirectory() as place:
            truth = icon_theme(theme, Path(place))
            runs = [measure("lookalike", truth, *ours(Path(place), cache="none")), *peers(Path(place), truth)]
        rows += [{"theme": theme.name, "icons": len(truth), **run} for run in runs]
    return rows


def unlike(folders: list[Path]) -> dict[str, Any]:
    """Count the matches of unlike pictures, and list them; copies with the same bytes count once."""
    import lookalike as la

    with tempfile.TemporaryDirectory() as place:
        known = set()
        for number, folder in enumerate(folders):
            for file in sorted(folder.rglob("*")):
                if file.suffix.lower() in (".jpg", ".png", ".webp") and file.is_file():
                    data = file.read_bytes()
                    if data not in known:
                        known.add(data)
                        name = "__".join([str(number), *file.relative_to(folder).parts])
                        Path(place, name).write_bytes(data)
        result = la.images.pairs(place, cache="none")
    rows = result.pairs.to_pylist()
    pictures = result.receipt["counts"]["images"]
    return {
        "pictures": pictures, "pairs": pictures * (pictures - 1) // 2, "matches": len(rows),
        "seconds": result.receipt["seconds"],
        "listed": [[row["left"], row["right"], row["evidence"], row["bits"], row["likeness"]] for row in rows],
    }  # fmt: skip


def changes() -> dict[str, Any]:
    """The changes of the second part, each from picture to picture."""
    from PIL import Image, ImageDraw, ImageEnhance, ImageOps

    def crop(share: float) -> Any:
        near, far = (1 - share**0.5) / 2, (1 + share**0.5) / 2
        return lambda p: p.crop(tuple(int(side * at) for at in (near, far) for side in p.size))

    def caption(p: Any) -> Any:
        out, top = p.copy(), int(p.height * 0.85)
        draw = ImageDraw.Draw(out)
        draw.rectangle((0, top, p.width, p.height), fill="white")
        draw.text((10, top + 8), "A caption of a picture", fill="black")
        return out

    def screenshot(p: Any) -> Any:
        out = Image.new("RGB", (900, 700), "#dde")
        ImageDraw.Draw(out).rectangle((0, 0, 900, 60), fill="#346")
        out.paste(p.resize((480, round(480 * p.height / p.width))).crop((0, 0, 480, 480)), (210, 150))
        return out

    return {
        "half": lambda p: p.resize((p.width // 2, p.height // 2)),
        "tenth": lambda p: p.resize((p.width // 10, p.height // 10)),
        "brighter": lambda p: ImageEnhance.Brightness(p).enhance(1.5),
        "less contrast": lambda p: ImageEnhance.Contrast(p).enhance(0.5),
        "grey": lambda p: p.convert("L").convert("RGB"),
        "crop to 90 %": crop(0.9), "crop to 70 %": crop(0.7), "crop to 50 %": crop(0.5),
        "frame of 5 %": lambda p: ImageOps.expand(p, int(0.05 * min(p.size)), "black"),
        "frame of 10 %": lambda p: ImageOps.expand(p, int(0.1 * min(p.size)), "black"),
        "letter box": lambda p: ImageOps.expand(p, (0, p.height // 5), "black"),
        "caption": caption, "screenshot": screenshot,
        "rotated 5": lambda p: p.rotate(5),
        "rotated 90": lambda p: p.transpose(Image.Transpose.ROTATE_90),
        "mirrored": lambda p: p.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    }  # fmt: skip


def changed(folder: Path, truth: dict[str, str]) -> list[dict[str, Any]]:
    """Look up changed pictures: the share found, and how many pictures of other groups came along."""
    from PIL import Image

    import lookalike as la

    names = [name for name in truth if "full" in name or "__" not in name][:CHANGED]
    settings: dict[str, dict[str, Any]] = {
        "default": {}, "no parts": {"parts": False}, "orientations": {"orientations": True},
    }  # fmt: skip
    rows = []
    for change, make in changes().items():
        row: dict[str, Any] = {"change": change, "pictures": len(names)}
        with tempfile.TemporaryDirectory() as place:
            for name in names:
                with Image.open(folder / name) as picture:
                    make(picture.convert("RGB")).save(Path(place, name).with_suffix(".jpg"), quality=85)
            stems = {Path(name).stem: name for name in names}
            for setting, options in settings.items():
                pairs = la.images.pairs(place, against=folder, **options).pairs.to_pylist()
                met = [(stems[Path(pair["left"]).stem], pair["right"]) for pair in pairs]
                row[setting] = round(len({left for left, right in met if left == right}) / len(names), 3)
                row[f"{setting}, other groups"] = sum(truth[left] != truth[right] for left, right in met)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--icons", type=Path, nargs="+")
    parser.add_argument("--unlike", type=Path, nargs="+")
    given = parser.parse_args()
    if given.icons or given.unlike:
        for row in icons(given.icons) if given.icons else [unlike(given.unlike)]:
            sys.stdout.write(json.dumps(row) + "\n")
        return
    home = given.home
    home.mkdir(exist_ok=True)
    data = place("kde-wallpapers")
    truth = {row["file"]: row["group"] for row in csv.DictReader((data / "truth.csv").open())}
    folder = data / "images"
    ours(folder, hashes=["phash", "whash"])  # the compiler and the packages are loaded
    runs = [
        measure("lookalike", truth, *ours(folder)),
        measure("lookalike --no-parts", truth, *ours(folder, parts=False)),
        measure("lookalike --no-crops", truth, *ours(folder, crops=False)),
        measure("lookalike --hash phash --hash dhash", truth, *ours(folder, hashes=["phash", "dhash"])),
        measure("lookalike -d 14", truth, *ours(folder, max_bits=14)),
        *peers(folder, truth),
    ]
    if given.folder:
        folder = given.folder
        truth = {path.name: path.name for path in sorted(folder.iterdir()) if path.suffix in (".jpg", ".png", ".webp")}
    found = changed(folder, truth)
    (home / "images.json").write_text(
        json.dumps({"machine": machine(), "runs": runs, "changes": found}, indent=1) + "\n"
    )
    for one in runs + found:
        sys.stdout.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
