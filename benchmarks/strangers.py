"""Generated records unlike those of people.py: persons, firms, products, papers; several languages; other mistakes.

Every family has its own vocabulary, its own columns and its own mix of mistakes; how many copies there are, how far
they stray and how many rows there are is said by each family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Row = dict[str, str | None]
Maker = Callable[[np.random.Generator], Callable[[], Row]]
KEYBOARD = {
    a: near for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm") for a, near in zip(row, row[1:] + row[-2], strict=True)
}
LOOKS = {
    "o": "0",
    "0": "o",
    "l": "1",
    "1": "l",
    "i": "l",
    "s": "5",
    "5": "s",
    "m": "rn",
    "b": "8",
    "8": "b",
    "g": "q",
    "e": "c",
}
SOUNDS = {
    "ph": "f",
    "f": "ph",
    "ck": "k",
    "c": "k",
    "z": "s",
    "ie": "y",
    "y": "i",
    "ei": "ie",
    "v": "w",
    "w": "v",
    "tz": "z",
}
FOLDED = str.maketrans("äöüßéèêáàíóúñçåøčšž", "aousseeeaaiounca0csz"[:19])


def spoken(
    rng: np.random.Generator, begins: str, middles: str, ends: str, count: int, sizes: tuple[int, int]
) -> list[str]:
    """This many different made-up words of a language: syllables of these parts, blanks between them."""
    b, m, e = begins.split(), middles.split(), ends.split()
    made: dict[str, None] = {}
    while len(made) < count:
        parts = [b[rng.integers(len(b))] + m[rng.integers(len(m))] for _ in range(rng.integers(sizes[0], sizes[1] + 1))]
        made["".join(parts) + e[rng.integers(len(e))]] = None
    return list(made)


class Words:
    """Words drawn as words are: a few often, most seldom."""

    def __init__(self, rng: np.random.Generator, words: list[str], skew: float = 1.0) -> None:
        chance = 1 / np.arange(1, len(words) + 1) ** skew
        self.rng, self.words, self.chance = rng, words, np.cumsum(chance / chance.sum())

    def __call__(self) -> str:
        return self.words[min(int(np.searchsorted(self.chance, self.rng.random())), len(self.words) - 1)]

    def several(self, low: int, high: int, mark: str = " ") -> str:
        return mark.join(self() for _ in range(self.rng.integers(low, high + 1)))


GERMAN = ("sch br kl f g h k m n r st tr w z b", "a e i o u ä ö ü ei au ie", "n r l tz ck ng mann berg er dorf")
SPANISH = ("c d g j l ll m n p r s t v b qu", "a e i o u á é ía ue", "s z n r ez l ado")
CYRILLIC = ("б в г д к л м н п р с т ф х ш", "а е и о у я ю ы", "н в р к ов ин ский ева")
GREEK = ("β γ δ κ λ μ ν π ρ σ τ φ χ", "α ε η ι ο υ ω ου ει", "ς ν ου ης άκης")
HAN = (
    "王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗 梁 宋 郑 谢 韩 唐 冯 于 董 萧",
    "伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀 霞 平 刚 桂 文 辉 玲 建 国 春",
    "  华 英 兰 云 生 龙 元 全 胜 学 祥 才 发 武 新 利 清 飞 彬 富 顺 信 子 昌 成 康 星 光 天",
)


def persons(language: tuple[str, str, str], *, contact: bool) -> Maker:
    """Names, town and birth; with `contact` also street, mail and phone."""

    def make(rng: np.random.Generator) -> Callable[[], Row]:
        given, family = (Words(rng, spoken(rng, *language, count, (1, 2)), 0.8) for count in (400, 4000))
        towns, streets = (
            Words(rng, spoken(rng, *language, 300, (2, 2)), 1.1),
            Words(rng, spoken(rng, *language, 2000, (2, 3)), 0.6),
        )

        def row() -> Row:
            first, last = given(), family()
            day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.{rng.integers(1935, 2008)}"
            made: Row = {"vorname": first, "nachname": last, "ort": towns(), "geboren": day}
            if contact:
                made |= {
                    "anschrift": f"{streets()} {rng.integers(1, 120)}",
                    "mail": f"{first}.{last}@{('web', 'post', 'gmx', 'mail')[rng.integers(4)]}.example",
                    "tel": f"+{rng.integers(30, 60)} {rng.integers(100, 999)} {rng.integers(10**5, 10**7)}",
                }
            return made

        return row

    return make


def firms(rng: np.random.Generator) -> Callable[[], Row]:
    """Companies: a name with a legal form, trade, seat and number of employees."""
    names = Words(rng, spoken(rng, *GERMAN, 3000, (1, 3)), 0.5)
    trades = Words(
        rng,
        [
            "trading",
            "logistics",
            "systems",
            "foods",
            "steel",
            "energy",
            "media",
            "consulting",
            "motors",
            "textiles",
            "pharma",
            "metals",
        ],
        0.7,
    )
    forms = Words(rng, ["GmbH", "Ltd", "Inc.", "S.A.", "AG", "LLC", "Co."], 0.8)
    seats = Words(rng, spoken(rng, *SPANISH, 150, (2, 2)), 1.1)

    def row() -> Row:
        return {"company": f"{names.several(1, 2)} {trades.several(1, 2)} {forms()}", "seat": seats(),
                "employees": str(int(np.exp(rng.normal(4, 1.5))) + 1)}  # fmt: skip

    return row


def products(rng: np.random.Generator) -> Callable[[], Row]:
    """Things for sale: maker, title with a model number, a long description, price. Models come in series."""
    makers = Words(rng, spoken(rng, *SPANISH, 120, (1, 2)), 1.0)
    things, more = (
        Words(rng, spoken(rng, *GERMAN, 150, (1, 2)), 0.9),
        Words(rng, spoken(rng, *SPANISH, 2500, (1, 3)), 1.0),
    )
    series = [f"{chr(65 + rng.integers(26))}{chr(65 + rng.integers(26))}{rng.integers(1, 10)}" for _ in range(400)]

    def row() -> Row:
        maker, thing = makers(), things.several(1, 2)
        model = f"{series[rng.integers(400)]}{rng.integers(0, 100):02d}{('', 'X', 'B', 'S')[rng.integers(4)]}"
        return {"brand": maker, "title": f"{maker} {thing} {model} {more.several(1, 3)}",
                "details": f"{thing} {more.several(5, 40)}", "price": f"{np.exp(rng.normal(4, 1)):.2f}"}  # fmt: skip

    return row


def papers(rng: np.random.Generator) -> Callable[[], Row]:
    """Publications: a title of common words, authors, venue, year, pages."""
    words = Words(rng, spoken(rng, *SPANISH, 1500, (1, 3)), 1.05)
    given, family = (
        Words(rng, spoken(rng, *GERMAN, 200, (1, 1)), 0.8),
        Words(rng, spoken(rng, *GERMAN, 1500, (1, 2)), 0.8),
    )
    venues = Words(rng, [words.several(2, 5) for _ in range(30)], 0.8)

    def row() -> Row:
        page = int(rng.integers(1, 900))
        return {"title": words.several(4, 12), "venue": venues(),
                "authors": ", ".join(f"{given()} {family()}" for _ in range(rng.integers(1, 5))),
                "year": str(rng.integers(1985, 2020)), "pages": f"{page}-{page + rng.integers(4, 20)}"}  # fmt: skip

    return row


def readings(rng: np.random.Generator) -> Callable[[], Row]:
    """Numbers only: an account, an amount, a meter, a day."""

    def row() -> Row:
        return {"account": str(rng.integers(10**7, 10**8)), "amount": f"{np.exp(rng.normal(5, 1.2)):.2f}",
                "meter": str(rng.integers(1, 3000)),
                "day": f"{rng.integers(2015, 2024)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"}  # fmt: skip

    return row


def titles(rng: np.random.Generator) -> Callable[[], Row]:
    """One column: names of things."""
    words = Words(rng, spoken(rng, *SPANISH, 3000, (1, 3)), 0.9)
    return lambda: {"name": words.several(2, 6)}


def notes(rng: np.random.Generator) -> Callable[[], Row]:
    """One column of long text."""
    words = Words(rng, spoken(rng, *GERMAN, 5000, (1, 3)), 1.0)
    return lambda: {"text": words.several(30, 90)}


@dataclass(frozen=True)
class Mistakes:
    """How a copy strays: the chance of each mistake, per field (moved, swapped: per record)."""

    typo: float = 0.1
    ocr: float = 0.0
    sound: float = 0.0
    missing: float = 0.05
    initials: float = 0.0
    dropped: float = 0.0
    shuffled: float = 0.0
    cut: float = 0.0
    moved: float = 0.0
    swapped: float = 0.0
    folded: float = 0.0
    shouted: float = 0.0


def slip(rng: np.random.Generator, text: str) -> str:
    """A key next to the right one, a letter lost, doubled, or swapped."""
    at, kind = int(rng.integers(len(text))), int(rng.integers(4))
    here = text[at]
    if kind == 0:
        return (
            text[:at] + (str(rng.integers(10)) if here.isdigit() else KEYBOARD.get(here.lower(), "x")) + text[at + 1 :]
        )
    if kind == 1 and len(text) > 2:
        return text[:at] + text[at + 1 :]
    if kind == 2:
        return text[:at] + here + text[at:]
    return text[:at] + text[at + 1 : at + 2] + here + text[at + 2 :]


def stray(rng: np.random.Generator, text: str, m: Mistakes) -> str | None:
    """A value as a careless hand copies it."""
    if rng.random() < m.missing:
        return None
    words = text.split()
    if rng.random() < m.dropped and len(words) > 2:
        for _ in range(max(1, len(words) // 6)):
            words.pop(int(rng.integers(len(words))))
    if rng.random() < m.initials and len(words) > 1:
        at = int(rng.integers(len(words) - 1))
        words[at] = words[at][0] + "."
    if rng.random() < m.shuffled:
        words = [words[i] for i in rng.permutation(len(words))]
    text = " ".join(words)
    if rng.random() < m.cut:
        text = text[: max(4, int(len(text) * rng.uniform(0.5, 0.9)))]
    for _ in range(int(rng.poisson(m.typo))):
        text = slip(rng, text)
    if rng.random() < m.ocr:
        spots = [i for i, c in enumerate(text.lower()) if c in LOOKS]
        if spots:
            at = spots[int(rng.integers(len(spots)))]
            text = text[:at] + LOOKS[text[at].lower()] + text[at + 1 :]
    if rng.random() < m.sound:
        heard = [(a, b) for a, b in SOUNDS.items() if a in text]
        if heard:
            a, b = heard[int(rng.integers(len(heard)))]
            text = text.replace(a, b, 1)
    if rng.random() < m.folded:
        text = text.translate(FOLDED)
    return (text.upper() if rng.random() < m.shouted else text) or None


def copies_of(rng: np.random.Generator, row: Row, other: Row, m: Mistakes) -> Row:
    """A copy of a record; `other` is where it has moved to, if it has."""
    names = list(row)
    moved = names[int(rng.integers(1, len(names)))] if len(names) > 2 and rng.random() < m.moved else None
    made = {
        name: stray(rng, value, m) if (value := other[name] if name == moved else row[name]) else None for name in names
    }
    if len(names) > 1 and rng.random() < m.swapped:
        made[names[0]], made[names[1]] = made[names[1]], made[names[0]]
    return made if any(made.values()) else dict(row)


@dataclass(frozen=True)
class Family:
    """Records of one kind. rows: in all; copied: share of the originals that have copies; most: copies of one, 1 to so
    many; tables: 1, or 2: the originals and the copies apart."""

    name: str
    maker: Maker
    mistakes: Mistakes
    rows: int = 3000
    copied: float = 0.3
    most: int = 1
    tables: int = 1

    def make(self, seed: int) -> tuple[list[pa.Table], list[np.ndarray]]:
        """(one table or two with a column `id`, who each row is)."""
        rng = np.random.default_rng(seed)
        draw = self.maker(rng)
        first: list[Row] = []
        more: list[tuple[int, Row]] = []
        while len(first) + len(more) < self.rows:
            row = draw()
            first.append(row)
            if rng.random() < self.copied:
                count = int(rng.integers(1, self.most + 1))
                more += [(len(first) - 1, copies_of(rng, row, draw(), self.mistakes)) for _ in range(count)]
        if self.tables == 2:
            order = rng.permutation(len(more))
            parts = [
                (first, np.arange(len(first))),
                ([more[i][1] for i in order], np.array([more[i][0] for i in order], int)),
            ]
        else:
            every = [*enumerate(first), *more]
            order = rng.permutation(len(every))
            parts = [([every[i][1] for i in order], np.array([every[i][0] for i in order]))]
        return [table_of(rows) for rows, _ in parts], [who for _, who in parts]


def table_of(rows: list[Row]) -> pa.Table:
    names = list(rows[0]) if rows else ["name"]
    columns: dict[str, Any] = {"id": [f"r{n}" for n in range(len(rows))]}
    return pa.table(columns | {name: pa.array([row[name] for row in rows], pa.string()) for name in names})


LIGHT = Mistakes(typo=0.15, missing=0.05, shouted=0.1, folded=0.2)
HEAVY = Mistakes(
    typo=0.5, ocr=0.15, sound=0.15, missing=0.12, initials=0.1, dropped=0.1, moved=0.15, swapped=0.05, folded=0.3
)
LISTED = Mistakes(typo=0.15, missing=0.1, initials=0.3, dropped=0.3, shuffled=0.15, cut=0.15, shouted=0.1)


def families() -> Iterator[Family]:
    """All of them, small ones and large ones."""
    for name, language in (
        ("german", GERMAN),
        ("spanish", SPANISH),
        ("cyrillic", CYRILLIC),
        ("greek", GREEK),
        ("han", HAN),
    ):
        yield Family(f"persons {name}", persons(language, contact=True), LIGHT)
        yield Family(f"persons {name} heavy", persons(language, contact=True), HEAVY, most=3)
        yield Family(f"persons {name} few fields", persons(language, contact=False), LIGHT)
    yield Family("persons none alike", persons(GERMAN, contact=True), LIGHT, copied=0)
    yield Family("persons none alike few fields", persons(SPANISH, contact=False), LIGHT, copied=0)
    yield Family("persons all alike", persons(GERMAN, contact=True), LIGHT, copied=1)
    yield Family("persons twenty copies", persons(SPANISH, contact=True), HEAVY, copied=0.3, most=20)
    yield Family("persons 200", persons(GERMAN, contact=True), HEAVY, rows=200)
    yield Family("persons 30000", persons(GERMAN, contact=True), HEAVY, rows=30_000)
    yield Family("persons two tables", persons(CYRILLIC, contact=True), HEAVY, tables=2, copied=0.5)
    yield Family("persons two tables unequal", persons(SPANISH, contact=True), HEAVY, tables=2, copied=0.04)
    for name, maker in (
        ("firms", firms),
        ("products", products),
        ("papers", papers),
        ("titles", titles),
        ("notes", notes),
    ):
        yield Family(name, maker, LISTED)
        yield Family(f"{name} none alike", maker, LISTED, copied=0)
        yield Family(f"{name} twenty copies", maker, LISTED, most=20)
        yield Family(f"{name} two tables", maker, LISTED, tables=2, copied=0.5)
    yield Family("readings", readings, Mistakes(typo=0.1, missing=0.05))
    yield Family("readings none alike", readings, Mistakes(), copied=0)
    yield Family("papers 300", papers, LISTED, rows=300)
    yield Family("products 20000", products, LISTED, rows=20_000)
