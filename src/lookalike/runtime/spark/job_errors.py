"""Translate errors of Spark jobs, which come with Java and Python stack traces, to one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike import errors
from lookalike.runtime.spark.session import ClusterError, first_line

LOOKALIKE_ERROR = re.compile(r"(?:lookalike\.errors\.)(\w+): (.+)")
NO_SYSTEM = re.compile(r"Class ([\w.]+FileSystem) not found|No FileSystem for scheme \"?(\w+)")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate errors of Spark jobs: a lookalike error raised on an executor is raised again on the driver."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError, Py4JError, ConnectionError) as error:
        raise from_spark(str(error)) from error


def from_spark(words: str) -> errors.LookalikeError:
    """Return the lookalike error for the message of a failed Spark job."""
    if matches := LOOKALIKE_ERROR.findall(words):
        name, message = matches[-1]
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.LookalikeError):
            error = kind.__new__(kind)
            error.args = (re.sub(r" SQLSTATE: \w+$", "", message.strip()),)
            return error
    return ClusterError(f"Spark could not do the job: {root_cause(words)}")


def root_cause(words: str) -> str:
    """Return the root cause in one line, given a multi-line Java error message.

    >>> root_cause("It failed\\n: java.io.IOException: x\\n\\tat a.b\\nCaused by: java.net.ConnectException: refused")
    'ConnectException: refused'
    """
    if missing := NO_SYSTEM.search(words):
        return (
            f"this Spark has no files of that kind ({missing[1] or missing[2]} is missing); name the package that has "
            "them in `spark_conf`, as spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION for s3a."
        )
    lines = [line.strip().removeprefix("Caused by:").lstrip(": ") for line in words.splitlines()]
    causes = [line for line in lines if re.match(r"[\w.$]+(Exception|Error)\b", line)]
    why = causes[-1] if causes else first_line(Exception(words))
    return re.sub(r"^(?:[a-z]\w*\.)+(?=[A-Z])", "", why)[:400]
