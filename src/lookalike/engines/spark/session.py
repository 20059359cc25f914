"""The Spark session of a run: the caller's own, or one that is started with what lookalike needs."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lookalike.engines.spark.java import java_home
from lookalike.errors import LookalikeError, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
LOOPBACK = "127.0.0.1"
# A task is one thread: Spark runs as many tasks as there are cores.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS"), "1")


class ClusterError(LookalikeError):
    """A cluster that cannot be reached, or a job that it could not do."""


def settings(master: str) -> dict[str, str]:
    """What a session of ours is started with. Executors compile into a folder of their own, beside no user's home."""
    cache = os.path.join(tempfile.gettempdir(), f"lookalike-executors-{os.getuid()}")
    made = {
        "spark.app.name": "lookalike",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{HERE / 'log4j2.properties'}",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": str(32 << 20),
        "spark.sql.sources.default": "parquet",
        "spark.executorEnv.XDG_CACHE_HOME": cache,
        **{f"spark.executorEnv.{name}": value for name, value in ONE_THREAD.items()},
    }
    if is_near(master):
        made |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if master.startswith("local"):
        made |= {"spark.driver.memory": "2g"}
    return made


def is_near(master: str) -> bool:
    """True for a master on this machine."""
    return master.startswith("local") or urlsplit(master).hostname in (LOOPBACK, "localhost")


def open_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is active, or a new one on this master (default: all cores of this machine).

    MissingExtra says how to install Spark; ClusterError tells of a master that does not answer.
    """
    try:
        with quiet():
            from pyspark.errors import PySparkException
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra('engine="spark"', "spark") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    master = master or os.environ.get("MASTER") or "local[*]"
    os.environ["JAVA_HOME"] = java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_near(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder: Any = SparkSession.builder.master(master)
    for name, value in {**settings(master), **(conf or {})}.items():
        builder = builder.config(name, value)
    try:
        with quiet():
            session: SparkSession = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
    except (PySparkException, OSError) as error:
        raise ClusterError(f"Spark did not start on {master}: {first_line(error)}") from error
    except Exception as error:  # py4j's, which is not to be imported before it is there
        raise ClusterError(f"Spark did not start on {master}: {first_line(error)}") from error
    return session


class quiet(warnings.catch_warnings):  # noqa: N801  (used as a word, not as a type)
    """Without the warning that pyspark gives for a pandas that lookalike does not use."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        return entered


def first_line(error: BaseException) -> str:
    """What went wrong, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
