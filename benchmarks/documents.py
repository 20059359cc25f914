"""Run lookalike and its peers on the same corpora, each as its own process from raw Parquet to its answer.

    python benchmarks/documents.py [--documents 200000] [--corpus generated|real] [--only NAME] [--scaling] [--check]

Writes documents.json and documents.md into the folder .bench. This process loads nothing heavy and never may: see
measure.py.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import machine, versions
from measure import measure
from table import markdown

HERE = Path(__file__).resolve().parent
SCALING = (20_000, 200_000, 1_000_000)
SLOW = {"SetSimilaritySearch"}
OURS = ("lookalike", "lookalike exact")


def commands(corpus: str, answer: str) -> dict[str, list[str]]:
    """The command of each tool."""
    peer = [sys.executable, "-m"]
    ours = [str(Path(sys.executable).parent / "lookalike"), "pairs", corpus, "--text", "text", "--id", "id"]
    ours += ["-t", "0.8", "-o", answer, "--quiet", "--force"]
    return {
        "lookalike": ours,
        "lookalike exact": [*ours, "--exact"],
        "daft": [*peer, "peers.daft", corpus, answer],
        "gaoya": [*peer, "peers.gaoya", corpus, answer],
        "rensa": [*peer, "peers.rensa", corpus, answer],
        "rensa 16x8": [*peer, "peers.rensa", corpus, answer, "16"],
        "datasketch": [*peer, "peers.datasketch", corpus, answer],
        "SetSimilaritySearch": [*peer, "peers.setsimilaritysearch", corpus, answer],
    }


def ask(*command: str) -> dict[str, Any]:
    """Run one of the scripts here that print one line of JSON."""
    done = subprocess.run([sys.executable, *command], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run(tool: str, corpus: dict[str, Any], *, home: Path, timeout: float) -> dict[str, Any]:
    """Measure one tool on one corpus and score its answer. Ours runs twice: the second time with compiled kernels."""
    mark = f"{corpus['name']}-{tool.replace(' ', '-')}"
    answer, log = home / "answers" / f"{mark}.parquet", home / "logs" / f"{mark}.txt"
    for path in (answer, log):
        path.parent.mkdir(parents=True, exist_ok=True)
    answer.unlink(missing_ok=True)
    command = commands(corpus["path"], str(answer))[tool]
    result: dict[str, Any] = {"corpus": corpus["name"], "tool": tool, "when": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
    result["load_before"] = round(os.getloadavg()[0], 2)
    try:
        measured = measure(command, folder=HERE, log=log, timeout=timeout)
        if tool in OURS and measured["status"] == "ok":
            result["cold_seconds"] = measured["seconds"]
            measured = measure(command, folder=HERE, log=log, timeout=timeout)
        result |= measured
        if result["status"] == "ok":
            result |= ask("score.py", corpus["path"], str(answer))
    except FileNotFoundError:
        result |= {"status": "not installed"}
    except subprocess.CalledProcessError as error:
        result |= {"status": "failed", "message": f"its answer could not be scored ({error})"[:200]}
    return result


def ratios(runs: list[dict[str, Any]]) -> None:
    """Write into each run how many times as long as lookalike it took."""
    ours = {run["corpus"]: run["seconds"] for run in runs if run["tool"] == "lookalike" and run["status"] == "ok"}
    for one in runs:
        if one["status"] == "ok" and one["corpus"] in ours:
            one["ratio"] = round(one["seconds"] / ours[one["corpus"]], 3)


def exponents(runs: list[dict[str, Any]], corpora: list[dict[str, Any]]) -> dict[str, float]:
    """e such that seconds grow as documents^e from the smallest to the largest generated corpus."""
    sizes = {corpus["name"]: corpus["documents"] for corpus in corpora if corpus["name"].startswith("generated")}
    found: dict[str, float] = {}
    for tool in dict.fromkeys(run["tool"] for run in runs):
        mine = [one for one in runs if one["tool"] == tool and one["status"] == "ok" and one["corpus"] in sizes]
        points = sorted((sizes[one["corpus"]], one["seconds"]) for one in mine)
        if len(points) > 1:
            (small, little), (large, much) = points[0], points[-1]
            found[tool] = round(math.log(much / little) / math.log(large / small), 3)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000, help="size of the generated corpus")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--corpus", action="append", choices=["generated", "real"], help="default: both")
    parser.add_argument("--real-root", action="append", default=[], help="folder of text files; default: this Python's")
    parser.add_argument("--only", action="append", choices=list(commands("", "")), help="may be repeated")
    parser.add_argument("--slow", action="store_true", help=f"also run {', '.join(sorted(SLOW))}")
    parser.add_argument("--scaling", action="store_true", help=f"lookalike at {', '.join(map(str, SCALING))} documents")
    parser.add_argument("--check", action="store_true", help="only compare the exact answer with all pairs, and stop")
    parser.add_argument("--merge", action="store_true", help="keep the rows of the last results that are not run again")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one tool")
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    return parser.parse_args()


def make_corpora(given: argparse.Namespace, home: Path) -> list[dict[str, Any]]:
    """Make the corpora asked for and their exact answers, or find them made."""
    folder = ["--folder", str(home / "corpora")]
    sizes = SCALING if given.scaling else (2000,) if given.check else (given.documents,)
    kinds = given.corpus or (["generated"] if given.scaling else ["generated", "real"])
    asked = [["generated", "--documents", str(size), "--seed", str(given.seed)] for size in sizes]
    asked = asked * ("generated" in kinds)
    if "real" in kinds:
        asked.append(["real", *(f"--root={Path(root).resolve()}" for root in given.real_root)])
    corpora = [ask("corpora.py", *words, *folder) for words in asked]
    for corpus in corpora:
        corpus["truth"] = ask("truth.py", corpus["path"], *(["--check"] if given.check else []))
        sys.stderr.write(f"{corpus['name']}: {corpus['documents']} documents, truth {corpus['truth']}\n")
    return corpora


def merged(old: dict[str, Any], corpora: list[dict[str, Any]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The new rows, and those of the last results that were not run again; an older real corpus gives way to a new."""
    names = {corpus["name"] for corpus in corpora}
    kinds = {name.split("-")[0] for name in names} & {"real"}
    kept = [one for one in old["corpora"] if one["name"] not in names and one["name"].split("-")[0] not in kinds]
    known = names | {corpus["name"] for corpus in kept}
    again = {(one["corpus"], one["tool"]) for one in runs}
    rows = [one for one in old["runs"] if one["corpus"] in known and (one["corpus"], one["tool"]) not in again]
    order = list(commands("", ""))
    rows = sorted(rows + runs, key=lambda one: order.index(one["tool"]))
    ratios(rows)
    return {"corpora": kept + corpora, "runs": rows}


def main() -> None:
    given = arguments()
    home = given.home.resolve()
    corpora = make_corpora(given, home)
    if given.check:
        return
    tools = given.only or [tool for tool in commands("", "") if given.slow or tool not in SLOW]
    tools = tools if given.only or not given.scaling else ["lookalike"]
    target = home / "documents.json"
    old = json.loads(target.read_text()) if given.merge and target.exists() else {"runs": [], "corpora": []}
    runs: list[dict[str, Any]] = []
    for corpus in corpora:
        for tool in tools:
            runs.append(run(tool, corpus, home=home, timeout=given.timeout))
            sys.stderr.write(json.dumps(runs[-1]) + "\n")
    result = {"machine": machine(), "versions": versions(), "seed": given.seed, **merged(old, corpora, runs)}
    if given.scaling:
        result["exponents"] = exponents(runs, corpora)
    target.write_text(json.dumps(result, indent=1) + "\n")
    (home / "documents.md").write_text(markdown(result))
    sys.stdout.write(markdown(result))


if __name__ == "__main__":
    main()
