"""scrub killed at several moments: nothing half-written, and the same command gives the bytes of a calm run."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib, os, signal, sys
from lookalike.runtime.local import checkpoints, text_pass
checkpoints.COMMIT, text_pass.TEXT_TASK_BYTES = 0.0, 1 << 13
if (moment := sys.argv.pop(1)) != "never":
    module, name, left = moment.split(":")
    owner, left = importlib.import_module(module), int(left)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    name = name.split(".")[-1]
    whole = getattr(owner, name)

    def last(*args, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*args, **options)

    setattr(owner, name, last)
from lookalike.cli.main import main
main()
"""
MOMENTS = [
    "lookalike.kinds.scrub.tokens:token_ranges:4",  # texts are read
    "lookalike.kinds.scrub.repeats:_cut:0",
    "lookalike.kinds.scrub.local:_count:0",  # the cuts are committed
    "lookalike.kinds.scrub.removed:RemovedFile.finish:0",  # rows are written, nothing has its name yet
]


def test_killed_the_same_command_goes_on(tmp_path: Path) -> None:
    rng = random.Random(8)
    passage = " ".join(rng.choices([f"w{number}" for number in range(500)], k=30))
    texts = [f"a{number} {passage if number % 3 else 'none'} b{number} " + "c" * 300 for number in range(120)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    def run(moment: str, out: str, *options: str) -> subprocess.CompletedProcess[str]:
        given = ["scrub", "in.jsonl", "--min-tokens", "20", "-o", f"{out}.jsonl", "--removed", f"{out}.parquet"]
        command = [sys.executable, "-c", PROGRAM, moment, *given, *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("never", "calm").returncode == 0
    for moment in MOMENTS:
        assert run(moment, "out", "--work-dir", "work").returncode == -signal.SIGKILL
        assert not (tmp_path / "out.jsonl").exists()
        assert not (tmp_path / "out.parquet").exists()
    done = run("never", "out", "--work-dir", "work")
    assert done.returncode == 0
    assert "are taken from" in done.stderr
    for name in ("out.jsonl", "out.parquet"):
        assert (tmp_path / name).read_bytes() == (tmp_path / name.replace("out", "calm")).read_bytes()
    names = {path.name for path in tmp_path.iterdir()} - {"in.jsonl", "work"}
    assert names == {f"{out}.{end}" for out in ("calm", "out") for end in ("jsonl", "jsonl.receipt.json", "parquet")}
