"""Where the real data lies, and one line where it is missing."""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def place(name: str) -> Path:
    """The folder of a data set; the program ends with one line where there is none."""
    folder = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"no data in {folder}; set LOOKALIKE_DATA to the folder that holds {name}.")
    return folder


def mnist() -> np.ndarray:
    """70,000 x 784, float32."""
    parts = []
    for file in ("train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"):
        with gzip.open(place("mnist") / file) as raw:
            parts.append(np.frombuffer(raw.read(), np.uint8, offset=16).reshape(-1, 784))
    return np.concatenate(parts).astype(np.float32)


def orl_faces(into: Path) -> Path:
    """The folder of 400 pictures of 40 people, unpacked once."""
    if not into.is_dir():
        with tarfile.open(place("orl-faces") / "orl_faces.tar.xz") as archive:
            archive.extractall(into, filter="data")
    return into
