"""Calibration of the costs that Spark adds to a run: transfer between Java and Python, and shuffles.

Costs are processor times on one core, summed over all child processes: Java and its Python workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.runtime.spark.arrow_batches import mapped
from lookalike.runtime.spark.session import open_session

WIDE_ROW_BYTES = 2000  # bytes of a wide row
KEY_BYTES = 14.0  # compressed bytes of a narrow row in a shuffle


def spark_costs(count: int) -> dict[str, float]:
    """Measure the nanoseconds per byte moved between Java and Python, per shuffled row and per shuffled byte.

    count: number of rows of the wide table.
    """
    session = open_session("local[1]", {"spark.sql.shuffle.partitions": "4"})
    narrow = session.range(20 * count, numPartitions=2).selectExpr("xxhash64(id) as key", "id as item")
    # random bytes do not compress, like hashed sets
    hashes = ", ".join(f"xxhash64(id, {at})" for at in range(WIDE_ROW_BYTES // 8))
    wide = session.range(count, numPartitions=2).selectExpr("xxhash64(id) as key", f"array({hashes}) as elements")
    kept = [frame.persist() for frame in (narrow, wide)]
    plain, alike = zip(*[(_spent(frame), _spent(_sorted(frame))) for frame in kept], strict=True)
    taken = [max(0.0, after - before) for before, after in zip(plain, alike, strict=True)]
    row, byte = np.linalg.solve(
        np.array([[20 * count, 20 * count * KEY_BYTES], [count, count * WIDE_ROW_BYTES]]), np.array(taken) * 1e9
    )

    def same(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch

    crossed = _spent(mapped(kept[1], same, "key long, elements array<long>")) - plain[1]
    session.stop()
    return {
        "byte_crossing": crossed / (2 * count * WIDE_ROW_BYTES) * 1e9,
        "row_shuffled": float(row),
        "byte_shuffled": float(byte),
    }


def _sorted(frame: Any) -> Any:
    return frame.repartition("key").sortWithinPartitions("key")


def _spent(frame: Any) -> float:
    """Measure the processor time to compute the rows of a frame: the minimum of two runs after a warm-up."""

    def make() -> None:
        frame.write.format("noop").mode("overwrite").save()

    make()
    return min(_measured(make) for _ in range(2))


def _measured(work: Callable[[], None]) -> float:
    before = processor_time()
    work()
    return processor_time() - before


def processor_time() -> float:
    """Return the processor time in seconds of all living descendant processes."""
    ticks: dict[int, int] = {}
    parent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parent[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = int(fields[11]) + int(fields[12])

    def is_ours(process: int) -> bool:
        while process in parent and process != 1:
            process = parent[process]
            if process == os.getpid():
                return True
        return False

    return sum(spent for process, spent in ticks.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")
