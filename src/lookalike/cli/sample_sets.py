"""The data sets of the how-to guides, by topic."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterable
from typing import Any

Files = dict[str, str | bytes]
WORD_ENDS = ("ran", "til", "sek", "mor", "dan", "fel")
WORD_STARTS = ("ka", "mi", "to", "su", "re", "no", "li", "va")
MADE_UP_WORDS = [first + last for first in WORD_STARTS for last in WORD_ENDS]
ROSE = "a rose is a rose is a rose and nothing but a rose will ever be a rose"
PRODUCTS = """id,text
a1,kettle steel one litre with a whistle and a wooden handle
a2,kettle steel one litre with a whistle and a plastic handle
a3,kettle steel two litres with a whistle and a plastic handle
a4,kettle steel two litres with a whistle and a plastic grip
b1,teapot of white china for six cups
b2,white china pot for tea (6)
"""


def json_lines(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def _parquet(columns: dict[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def _picture(image: Any, form: str) -> bytes:
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def documents() -> Files:
    other = "something entirely different that no other line in here says"
    corpus = f"url,body,stars\nu1,{ROSE},1\nu2,{ROSE} again,5\nu3,{other},3\n"
    return {"corpus.csv": corpus, "notes/one.txt": ROSE, "notes/two.txt": ROSE.upper()}


def plagiarism() -> Files:
    rng = random.Random(4)
    source = rng.choices(MADE_UP_WORDS, k=200)
    quoted, changed = source[50:90], [*source[120:135], "otherwise", *source[136:160]]

    def own(count: int) -> list[str]:
        return rng.choices(MADE_UP_WORDS, k=count)

    texts = {
        "sources/book.txt": source,
        "essays/ann.txt": [*own(60), *quoted, *own(60)],
        "essays/bob.txt": [*own(80), *changed, *own(40)],
        "essays/cy.txt": own(150),
    }
    return {name: " ".join(words) + "\n" for name, words in texts.items()}


def passages() -> Files:
    rng = random.Random(0)
    words = [first + last for first in (*WORD_STARTS, "de", "po") for last in (*WORD_ENDS, "gus", "bin")]
    quoted = " ".join(rng.choices(words, k=40))
    files: Files = {}
    for name in ("essays/ann.txt", "essays/bob.txt", "sources/book.txt", "work/one.txt", "work/two.txt"):
        files[name] = f"{' '.join(rng.choices(words, k=60))} {quoted} {' '.join(rng.choices(words, k=50))}\n"
    files["handout.txt"] = " ".join(quoted.split()[:20]) + "\n"
    code = "".join(f"def f{i}(a, b):\n    total = a * {i} + b\n    return total - {i}\n" for i in range(6))
    files |= {"homework/a.py": code, "homework/b.py": code.replace("total", "result")}
    students = enumerate(("ann", "ann", "bob"))
    files["work.csv"] = "id,student,text\n" + "".join(f"{i},{student},{quoted}\n" for i, student in students)
    rng.choices(words, k=1)
    news = [quoted, " ".join(rng.choices(words, k=40)), quoted + " today"]
    files["news.csv"] = "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(news))
    return files


def vectors() -> Files:
    import numpy as np

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 8)).astype(np.float32)
    rows[1::4] = rows[::4] + 0.05
    files: Files = {"embeddings.parquet": _parquet({"id": range(40), "embedding": list(rows)})}
    for name, part in (("embeddings", rows), ("known", rows[:20]), ("new", rows[20:])):
        file = io.BytesIO()
        np.save(file, part)
        files[f"{name}.npy"] = file.getvalue()
    return files


def decontamination() -> Files:
    rng = random.Random(2)
    train = [" ".join(rng.choices(MADE_UP_WORDS, k=80)) for _ in range(10)]
    test = [train[3] + " today", " ".join(train[7].split()[20:50]), " ".join(rng.choices(MADE_UP_WORDS, k=40))]
    return {
        f"{name}.jsonl": json_lines({"id": f"{name}-{i}", "text": text} for i, text in enumerate(texts))
        for name, texts in (("train", train), ("test", test))
    }


def photos() -> Files:
    import numpy as np

    from lookalike.io.pictures import pillow

    image, rng, files = pillow(), np.random.default_rng(0), {}
    for name in ("beach", "hill", "town"):
        picture = image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize(
            (320, 240), image.Resampling.BICUBIC
        )
        files[f"photos/{name}.png"] = _picture(picture, "PNG")
        if name != "town":
            files[f"photos/{name}-small.jpg"] = _picture(picture.resize((160, 120)), "JPEG")
    return dict(files)


def faces() -> Files:
    import numpy as np

    from lookalike.io.pictures import pillow

    image, rng = pillow(), np.random.default_rng(0)
    files: Files = {}
    for name in ("ann", "bob", "cy"):
        face = rng.integers(30, 220, (16, 16)).astype(np.int16)
        for place, pixels in ((f"people/{name}.png", face), (f"probes/{name}-again.png", face + 4)):
            files[place] = _picture(image.fromarray(pixels.astype(np.uint8)).resize((92, 112)), "PNG")
    return files | {"measurements.parquet": _parquet({"id": range(20), "values": list(rng.random((20, 12)))})}


def mirrors() -> Files:
    rng = random.Random(3)
    pages = [" ".join(rng.choices(MADE_UP_WORDS, k=80)) for _ in range(6)]
    rows = [
        {"url": f"https://{host}/{page}", "text": f"welcome to {host} {pages[page]}"}
        for host, count in (("orig.example", 6), ("mirror.example", 5))
        for page in range(count)
    ]
    rows.append({"url": "https://other.example/0", "text": pages[1]})
    rows += [
        {"url": f"https://other.example/{i}", "text": " ".join(rng.choices(MADE_UP_WORDS, k=80))} for i in range(1, 8)
    ]
    return {"crawl.jsonl": json_lines(rows)}


def stories() -> Files:
    rng = random.Random(5)
    report = [" ".join(rng.choices(MADE_UP_WORDS, k=30)) for _ in range(6)]
    match = " ".join(rng.choices(MADE_UP_WORDS, k=120))
    texts = {
        "agency": " ".join(report), "morning": " ".join(report[:4]),
        "evening": " ".join([report[3], report[2], report[0], report[1]]), "sport": match,
        "sport-2": match.replace("karan", "another"), "letters": " ".join(rng.choices(MADE_UP_WORDS, k=100)),
    }  # fmt: skip
    return {"news.jsonl": json_lines({"id": name, "text": text} for name, text in texts.items())}


def large() -> Files:
    pages = [f"page {i % 30} tells of " + " ".join(f"w{(i % 30) * 7 + j}" for j in range(40)) for i in range(40)]
    return {
        "crawl/part-0.parquet": _parquet({"id": range(40), "text": pages}),
        "old/part-0.parquet": _parquet({"id": range(30), "text": pages[:30]}),
        "new.jsonl": json_lines({"id": f"n{i}", "text": pages[i]} for i in range(25, 40)),
    }


def verification() -> Files:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(MADE_UP_WORDS, k=40)) for _ in range(12)]
    rows = enumerate([*texts, texts[0] + " again", texts[1]])
    return {"corpus.jsonl": json_lines({"id": i, "text": text} for i, text in rows)}


def exploration() -> Files:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(MADE_UP_WORDS, k=60)) for _ in range(40)]
    table = _parquet({"id": range(50), "text": texts + [text + " again" for text in texts[:10]]})
    return {"corpus.parquet": table, "archive/corpus.parquet": table}


def review() -> Files:
    return {"products.csv": PRODUCTS}


TOPICS: dict[str, Callable[[], Files]] = {
    function.__name__: function
    for function in (
        decontamination, documents, exploration, faces, large, mirrors, passages, photos, plagiarism, review, stories,
        vectors, verification,
    )
}  # fmt: skip
