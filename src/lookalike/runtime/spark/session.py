"""The Spark session of a run: the active one, or a new one with the settings that lookalike needs."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lookalike.errors import LookalikeError, MissingExtra, UsageError
from lookalike.runtime.receipt import versions
from lookalike.runtime.spark.java import java_home
from lookalike.runtime.spark.limits import MAX_TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
LOOPBACK = "127.0.0.1"
UNKNOWN = 1 << 60  # the size Spark reports for data of unknown size is at least this many bytes
TUNED = "spark.lookalike.tuned"
INPUT_BYTES_PER_PART = 32 << 20  # bytes of input per shuffle partition; there are at most MAX_TASKS partitions
# Java only moves bytes here: its C2 compiler would cost more time than it saves. Without C2, the space for machine code
# is 48 MB by default, which a long session fills.
QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
# A task is one thread: Spark runs as many tasks as there are cores.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS"), "1")


class ClusterError(LookalikeError):
    """A cluster that cannot be reached, or a job that failed on it."""


def settings(master: str) -> dict[str, str]:
    """Return the settings of a new session.

    Executors on this machine share the compiled kernels of the driver; others cache them in a temporary folder, since
    they may have no home folder.
    """
    options = {
        "spark.app.name": "lookalike",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{HERE / 'log4j2.properties'} {QUICK}",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": str(32 << 20),
        "spark.buffer.pageSize": "4m",  # otherwise every small broadcast table takes 64 MB
        "spark.sql.ui.retainedExecutions": "5",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.sql.maxPlanStringLength": "10000",
        "spark.python.daemon.module": "lookalike.kinds.documents.spark.worker_daemon",
        # TCP delays each task by 40 ms: Java waits for an acknowledgement that Python delays.
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        **{f"spark.executorEnv.{name}": value for name, value in ONE_THREAD.items()},
    }
    if is_near(master):
        options |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    else:
        cache = os.path.join(tempfile.gettempdir(), f"lookalike-executors-{os.getuid()}")
        options |= {"spark.executorEnv.XDG_CACHE_HOME": cache}
    if master.startswith("local"):
        warehouse = os.path.join(tempfile.gettempdir(), f"lookalike-warehouse-{os.getuid()}")  # else one in this folder
        options |= {"spark.driver.memory": "2g", "spark.sql.warehouse.dir": warehouse}
    return options


def tune(session: SparkSession, frames: Iterable[DataFrame]) -> None:
    """Set the number of shuffle partitions by the input size, if lookalike started the session without that setting."""
    if session.conf.get(TUNED, None) != "yes":
        return
    nbytes = sum(size for size in map(plan_bytes, frames) if size < UNKNOWN)
    parts = max(2 * session.sparkContext.defaultParallelism, min(nbytes // INPUT_BYTES_PER_PART, MAX_TASKS))
    session.conf.set("spark.sql.shuffle.partitions", str(parts))


def plan_bytes(frame: DataFrame) -> int:
    """Return the total size of a frame's source files and persisted frames; UNKNOWN if Spark knows none of them."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    sizes = [int(str(leaves.apply(at).stats().sizeInBytes())) for at in range(leaves.size())]
    return sum(size for size in sizes if size < UNKNOWN) or (UNKNOWN if sizes else 0)


def check_master(master: str) -> None:
    """Raise ClusterError at once if no standalone master answers; Spark itself would retry for a minute."""
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=10):
                return
        except (OSError, ValueError):
            continue
    raise ClusterError(f"no Spark master answers at {master}; expected spark://HOST:PORT of one that runs.")


def is_near(master: str) -> bool:
    """True for a master on this machine."""
    return master.startswith("local") or urlsplit(master).hostname in (LOOPBACK, "localhost")


def local_only(name: str) -> UsageError:
    """Return the error for an option that a run on Spark does not have."""
    return UsageError(f"`{name}` is for one machine; on Spark leave it out.")


def check_options(options: dict[str, Any], on_bad_file: str = "error") -> None:
    """Remove options that only the local engine has; raise UsageError if one was given."""
    if on_bad_file != "error":
        raise UsageError("on_bad_file 'skip' is for one machine; on Spark a file that cannot be read is an error.")
    for name in ("threads", "memory", "work_dir"):
        if options.pop(name, None) is not None:
            raise UsageError(
                f"{name} is for one machine; Spark has its own settings for it (`spark_conf`, such as "
                "spark.executor.memory=4g)."
            )
    options.pop("beside", None)


def open_session(master: str | None = None, spark_conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the active session, or a new one on this master (default: all cores of this machine).

    Raises MissingExtra, with the install command, without Spark; ClusterError if the master does not answer.
    """
    try:
        with quiet():
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra('engine="spark"', "spark") from error
    active = active_session()
    if active is not None:
        return active
    master = master or os.environ.get("MASTER") or "local[*]"
    check_master(master)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # it logs errors that are raised as well
    os.environ["JAVA_HOME"] = java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_near(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder: Any = SparkSession.builder.master(master)
    ours = {TUNED: "no" if "spark.sql.shuffle.partitions" in (spark_conf or {}) else "yes"}
    for name, value in {**settings(master), **ours, **(spark_conf or {})}.items():
        builder = builder.config(name, value)
    with quiet(), silenced() as said:
        try:
            session: SparkSession = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
        except Exception as error:  # pyspark's, py4j's or the system's
            words = [line.strip() for line in said() if "Exception" in line or "Error" in line]
            raise ClusterError(f"Spark did not start on {master}: {(words or [first_line(error)])[-1]}") from error
    return session


def engine_facts(session: SparkSession) -> dict[str, Any]:
    """Return the engine and the master, for a receipt."""
    return {"engine": "spark", "master": session.sparkContext.master}


def spark_versions() -> dict[str, Any]:
    """Return the versions of a receipt, including Spark's."""
    return {"versions": {**versions(), "pyspark": version("pyspark")}}


@contextmanager
def own_session() -> Iterator[None]:
    """Stop a session that was started within the block when the block ends."""
    before = active_session()
    try:
        yield
    finally:
        after = active_session()
        if after is not None and after is not before:
            after.stop()


def active_session() -> SparkSession | None:
    """Return the session of this thread, or else the one started in this process, or None."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    started: Any = SparkSession._instantiatedSession
    return started if started is not None and started._sc._jsc is not None else None


@contextmanager
def silenced() -> Iterator[Callable[[], list[str]]]:
    """Redirect the standard error of Java to a file, from its start on; yield a function that returns the lines so far.

    Python's own standard error, such as messages on Ctrl-C, is still shown.
    """
    with tempfile.TemporaryFile("w+b") as heard:
        kept, ours = os.dup(2), sys.stderr
        ours.flush()
        if ours is sys.__stderr__:
            sys.stderr = open(kept, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.dup2(heard.fileno(), 2)

        def said() -> list[str]:
            heard.seek(0)
            return heard.read().decode(errors="replace").splitlines()

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            if ours is sys.__stderr__:
                sys.stderr.close()
                sys.stderr = ours
            os.close(kept)


class quiet(warnings.catch_warnings):  # noqa: N801  (used as a word, not as a type)
    """Suppress the pyspark warning about the version of pandas, which lookalike does not use."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        return entered


def first_line(error: BaseException) -> str:
    """Return the first line of an error message, or the error's type if it is empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
