"""Record the kernels that each command calls on small inputs: src/lookalike/kernels/needed.json.

Run it after kernels or their callers have changed: python scripts/make_needed_kernels.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

NEEDED = Path(__file__).parents[1] / "src/lookalike/kernels/needed.json"
# Commands on small inputs. What follows a `#` names a variant, whose kernels only `lookalike warm` compiles ahead.
COMMANDS = """
pairs texts.csv --text text -o out.parquet
pairs few.csv --text text -o out.parquet
groups texts.csv --text text -o out.parquet
dedup texts.csv --text text -o out.parquet
pairs # more.jsonl --text text --method lsh -o out.parquet
dedup # more.jsonl --text text --method lsh -o out.jsonl
dedup # more.jsonl --text text --method exact -o out.jsonl
passages folder -o out.csv
passages # folder --reworded -o out.csv
passages # folder --reworded -o out.csv
plan --threshold 0.8
compare folder/0.txt folder/1.txt
shingles texts.csv --text text
baskets pairs baskets.csv --set basket --item item -t 0.2 -o out.csv
strings pairs names.csv --text name -o out.csv
strings groups names.csv --text name -o out.csv
strings dedup names.csv --text name -o out.csv
records pairs people.csv -o out.csv
records groups people.csv -o out.csv
records dedup people.csv -o out.csv
vectors pairs vectors.npy --max-angle 20 -o out.csv
vectors groups vectors.npy --max-angle 20 -o out.csv
bits pairs bits.csv --max-bits 4 -o out.csv
bits groups bits.csv --max-bits 4 -o out.csv
series pairs walk.csv --window 20 --within 2 -o out.csv
series pairs walk.csv --window 20 --top 3 -o out.csv
nearest texts.csv --text text --top 2 -o out.csv
stories texts.csv --text text -o out.csv
scrub texts.csv --text text --min-tokens 5 -o out.csv
scrub # texts.csv --text text --min-tokens 20 --gap 2 -o out.csv
decontaminate texts.csv --text text --against few.csv -o out.csv
"""
RECORDER = """
import atexit, json, sys
from lookalike.kernels import _jit
called, call = [], _jit.Kernel._entry
def note(self, kinds, arguments):
    entry = call(self, kinds, arguments)
    file = self.file(kinds)
    if file is not None and file.exists():
        called.append((self.__module__.partition(".")[2], self.__name__, kinds, file.stat().st_size))
    return entry
_jit.Kernel._entry = note
_jit.warming.compile_requested = lambda: False
atexit.register(lambda: open("called.json", "w").write(json.dumps(called)))
from lookalike.cli.main import main
main()
"""


def write_inputs(folder: Path) -> None:
    """Write small inputs of every kind."""
    rng = np.random.default_rng(1)
    words = np.array([f"word{i}" for i in range(500)])
    texts = [" ".join(rng.choice(words, 40)) for _ in range(300)]
    texts += [f"{text} more" for text in texts[:100]] + texts[:5]
    (folder / "texts.csv").write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts[-120:])))
    (folder / "few.csv").write_text(f"id,text\n1,{texts[0]}\n2,{texts[0]} more\n")
    (folder / "more.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "folder").mkdir()
    for i, text in enumerate(texts[-5:] + texts[:5]):
        (folder / "folder" / f"{i}.txt").write_text(text)
    pairs = [f"{i % 40},item{rng.integers(60)}" for i in range(400)]
    (folder / "baskets.csv").write_text("basket,item\n" + "\n".join(pairs) + "\n")
    names = [" ".join(rng.choice(words, 2)) for _ in range(100)]
    names += [f"{name}s" for name in names[:30]]
    (folder / "names.csv").write_text("name\n" + "\n".join(names) + "\n")
    people = [f"{name},{town},19{year}-01-02" for name, town, year in zip(names, words, range(130), strict=False)]
    (folder / "people.csv").write_text("name,town,born\n" + "\n".join(people) + "\n")
    vectors = rng.normal(size=(200, 16)).astype(np.float32)
    np.save(folder / "vectors.npy", np.vstack([vectors, vectors[:20] + 0.01]).astype(np.float32))
    (folder / "walk.csv").write_text("height\n" + "\n".join(map(str, rng.normal(size=400).cumsum())) + "\n")
    codes = rng.integers(0, 1 << 63, 200)
    codes = np.concatenate([codes, codes[:20] ^ 1])
    (folder / "bits.csv").write_text("id,hash\n" + "".join(f"{i},{code:016x}\n" for i, code in enumerate(codes)))


def record(words: list[str], folder: Path) -> list[Any]:
    """Return the kernels that a command calls."""
    for name in ("out.csv", "out.parquet", "out.jsonl", "called.json"):
        (folder / name).unlink(missing_ok=True)
    force = ["--force", "-q"] if "-o" in words else []
    source = Path(__file__).parents[1] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", RECORDER, *words, *force]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return json.loads((folder / "called.json").read_text())


def main() -> None:
    kernels: dict[str, tuple[int, list[Any]]] = {}
    commands: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        write_inputs(Path(name))
        for line in COMMANDS.strip().splitlines():
            words = line.split()
            called = record([word for word in words if word != "#"], Path(name))
            places = set()
            for kernel in called:
                places.add(kernels.setdefault(json.dumps(kernel[:3]), (len(kernels), kernel))[0])
            if "#" not in words:
                group = words[0] in ("baskets", "strings", "records", "vectors", "bits", "series")
                name_of_command = " ".join(words[: 1 + group])
                commands[name_of_command] = sorted(places.union(commands.get(name_of_command, [])))
            print(f"{len(places):4} kernels: {line}")
    lines = ",\n".join(json.dumps(kernel) for _, kernel in kernels.values())
    NEEDED.write_text(f'{{"commands": {json.dumps(commands)},\n"kernels": [\n{lines}\n]}}\n')
    print(f"{len(kernels)} kernels in {NEEDED.name}")


if __name__ == "__main__":
    main()
