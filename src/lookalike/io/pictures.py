"""Read folders of pictures with Pillow. Files that cannot be read are listed with the reason."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.core.formatting import count
from lookalike.errors import InputError, MissingExtra, MissingInput, UsageError, nearest
from lookalike.io.origin import given_paths, origin
from lookalike.io.paths import readable

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURES = (
    ".jpg", ".jpeg", ".jfif", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".pgm", ".ppm", ".pbm", ".pnm", ".avif",
    ".heic", ".heif",
)  # fmt: skip
MIN_DECODED_PIXELS = 480  # a JPEG is decoded at its smallest size with at least this side: several times faster
HEIF = (".heic", ".heif")  # read by the plug-in pillow-heif
ANIMATED = ("GIF", "WEBP", "PNG", "TIFF", "AVIF")  # formats whose files may have several frames or pages
MAX_FRAMES = 200  # frames of a file that are looked at
MAX_FRAME_PIXELS = 400_000_000  # pixels of all frames together after which no further one is read
MIN_CONTRAST = 16  # grey levels: a picture with transparent pixels that has fewer on white paper is shown on black
SMALL_SIDE = 256  # long side, in pixels, of the largest picture whose colours are kept
SAMPLED_FRAMES = 5  # evenly spaced frames that stand for a file with several
EXIF_DETAILS, CAPTURE_TIME, CAPTURE_SUBSECOND = 0x8769, 0x9003, 0x9291  # tags of the moment of a photo
EXIF_ORIENTATION = 0x0112  # the tag that says how a camera was held


@dataclass(frozen=True)
class Picture:
    """A grey, reduced picture, with the original size of its file. id: its path inside the folder. colours: a small
    picture as it is in the file, but upright; None for a larger one."""

    id: str
    image: Image
    width: int
    height: int
    nbytes: int
    colours: Image | None = None


@dataclass
class PictureFolder:
    """The pictures of files and folders, sorted by name. broken: (id, reason) per unreadable file, filled by reading.

    described: one row per picture that was read, for the rows of a result. shows_more: (file, other file) that match
    while the first shows more: it is not removed in favour of the other.
    """

    name: str
    files: tuple[Path, ...]
    ids: tuple[str, ...]
    given: tuple[str, ...] = ()
    broken: list[tuple[str, str]] = field(default_factory=list)
    described: list[dict[str, Any]] = field(default_factory=list)
    shows_more: set[tuple[str, str]] = field(default_factory=set)

    columns = ("file", "width", "height", "bytes")

    def describe(self) -> dict[str, Any]:
        """Return the receipt's entry, with every file that could not be read and the reason."""
        broken = [{"file": file, "reason": reason} for file, reason in self.broken]
        return {"name": self.name, "broken": broken, "origin": origin(self.given, self.files)}

    def named_files(self) -> dict[str, Path]:
        """Return the file of each id."""
        return dict(zip(self.ids, self.files, strict=True))

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield file, width, height and bytes of each picture; null for a broken one."""
        schema = pa.schema([("file", pa.string()), *((name, pa.int64()) for name in self.columns[1:])])
        yield pa.RecordBatch.from_pylist(self.described, schema=schema)


def has_pictures(source: Any) -> bool:
    """Return whether a source is a picture file, or a folder that contains pictures.

    >>> has_pictures("faces/anna.jpg"), has_pictures([[1.0, 2.0]])
    (True, False)
    """
    first = source[0] if isinstance(source, list | tuple) and source else source
    if not isinstance(first, str | os.PathLike):
        return False
    path = Path(first)
    if path.is_dir():
        return any(file.suffix.lower() in PICTURES for file in _walk(path))
    return path.suffix.lower() in PICTURES


def open_pictures(source: Any) -> PictureFolder:
    """Open the pictures of a folder (and its subfolders), or of several files and folders."""
    if isinstance(source, PictureFolder):
        return source
    given: Sequence[Any] = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(given, list | tuple) or not all(isinstance(item, str | os.PathLike) for item in given):
        raise no_pictures(source)
    files: list[Path] = []
    ids: list[str] = []
    for item in given:
        path = Path(item)
        if path.is_dir():
            pictures = [file for file in _walk(path) if file.suffix.lower() in PICTURES]
            prefix = f"{path.as_posix()}/" if len(given) > 1 else ""
            ids += [prefix + file.relative_to(path).as_posix() for file in pictures]
            files += pictures
        elif path.exists():
            ids.append(path.as_posix())
            files.append(path)
        else:
            beside = sorted(os.listdir(path.parent)) if path.parent.is_dir() else []
            raise MissingInput(f"no such file or folder: {path}.{nearest(path.name, beside)}")
    if not files:
        raise InputError(f"no pictures in {os.fspath(given[0])}. Known: {', '.join(PICTURES)}.")
    name = os.fspath(given[0]) + (f" and {len(given) - 1} more" if len(given) > 1 else "")
    return PictureFolder(readable(name), tuple(files), tuple(map(readable, ids)), given_paths(list(map(Path, given))))


class _Filters:
    """Warning filters for decoding pictures in any number of threads.

    `warnings.catch_warnings` restores the filters from its entry, so overlapping threads would leave filters behind.
    Here the first thread sets the filters, and the last one restores the original ones.
    """

    def __init__(self) -> None:
        self._lock, self._threads, self._outer = threading.Lock(), 0, warnings.catch_warnings()

    @contextmanager
    def held(self, refused: type[Warning]) -> Iterator[None]:
        """Turn `refused` into an error and ignore other warnings, such as those about unusual metadata."""
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._outer = warnings.catch_warnings()
                self._outer.__enter__()
                warnings.simplefilter("error", refused)
                warnings.simplefilter("ignore", UserWarning)
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if not self._threads:
                    self._outer.__exit__(None, None, None)


FILTERS = _Filters()


def load_picture(file: Path, id: str, content: bytes | None = None) -> Picture:  # noqa: A002
    """Decode the first frame of a picture file to grey. content: the bytes of the file, if they were already read.

    Raises OSError or ValueError, with the reason, for a file that cannot be read.
    """
    return _load(file, id, content, 1)[0]


def load_frames(file: Path, id: str, content: bytes | None = None) -> list[Picture]:  # noqa: A002
    """Decode a picture file to grey: evenly spaced frames of an animation or a file of several pages, else one.

    Raises as `load_picture`. An animation that is cut off is represented by the frames before the cut.
    """
    frames = _load(file, id, content, MAX_FRAMES)
    places = {round(i * (len(frames) - 1) / (SAMPLED_FRAMES - 1)) for i in range(SAMPLED_FRAMES)}
    return [frames[place] for place in sorted(places)]


def _load(file: Path, id_: str, content: bytes | None, most: int) -> list[Picture]:
    image_module = pillow()
    with FILTERS.held(image_module.DecompressionBombWarning):
        try:
            with image_module.open(file if content is None else io.BytesIO(content)) as image:
                orientation = _orientation(image)
                width, height = image.size if orientation < 5 else image.size[::-1]
                image.draft("L", (MIN_DECODED_PIXELS, MIN_DECODED_PIXELS))
                colours = _upright(image.copy(), orientation) if max(image.size) <= SMALL_SIDE else None
                frames = [_upright(_grey(image), orientation)]
                if most > 1 and image.format in ANIMATED and getattr(image, "is_animated", False):
                    frames += _more_frames(image, orientation, most)
                nbytes = file.stat().st_size if content is None else len(content)
        except OSError:
            raise
        except Exception as error:  # Pillow raises many types of errors for broken files
            raise ValueError(str(error) or type(error).__name__) from error
    if min(frames[0].size) < 1:
        raise ValueError("the picture has no pixels")
    small = [colours, *[None] * (len(frames) - 1)]
    return [Picture(id_, frame, width, height, nbytes, icon) for frame, icon in zip(frames, small, strict=True)]


def _more_frames(image: Image, orientation: int, most: int) -> list[Image]:
    """Return reduced copies of the frames after the first one, as far as they can be read."""
    frames: list[Image] = []
    for number in range(1, min(most, MAX_FRAME_PIXELS // max(1, image.width * image.height))):
        try:
            image.seek(number)
            frame = _upright(_grey(image), orientation)
        except Exception:  # the end, or a frame that is cut off; Pillow raises many types of errors
            break
        frame.thumbnail((MIN_DECODED_PIXELS, MIN_DECODED_PIXELS))
        frames.append(frame)
    return frames


def _grey(image: Image) -> Image:
    """Return a picture in grey; where it is transparent on white paper, or on black if it does not show on white."""
    if image.mode not in ("P", "RGBA", "LA", "PA") and "transparency" not in image.info:
        return image.convert("L")
    image = image.convert("RGBA")
    shown = _on_paper(image, "white")
    if _contrast(shown) >= MIN_CONTRAST:
        return shown
    other = _on_paper(image, "black")
    return other if _contrast(other) >= MIN_CONTRAST else shown


def _contrast(image: Image) -> int:
    levels: Any = image.getextrema()
    low, high = levels
    return int(high - low)


def _on_paper(image: Image, colour: str) -> Image:
    paper = pillow().new("RGBA", image.size, colour)
    paper.alpha_composite(image)
    shown: Image = paper.convert("L")
    return shown


def modified_ns(file: Path) -> int | None:
    """Return the time of change of a file in nanoseconds, or None if it is gone."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def number_of_tags(file: Path) -> int | None:
    """Return the number of EXIF tags of a picture, or None if it cannot be read."""
    try:
        with pillow().open(file) as image:
            return len(image.getexif())
    except Exception:  # Pillow raises many types of errors for broken metadata
        return None


def capture_time(file: Path) -> tuple[str, str] | None:
    """Return when a photo was taken, as the camera recorded it: date and time, and digits after the second or ""."""
    try:
        with pillow().open(file) as image:
            tags = image.getexif().get_ifd(EXIF_DETAILS)
    except Exception:  # Pillow raises many types of errors for broken metadata
        return None
    taken = tags.get(CAPTURE_TIME)
    if not isinstance(taken, str) or not taken.strip(" :0\0"):
        return None
    return taken.strip(" \0"), str(tags.get(CAPTURE_SUBSECOND, "")).strip(" \0")


def _orientation(image: Image) -> int:
    """Return the EXIF orientation of a picture, 1 to 8; 1 if it has none or its metadata cannot be read."""
    try:
        orientation = image.getexif().get(EXIF_ORIENTATION, 1)
    except Exception:  # Pillow raises many types of errors for broken metadata; the pixels may still be good
        return 1
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def _upright(image: Image, orientation: int) -> Image:
    """Turn a picture as its EXIF orientation says, as every viewer does."""
    turn = pillow().Transpose
    turns = (
        turn.FLIP_LEFT_RIGHT, turn.ROTATE_180, turn.FLIP_TOP_BOTTOM, turn.TRANSPOSE, turn.ROTATE_270, turn.TRANSVERSE,
        turn.ROTATE_90,
    )  # fmt: skip
    return image if orientation == 1 else image.transpose(turns[orientation - 2])


def is_picture(item: Any) -> bool:
    """Return whether an item is a picture: a path object or file content. A str is neither: it may be untrusted."""
    return isinstance(item, bytes | os.PathLike)


def load_item(item: Any) -> Picture:
    """Decode a picture given as a path or as the content of a file; raise InputError if it cannot be read."""
    content = item if isinstance(item, bytes) else None
    file = Path("the picture") if content is not None else Path(item)
    try:
        return load_picture(file, readable(str(file)), content)
    except (OSError, ValueError) as error:
        raise InputError(f"{readable(str(file))} cannot be read: {reason_of(error, file)}.") from error


def reason_of(error: Exception, file: Path) -> str:
    """Return the reason why a file could not be read, in one line, without its path.

    >>> reason_of(OSError("cannot identify image file '/x/a.png'"), Path("/x/a.png"))
    'not a picture that Pillow knows'
    """
    if "cannot identify image file" in str(error):
        if file.suffix.lower() in HEIF and find_spec("pillow_heif") is None:
            return 'HEIC files need: pip install "lookalike[heic]"'
        return "not a picture that Pillow knows"
    text = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
    return text.replace(str(file), file.name)[:200]


@cache
def pillow() -> Any:
    """Import Pillow, with the plug-in for HEIC files if it is installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtra("reading pictures", "images") from error
    if find_spec("pillow_heif") is not None:
        import pillow_heif

        pillow_heif.register_heif_opener()
    return Image


def _walk(folder: Path) -> list[Path]:
    files: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(files, key=lambda file: file.relative_to(folder).as_posix())


def left_out(name: str, broken: Sequence[tuple[str, str]], *, has_receipt: bool = True) -> str | None:
    """Return a message about files that could not be read, or None. has_receipt: whether a receipt lists them all."""
    if not broken:
        return None
    examples = "; ".join(f"{file}: {reason}" for file, reason in broken[:SHOWN_BROKEN_FILES])
    where = " (see the receipt)" if has_receipt else ""
    more = f"; and {len(broken) - SHOWN_BROKEN_FILES} more{where}" if len(broken) > SHOWN_BROKEN_FILES else ""
    were = "was" if len(broken) == 1 else "were"
    return f"{count(len(broken), 'files')} of {name} {were} left out: {examples}{more}"


SHOWN_BROKEN_FILES = 5  # maximum broken files named in a warning


def no_pictures(source: object) -> UsageError:
    """Return the error for a source that is neither a folder nor paths."""
    return UsageError(f"cannot read {type(source).__name__}; expected a folder of pictures, or paths of pictures.")
