"""Shared passages: planted quotations and planted articles with known answers, and speed next to copydetect.

    python benchmarks/passages.py [--peer PYTHON] [--home .bench]

Reads the Django pages and the news articles below LOOKALIKE_DATA (default ../shared/data). Prints tables and writes
passages.json into the folder .bench. PYTHON is an interpreter that has copydetect (default: the one that runs this).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from machine import machine, versions
from measure import measure

# promise: docs/how-to/passages.md | 97 % are found this way, and 47 % as unbroken runs of 12

# promise: docs/how-to/passages.md | with 30 % of the words replaced, 10 % left out, 10 % inflected, phrases swapped
# promise: docs/how-to/passages.md | With 45 % replaced, 99 % and 78 % are found

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent / "../shared/data"))
LENGTHS, NOISE, PLANTED = (30, 50, 100, 200, 500), (0.0, 0.05, 0.15), 120
WAYS: dict[str, dict[str, Any]] = {"unbroken": {}, "gap 8": {"gap": 8}}
WORD = re.compile(r"\w+")

Span = tuple[int, int]
Planted = tuple[int, int, Span, Span]  # quoted page, quoting page, characters in each


def django_pages(*releases: str) -> dict[str, str]:
    """Path in the archive -> text."""
    with tarfile.open(DATA / "django-docs-versions/django_docs.tar.xz") as archive:
        wanted = [m for m in archive.getmembers() if m.isfile() and m.name.split("/")[1] in releases]
        return {m.name: archive.extractfile(m).read().decode() for m in wanted}  # type: ignore[union-attr]


def plant(pages: list[str], length: int, noise: float, rng: random.Random) -> tuple[list[str], list[Planted]]:
    """Pages into each of which at most one quotation of another page was put, between two of its words."""
    words = [[m.span() for m in WORD.finditer(page)] for page in pages]
    vocabulary = sorted({page[a:b] for page, spans in zip(pages, words, strict=True) for a, b in spans})
    texts, planted = list(pages), []
    long_enough = [i for i, spans in enumerate(words) if len(spans) > length + 20]
    for host in rng.sample(range(len(pages)), PLANTED):
        quoted = rng.choice([i for i in long_enough if i != host])
        first = rng.randrange(len(words[quoted]) - length)
        spans = words[quoted][first : first + length]
        pieces, at = [], spans[0][0]
        for a, b in spans:
            pieces += [pages[quoted][at:a], rng.choice(vocabulary) if rng.random() < noise else pages[quoted][a:b]]
            at = b
        quotation = "".join(pieces)
        place = rng.choice(words[host])[1] if words[host] else 0
        texts[host] = f"{pages[host][:place]}\n\n{quotation}\n\n{pages[host][place:]}"
        planted.append((quoted, host, (spans[0][0], spans[-1][1]), (place + 2, place + 2 + len(quotation))))
    # A page that quotes may be quoted: what was planted in it moves its own text.
    shift = {host: (span[0] - 2, span[1] - span[0] + 4) for _, host, _, span in planted}
    for number, (quoted, host, there, here) in enumerate(planted):
        if quoted in shift:
            place, by = shift[quoted]
            inside = there[0] < place < there[1]
            moved = (there[0] + by * (there[0] >= place), there[1] + by * (there[1] > place))
            planted[number] = (quoted, host, moved if not inside else (-1, -1), here)
    return texts, [one for one in planted if one[2] != (-1, -1)]


def overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def judge(texts: list[str], planted: list[Planted], options: dict[str, Any]) -> dict[str, float]:
    """Recall: quotations of which a passage of the pair reports a part. covered: their characters that were reported.
    inside: characters of those passages that were planted, on the quoting page. edge: characters by which the first and
    last reported place of the quotation differ from the true ones, the median."""
    import statistics

    import lookalike as la

    rows: dict[Span, list[tuple[Span, Span]]] = {}
    for r in la.passages(texts, **options).passages.to_pylist():
        left, right = (r["left_start"], r["left_end"]), (r["right_start"], r["right_end"])
        rows.setdefault((r["left"], r["right"]), []).append((left, right))
        rows.setdefault((r["right"], r["left"]), []).append((right, left))
    found = covered = size = reported = within = 0
    edges: list[int] = []
    for quoted, host, there, here in planted:
        hits = [b for a, b in rows.get((quoted, host), []) if overlap(a, there) and overlap(b, here)]
        marked = set().union(*(range(max(a, here[0]), min(b, here[1])) for a, b in hits)) if hits else set()
        found += bool(hits)
        covered, size = covered + len(marked), size + here[1] - here[0]
        reported, within = reported + sum(b - a for a, b in hits), within + sum(overlap(one, here) for one in hits)
        if hits:
            edges += [abs(min(a for a, _ in hits) - here[0]), abs(max(b for _, b in hits) - here[1])]
    return {
        "quotations": len(planted),
        "recall": round(found / len(planted), 4),
        "covered": round(covered / size, 4),
        "inside": round(within / max(1, reported), 4),
        "edge": statistics.median(edges) if edges else -1,
    }


def quotations(seed: int) -> list[dict[str, Any]]:
    pages = [*django_pages("5.0").values()]
    out = []
    for noise in NOISE:
        for length in LENGTHS:
            texts, planted = plant(pages, length, noise, random.Random(f"{seed} {noise} {length}"))
            for way, options in WAYS.items():
                out.append({"way": way, "noise": noise, "words": length, **judge(texts, planted, options)})
    return out


def articles() -> list[dict[str, Any]]:
    """Planted plagiarism in the news: the true pairs among all pairs that the command tells of the same story."""
    import lookalike as la

    out = []
    for size in (100, 1000, 2500):
        with gzip.open(DATA / f"minhash-articles/articles_{size}.train.gz", "rt") as file:
            lines = [line.split(" ", 1) for line in file]
        truth = {frozenset(line.split()) for line in (DATA / f"minhash-articles/articles_{size}.truth").open()}
        ids, texts = [name for name, _ in lines], [text for _, text in lines]
        for way, made in (
            ("passages of 100 words", la.passages(texts, min_tokens=100).pairs),
            ("passages, half of each", la.passages(texts, gap=8).pairs),
            ("stories", la.stories(texts).pairs),
        ):
            rows = made.to_pylist()
            if way == "passages, half of each":
                rows = [row for row in rows if min(row["left_in_right"], row["right_in_left"]) >= 0.5]
            reported = {frozenset((ids[row["left"]], ids[row["right"]])) for row in rows}
            right = len(reported & truth)
            out.append({"articles": size, "way": way, "true": len(truth), "reported": len(reported), "right": right})
    return out


def synonyms(texts: list[str], rng: random.Random) -> dict[str, str]:
    """Give each word of the texts another one of about the same frequency."""
    counts = Counter(word.lower() for text in texts for word in WORD.findall(text))
    ranked = [word for word, _ in counts.most_common()]
    near = [min(len(ranked) - 1, max(0, i + rng.randint(-50, 50))) for i in range(len(ranked))]
    return {word: ranked[j] for word, j in zip(ranked, near, strict=True)}


def reworded(text: str, other: dict[str, str], rng: random.Random, way: dict[str, float]) -> str:
    """Shuffle the sentences; replace, leave out and inflect words; swap neighbouring phrases."""
    sentences = [one for one in re.split(r"(?<=[.!?:])\s+|\n\n+", text) if WORD.search(one)]
    if way["shuffled"]:
        rng.shuffle(sentences)
    out: list[str] = []
    for sentence in sentences:
        made: list[str] = []
        for word in sentence.split():
            plain, chance = "".join(WORD.findall(word)).lower(), rng.random()
            if chance < way["synonyms"]:
                made.append(other.get(plain, plain))
            elif chance < way["synonyms"] + way["left out"]:
                continue
            elif chance < way["synonyms"] + way["left out"] + 0.1:
                made.append(re.sub(r"(?<=\w{3})(ing|ed|es|s)$", "", plain) + rng.choice(["", "s", "ed", "ing"]))
            else:
                made.append(word)
        for i in range(0, len(made) - 4, 4):
            if rng.random() < 0.15:
                made[i : i + 4] = made[i + 2 : i + 4] + made[i : i + 2]
        out.append(" ".join(made))
    return " ".join(out)


REWORDINGS = {
    "light": {"synonyms": 0.15, "left out": 0.05, "shuffled": 0},
    "shuffled sentences": {"synonyms": 0.3, "left out": 0.1, "shuffled": 1},
    "heavy": {"synonyms": 0.45, "left out": 0.1, "shuffled": 1},
}


def rewordings(seed: int) -> list[dict[str, Any]]:
    """Passages reworded in another text, the host. false: texts other than the source that are reported to share
    something with what was planted, and shared nothing with the source before."""
    import lookalike as la

    def pairs(
        texts: list[str], ends: dict[int, int], options: dict[str, Any]
    ) -> tuple[set[frozenset[int]], dict[str, Any]]:
        """Pairs of texts that share a passage; of a host, only those in what follows its own text, which ends there."""
        made = la.passages(texts, **options)
        rows = made.passages.to_pylist()
        if ends:
            rows = [
                row
                for row in rows
                if any(row[f"{side}_end"] > ends.get(row[side], 1 << 60) for side in ("left", "right"))
            ]
        return {frozenset((row["left"], row["right"])) for row in rows}, made.receipt

    with gzip.open(DATA / "minhash-articles/articles_1000.train.gz", "rt") as file:
        news = [line.split(" ", 1)[1] for line in file]
    collections = {"Django 5.0": [*django_pages("5.0").values()], "news": news}
    out = []
    for name, texts in collections.items():
        rng = random.Random(f"{seed} {name}")
        other = synonyms(texts, rng)
        ways: dict[str, dict[str, Any]] = {"gap 8": {"gap": 8}, "reworded": {"reworded": True}}
        before = {way: pairs(texts, {}, options)[0] for way, options in ways.items()}
        for words in (60, 120):
            long = [i for i, text in enumerate(texts) if len(text.split()) > words + 20]
            for kind, way in REWORDINGS.items():
                planted, made, sources, ends = set(), list(texts), {}, {}
                for source, host in zip(rng.sample(long, 150), rng.sample(range(len(texts)), 150), strict=True):
                    pieces = re.findall(r"\S+\s*", texts[source])
                    first = rng.randrange(len(pieces) - words)
                    if source != host:
                        passage = reworded("".join(pieces[first : first + words]), other, rng, way)
                        ends[host] = len(made[host])
                        made[host] += f"\n\n{passage}"
                        planted.add(frozenset((source, host)))
                        sources[host] = source
                for tool, options in ways.items():
                    found, receipt = pairs(made, ends, options)
                    right, false = len(found & planted), 0
                    for pair in map(tuple, found - planted):
                        hosts = [(a, b) for a, b in (pair, pair[::-1]) if a in sources]
                        false += not any(frozenset((sources[a], b)) in before["reworded"] for a, b in hosts)
                    row = {
                        "texts": name,
                        "words": words,
                        "kind": kind,
                        "way": tool,
                        "recall": round(right / len(planted), 3),
                    }
                    row |= {"precision": round(right / max(1, right + false), 3), "false": false}
                    if tool == "reworded":
                        row["stated"] = round(receipt["reworded"]["expected_precision"], 4)
                        row["measured"] = receipt["reworded"]["planted"]["recall"]
                    out.append(row)
    return out


def speed(home: Path, peer: str, repeats: int = 7) -> list[dict[str, Any]]:
    """536 pages: lookalike's own work in this process, its command as a whole, and the peer's as a whole."""
    import lookalike as la

    pages = dict([*django_pages("4.2", "5.0").items()][:536])
    folder = home / "django-pages"
    if not folder.exists():
        for name, text in pages.items():
            path = folder / name.replace("/", "__")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    size = sum(len(text.encode()) for text in pages.values())
    out = []
    for way, options in WAYS.items():
        la.passages([*pages.values()], **options)
        best = worked = 9e9
        for _ in range(repeats):
            begin, busy = time.perf_counter(), time.process_time()
            made = la.passages([*pages.values()], **options)
            best, worked = min(best, time.perf_counter() - begin), min(worked, time.process_time() - busy)
        out.append({"tool": f"lookalike, {way}: work", "status": "ok", "seconds": round(best, 3),
                    "cpu_seconds": round(worked, 3), "pages": len(pages),
                    "bytes": size, "pairs": made.pairs.num_rows})  # fmt: skip
    ours = [sys.executable, "-m", "lookalike.cli.main", "passages", str(folder), "-q", "--force"]
    command = [*ours, "-o", str(home / "passages.parquet")]
    log = home / "passages.log"
    page = [*ours, "-o", str(home / "passages.html")]
    for tool, words in (("lookalike: command", command), ("lookalike: command, page", page)):
        measure(words, folder=HERE, log=log, timeout=600)
        out.append({"tool": tool, **measure(words, folder=HERE, log=log, timeout=600)})
    out.append(
        {
            "tool": "copydetect",
            **measure([peer, "-m", "peers.copydetect", str(folder)], folder=HERE, log=log, timeout=600),
        }
    )
    if out[-1]["status"] == "ok":
        out[-1] |= json.loads(log.read_text().strip().splitlines()[-1])
    return out


def table(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(str(row.get(n, "")) for n in names) + " |" for row in rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--peer", default=sys.executable, help="a Python that has copydetect")
    parser.add_argument("--only", choices=["quotations", "articles", "rewordings", "speed"])
    given = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"no data in {DATA}; set LOOKALIKE_DATA to the folder with django-docs-versions and minhash-articles.")
    home = given.home.resolve()
    home.mkdir(exist_ok=True)
    # The speed first: a child counts the memory of the process that starts it.
    parts = {
        "speed": lambda: speed(home, given.peer),
        "quotations": lambda: quotations(given.seed),
        "articles": articles,
        "rewordings": lambda: rewordings(given.seed),
    }
    result: dict[str, Any] = {"machine": machine(), "versions": versions(), "seed": given.seed}
    for name, part in parts.items():
        if given.only in (None, name):
            result[name] = part()
            sys.stdout.write(f"\n## {name}\n\n{table(result[name])}")
            sys.stdout.flush()
    (home / "passages.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
