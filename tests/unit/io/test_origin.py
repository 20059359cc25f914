"""The hash of an input in a receipt is that of the file that was read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from lookalike.io.origin import hashed, origin


def test_an_input_that_changed_since_it_was_read_gets_no_hash(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("as it was read")
    source = {"name": "in.txt", "origin": origin([str(file)], [file])}
    assert hashed(source)["origin"]["sha256"] == hashlib.sha256(b"as it was read").hexdigest()
    known = file.stat().st_mtime_ns
    file.write_text("now other text")  # of the same length
    os.utime(file, ns=(known + 1, known + 1))
    assert hashed(source) == source
    file.unlink()
    assert hashed(source) == source
