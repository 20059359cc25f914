"""Several tools on the same items, each in its own process; what each finds is compared with the exact answer.

A benchmark calls `race` with its tools: functions from the items to two arrays of numbers (left, right). The data is
made and kernels are warmed outside the clock; the seconds are those of the whole work, from items in memory to pairs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import machine
from measure import measure

Tool = Callable[[Any], tuple[Any, Any]]


def race(
    name: str, script: str, make: Callable[[int], Any], tools: dict[str, dict[str, Tool]], *,
    slow: set[str], size: int, truth: Callable[[str], str],
) -> None:  # fmt: skip
    """Run the tools of every task, print a table, write .bench/NAME.json. truth: the tool whose answer is exact."""
    parser = argparse.ArgumentParser(description=f"The benchmark {name}.")
    parser.add_argument("--size", type=int, default=size, help="items")
    parser.add_argument("--only", action="append", help="tools to run; default: all but the slow ones")
    parser.add_argument("--task", action="append", choices=list(tools), help="tasks to run; default: all")
    parser.add_argument("--slow", action="store_true", help=f"also run {', '.join(sorted(slow))}")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each tool; the fastest counts")
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--child", nargs=3, metavar=("TASK", "TOOL", "ANSWER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tool = tools[given.child[0]][given.child[1]]
        if given.child[1].startswith("lookalike"):
            tool(make(min(given.size, 5000)))  # kernels are compiled, or read from the disk
        _work(make(given.size), tool, Path(given.child[2]))
        return
    folder = given.home / "answers"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for task in given.task or tools:
        for tool in tools[task]:
            if (given.only and tool not in given.only) or (tool in slow and not given.slow and not given.only):
                continue
            answer = folder / f"{name}-{task}-{tool}.npz".replace(" ", "-").replace("/", "-")
            command = [sys.executable, script, "--size", str(given.size), "--child", task, tool, str(answer)]
            row: dict[str, Any] = {"task": task, "tool": tool}
            for _ in range(given.repeat):
                log = answer.with_suffix(".txt")
                run = measure(command, folder=Path.cwd(), log=log, timeout=given.timeout)
                if run["status"] != "ok":
                    row |= {"status": run["status"], "message": run.get("message", "")}
                    break
                facts = json.loads(log.read_text().splitlines()[-1])
                if facts["seconds"] <= row.get("seconds", float("inf")):
                    row |= {"status": "ok", **facts, "peak_bytes": run["peak_bytes"], "answer": str(answer)}
            rows.append(row)
            sys.stderr.write(f"{task} · {tool}: {row.get('seconds', row['status'])} s\n")
    for row in rows:  # numpy comes last: a large parent would be counted as its children's memory
        _score(row, next((r for r in rows if r["task"] == row["task"] and r["tool"] == truth(row["task"])), None))
    facts = {"machine": machine(), "size": given.size, "runs": rows}
    given.home.joinpath(f"{name}.json").write_text(json.dumps(facts, indent=1))
    sys.stdout.write(table(rows))


def _work(items: Any, tool: Tool, answer: Path) -> None:
    import numpy as np

    begin, spent = time.perf_counter(), time.process_time()
    left, right = tool(items)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - spent
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right).astype(np.int64)
    packed = np.unique(low[low != high] << 32 | high[low != high])
    np.savez(answer, packed=packed)
    facts = {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "pairs": len(packed)}
    sys.stdout.write(json.dumps(facts) + "\n")


def _score(row: dict[str, Any], exact: dict[str, Any] | None) -> None:
    if row["status"] != "ok" or exact is None or exact["status"] != "ok":
        return
    import numpy as np

    mine, true = np.load(row["answer"])["packed"], np.load(exact["answer"])["packed"]
    both = len(np.intersect1d(mine, true, assume_unique=True))
    row["recall"], row["precision"] = both / max(1, len(true)), both / max(1, len(mine))


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown."""
    lines = ["| task | tool | seconds | cpu | peak memory | pairs | recall | precision |", "|---|---|" + "---:|" * 6]
    for row in rows:
        if row["status"] != "ok":
            lines.append(f"| {row['task']} | {row['tool']} | {row['status']} | | | {row.get('message', '')} | | |")
            continue
        quality = [f"{row[key]:.4f}" if key in row else "" for key in ("recall", "precision")]
        cells = [row["task"], row["tool"], f"{row['seconds']:.2f}", f"{row['cpu_seconds']:.2f}"]
        cells += [f"{row['peak_bytes'] / 1e6:,.0f} MB", f"{row['pairs']:,}", *quality]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
