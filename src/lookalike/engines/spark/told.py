"""Errors of a job, which come with the stack of two languages, told in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike import errors
from lookalike.engines.spark.session import ClusterError, first_line

OURS = re.compile(r"(?:lookalike\.errors\.)(\w+): (.+)")
THEIRS = re.compile(r"(?:Lost task|Caused by:|Exception:|Error:)\s*(.{10,200})")


@contextmanager
def told() -> Iterator[None]:
    """Around every job that we start: an error of ours, raised on an executor, is raised here again as itself."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError, Py4JError, ConnectionError) as error:
        raise of_job(str(error)) from error


def of_job(words: str) -> errors.LookalikeError:
    """The error that a job's long message tells of."""
    if found := OURS.findall(words):
        name, message = found[-1]
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.LookalikeError):
            made = kind.__new__(kind)
            made.args = (message.strip(),)
            return made
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return ClusterError(f"Spark could not do the job: {first_line(Exception(causes[-1] if causes else words))[:400]}")
