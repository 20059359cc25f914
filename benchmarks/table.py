"""The results as Markdown: one table per corpus."""

from __future__ import annotations

from typing import Any

HEAD = ["tool", "seconds", "ratio", "peak memory", "recall", "recall .80–.85", "precision", "pairs"]


def row(run: dict[str, Any]) -> list[str]:
    """The cells of one tool; a tool that gave no answer says why instead."""
    seconds = f"{run['seconds']:.1f}" if "seconds" in run else ""
    if run["status"] == "timeout":
        seconds = f"> {run['seconds']:.0f}"
    ratio = f"{run['ratio']:.1f}" if run.get("ratio") else ""
    peak = f"{run['peak_bytes'] / 1e6:,.0f} MB" if run.get("peak_bytes") else ""
    if "recall" in run:
        quality = [f"{run[name]:.4f}" for name in ("recall", "recall_80_85", "precision")] + [f"{run['pairs']:,}"]
    else:
        quality = [run["status"], "", "", run.get("message", "").replace("|", "/")]
    return [run["tool"], seconds, ratio, peak, *quality]


def markdown(result: dict[str, Any]) -> str:
    """All tables, under one line about the machine."""
    host = result["machine"]
    lines = [
        f"{host['processor']}, {host['cores']} cores, {host['memory_bytes'] / 2**30:.0f} GiB, Python {host['python']}. "
        "Whole process, from Parquet to the answer; Jaccard 0.8 over word 5-shingles.",
    ]
    for corpus in result["corpora"]:
        lines += ["", f"## {corpus['name']}", ""]
        lines += [
            f"{corpus['documents']:,} documents, {corpus['text_bytes'] / 1e6:,.0f} MB of text; "
            f"{corpus['truth']['pairs']:,} true pairs, {corpus['truth']['pairs_80_85']:,} of them below .85.",
            "",
            "| " + " | ".join(HEAD) + " |",
            "|---" + "|---:" * (len(HEAD) - 1) + "|",
        ]
        lines += ["| " + " | ".join(row(run)) + " |" for run in result["runs"] if run["corpus"] == corpus["name"]]
    for tool, exponent in result.get("exponents", {}).items():
        lines += ["", f"{tool}: seconds grow as documents^{exponent:.2f}."]
    return "\n".join(lines) + "\n"
