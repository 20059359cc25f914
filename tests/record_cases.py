"""Generated tables of records with known answers: what people's own tables look like, one difficulty each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Rng = np.random.Generator
Row = dict[str, str | None]
SYLLABLES = [c + v + e for c in ["b", "br", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w"] for v in ("a", "e", "i", "o", "u", "ea")
             for e in ("", "n", "r", "l", "s", "ck")]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One table, or two. who: the entity of each row of each table; ids are row numbers."""

    tables: list[pa.Table]
    who: list[list[int]]

    @property
    def truth(self) -> set[tuple[int, int]]:
        if len(self.tables) == 1:
            groups: dict[int, list[int]] = {}
            for row, entity in enumerate(self.who[0]):
                groups.setdefault(entity, []).append(row)
            return {(a, b) for rows in groups.values() for a in rows for b in rows if a < b}
        return {(a, b) for a, one in enumerate(self.who[0]) for b, other in enumerate(self.who[1]) if one == other}

    def f1(self, pairs: pa.Table) -> float:
        found, true = set(zip(pairs["left"].to_pylist(), pairs["right"].to_pylist(), strict=True)), self.truth
        return 2 * len(found & true) / max(len(found) + len(true), 1)


def word(rng: Rng, low: int = 2, high: int = 3) -> str:
    return "".join(SYLLABLES[i] for i in rng.integers(0, len(SYLLABLES), int(rng.integers(low, high, endpoint=True))))


def words(rng: Rng, count: int, low: int = 2, high: int = 3) -> list[str]:
    out: dict[str, None] = {}
    while len(out) < count:
        out[word(rng, low, high).capitalize()] = None
    return list(out)


def common(rng: Rng, values: list[str]) -> str:
    """A value drawn as names are: a few often, most seldom."""
    chance = 1 / np.arange(1, len(values) + 1) ** 0.8
    return values[int(rng.choice(len(values), p=chance / chance.sum()))]


def typo(rng: Rng, text: str) -> str:
    at, letter = int(rng.integers(0, len(text))), "abcdefghijklmnopqrstuvwxyz"[int(rng.integers(0, 26))]
    letter = str(rng.integers(0, 10)) if text[at].isdigit() else letter
    kind = int(rng.integers(0, 3))
    return text[:at] + text[at + 1 :] if kind == 0 and len(text) > 3 else text[:at] + letter + text[at + (kind == 1) :]


def slips(rng: Rng, row: Row, share: float, missing: float = 0.0) -> Row:
    out: Row = {}
    for name, value in row.items():
        if value is not None and rng.random() < missing:
            value = None
        elif value and rng.random() < share:
            value = typo(rng, value)
        out[name] = value
    return out


def shuffled(rng: Rng, rows: list[Row], who: list[int]) -> tuple[pa.Table, list[int]]:
    order = rng.permutation(len(rows)).tolist()
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([rows[i].get(name) for i in order], pa.string()) for name in names}
    return pa.table(columns), [who[i] for i in order]


def one_table(rng: Rng, rows: list[Row], who: list[int]) -> Case:
    table, entity = shuffled(rng, rows, who)
    return Case([table], [entity])


def two_tables(rng: Rng, left: tuple[list[Row], list[int]], right: tuple[list[Row], list[int]]) -> Case:
    (a, one), (b, other) = shuffled(rng, *left), shuffled(rng, *right)
    return Case([a, b], [one, other])


def people(rng: Rng, count: int) -> list[Row]:
    firsts, lasts, streets, towns = words(rng, 200, 1, 2), words(rng, 500), words(rng, 300), words(rng, 40)
    return [
        {
            "first": common(rng, firsts), "last": common(rng, lasts),
            "street": f"{rng.integers(1, 200)} {common(rng, streets)} Street", "town": common(rng, towns),
            "phone": f"0{rng.integers(10**8, 10**9)}", "born": str(np.datetime64("1935-01-01") + rng.integers(0, 27000)),
        }
        for _ in range(count)
    ]  # fmt: skip


def with_copies(
    rng: Rng, rows: list[Row], share: float, copy: Callable[[Rng, Row], Row]
) -> tuple[list[Row], list[int]]:
    out, who = list(rows), list(range(len(rows)))
    for entity in np.flatnonzero(rng.random(len(rows)) < share).tolist():
        out.append(copy(rng, rows[entity]))
        who.append(entity)
    return out, who


def wide(rng: Rng) -> Case:
    """Sixty columns: five that tell, constants, flags, and columns that are filled in a few rows only."""
    rows = [dict(row) for row in people(rng, 700)]
    for row in rows:
        for n in range(15):
            row[f"constant{n}"] = "N/A" if n % 2 else "0"
        for n in range(15):
            row[f"flag{n}"] = "yes" if rng.random() < 0.05 else "no"
        for n in range(25):
            row[f"rare{n}"] = word(rng) if rng.random() < 0.004 else None
    rows, who = with_copies(rng, rows, 0.4, lambda rng, row: slips(rng, row, 0.1, 0.05))
    return one_table(rng, rows, who)


def households(rng: Rng) -> Case:
    """Families of one name, street, town and phone; a copy differs by slips, and a third of them has moved."""
    rows: list[Row] = []
    firsts = words(rng, 120, 1, 2)
    for head in people(rng, 350):
        year = int(str(head["born"])[:4])
        for n in range(int(rng.integers(1, 6))):
            born = f"{min(year + (0 if n < 2 else 25) + int(rng.integers(0, 8)), 2019)}"
            rows.append(head | {"first": common(rng, firsts), "born": born})
    others = people(rng, len(rows))

    def copy(rng: Rng, row: Row) -> Row:
        out = slips(rng, row, 0.12, 0.04)
        if rng.random() < 0.15:
            out |= {name: others[int(rng.integers(len(others)))][name] for name in ("street", "town", "phone")}
        return out

    rows, who = with_copies(rng, rows, 0.35, copy)
    return one_table(rng, rows, who)


def few_fields(rng: Rng) -> Case:
    """One row in three has nothing but a rare name."""
    rows = people(rng, 700)
    lasts = words(rng, 5000)
    for row in rows:
        row["last"] = lasts[int(rng.integers(len(lasts)))]
    rows, who = with_copies(rng, rows, 0.5, lambda rng, row: slips(rng, row, 0.08))
    for row in rows:
        if rng.random() < 0.33:
            row |= dict.fromkeys(("street", "town", "phone", "born"))
    return one_table(rng, rows, who)


def applicants(rng: Rng) -> Case:
    """Names of firms, up to three hundred rows for one, in many ways of writing."""
    forms = [("Incorporated", "Inc.", "Inc", ""), ("Limited", "Ltd.", "Ltd", ""), ("Corporation", "Corp.", "Corp", "")]
    trades = ("Systems", "Electric", "Chemical", "Motors", "Industries", "Pharma", "Semiconductor")
    rows: list[Row] = []
    who: list[int] = []
    names = words(rng, 300)
    for entity in range(250):
        parts = [names[entity], trades[int(rng.integers(len(trades)))]]
        form = forms[int(rng.integers(3))]
        many = 300 if entity < 4 else 60 if entity < 14 else int(rng.integers(1, 6))
        for _ in range(many):
            text = " ".join([*parts, form[int(rng.integers(4))]]).strip()
            if rng.random() < 0.3:
                text = typo(rng, text)
            if rng.random() < 0.2:
                text = text.upper()
            rows.append({"name": text})
            who.append(entity)
    return one_table(rng, rows, who)


GOODS = ("camera", "printer", "monitor", "speaker", "router", "keyboard", "charger", "headset", "scanner", "drive")


def goods(rng: Rng, count: int) -> list[dict[str, Any]]:
    """Series of models: the maker, the thing and most of the words are shared, the number differs by a digit."""
    makers, extra = words(rng, 30, 1, 2), [w.lower() for w in words(rng, 60, 1, 2)]
    out = []
    while len(out) < count:
        maker, thing = makers[int(rng.integers(len(makers)))], GOODS[int(rng.integers(len(GOODS)))]
        stem = "".join("ABCDEFGHKLMNPRSTVX"[i] for i in rng.integers(0, 18, 2))
        first, plain = int(rng.integers(10, 90)) * 10, [extra[i] for i in rng.integers(0, 60, 3)]
        for n in range(int(rng.integers(2, 7))):
            out.append({"maker": maker, "thing": thing, "model": f"{stem}{first + n}", "words": plain,
                        "price": float(np.round(np.exp(rng.normal(4.5, 0.8)), 2))})  # fmt: skip
    return out[:count]


def model_numbers(rng: Rng) -> Case:
    """Two shops whose goods come in series; the model number alone tells one from the next."""
    things = goods(rng, 900)
    left = [{"title": f"{t['maker']} {t['model']} {' '.join(t['words'])} {t['thing']}", "price": f"{t['price']}"}
            for t in things[:600]]  # fmt: skip
    right = []
    for t in things[300:]:
        model = t["model"] if rng.random() < 0.7 else f"{t['model'][:2]}-{t['model'][2:]}"
        shown = [w for w in t["words"] if rng.random() < 0.7]
        price = t["price"] * float(np.exp(rng.normal(0, 0.05)))
        right.append({"title": f"{t['thing']} {t['maker']} {' '.join(shown)} {model}", "price": f"{price:.2f}"})
    return two_tables(rng, (left, list(range(600))), (right, list(range(300, 900))))


def model_elsewhere(rng: Rng) -> Case:
    """Two shops: one has the model number in a column, the other in the title or nowhere; titles name other features."""
    things = goods(rng, 900)
    extra = [w.lower() for w in words(rng, 60, 1, 2)]

    def title(t: dict[str, Any], *more: str) -> str:
        shown = [w for w in t["words"] if rng.random() < 0.5]
        return " ".join([t["maker"], *shown, *(extra[i] for i in rng.integers(0, 60, 2)), t["thing"], *more])

    left = [{"title": title(t), "model": t["model"]} for t in things[:600]]
    right: list[Row] = []
    for t in things[300:]:
        where = rng.random()
        right.append({"title": title(t, t["model"]) if where < 0.7 else title(t),
                      "model": t["model"] if 0.6 < where < 0.9 else None})  # fmt: skip
    return two_tables(rng, (left, list(range(600))), (right, list(range(300, 900))))


def one_name(rng: Rng) -> Case:
    """One column of company names: common words in other combinations, legal forms that vary, slips."""
    vocabulary, trades = [w.lower() for w in words(rng, 1500)], words(rng, 15)
    forms = (("Inc", "Incorporated"), ("Ltd", "Limited"), ("Corp", "Corporation"))
    rows: list[Row] = []
    who: list[int] = []
    for entity in range(1200):
        parts = [common(rng, vocabulary) for _ in range(int(rng.integers(1, 3)))]
        if rng.random() < 0.7:
            parts.append(trades[int(rng.integers(15))])
        form = forms[int(rng.integers(3))]
        for copy in range(1 + (rng.random() < 0.25)):
            name = " ".join(parts)
            rows.append({"name": f"{typo(rng, name) if copy and rng.random() < 0.3 else name} {form[copy]}"})
            who.append(entity)
    return one_table(rng, rows, who)


def units(rng: Rng) -> Case:
    """Goods in several sizes: 16 GB is 16GB and not 32 GB; 1 TB is 1000 GB; inches have a sign."""
    names = words(rng, 150)
    sizes = [(8, "GB"), (16, "GB"), (32, "GB"), (64, "GB"), (1000, "GB"), (2000, "GB")]
    things = [(n, s) for n in names for s in sizes if rng.random() < 0.5]
    ways = (
        lambda v, u: f"{v} {u}",
        lambda v, u: f"{v}{u}",
        lambda v, u: f"{v // 1000}TB" if v >= 1000 else f"{v}{u.lower()}",
    )

    def row(t: tuple[str, tuple[int, str]]) -> Row:
        extra = ("usb flash memory", "flash memory stick", "usb stick")[int(rng.integers(3))]
        return {"title": f"{t[0]} {ways[int(rng.integers(3))](*t[1])} {extra}"}

    half = len(things) // 3
    left, right = list(range(2 * half)), list(range(half, len(things)))
    return two_tables(rng, ([row(things[i]) for i in left], left), ([row(things[i]) for i in right], right))


def lists(rng: Rng) -> Case:
    """Films with their actors, in another order, cut off or with others, and separated otherwise."""
    firsts, lasts = words(rng, 60, 1, 2), words(rng, 200)
    titles = [w.lower() for w in words(rng, 60)]
    films = [
        (" ".join(titles[i] for i in rng.integers(0, 60, 2)), str(rng.integers(1950, 2020)),
         [f"{firsts[rng.integers(60)]} {lasts[rng.integers(200)]}" for _ in range(int(rng.integers(3, 7)))])
        for _ in range(700)
    ]  # fmt: skip

    def row(film: tuple[str, str, list[str]], mark: str) -> Row:
        cast = [film[2][i] for i in rng.permutation(len(film[2]))][: int(rng.integers(2, 7))]
        year = film[1] if rng.random() < 0.8 else str(int(film[1]) + 1)
        title = film[0] if rng.random() < 0.9 else film[0].split()[0]
        return {"title": title, "year": year, "cast": mark.join(cast)}

    left, right = list(range(450)), list(range(250, 700))
    return two_tables(rng, ([row(films[i], ", ") for i in left], left), ([row(films[i], "|") for i in right], right))


def swapped(rng: Rng) -> Case:
    """First and last name in the wrong columns in one copy of five; street and town in one of ten."""

    def copy(rng: Rng, row: Row) -> Row:
        out = slips(rng, row, 0.1, 0.05)
        if rng.random() < 0.2:
            out["first"], out["last"] = out["last"], out["first"]
        if rng.random() < 0.1:
            out["street"], out["town"] = out["town"], out["street"]
        if rng.random() < 0.3:
            out["phone"] = None
        if rng.random() < 0.3:
            out["born"] = None
        return out

    rows, who = with_copies(rng, people(rng, 800), 0.5, copy)
    return one_table(rng, rows, who)


def versions(rng: Rng) -> Case:
    """A clean bibliography, and a crawl with none to six versions of each paper."""
    vocabulary, lasts = [w.lower() for w in words(rng, 300)], words(rng, 300)
    papers = [
        {"title": " ".join(common(rng, vocabulary) for _ in range(int(rng.integers(4, 9)))),
         "authors": ", ".join(f"{word(rng, 1, 1)[0].upper()}. {common(rng, lasts)}" for _ in range(int(rng.integers(1, 4)))),
         "year": str(rng.integers(1985, 2005)), "venue": common(rng, vocabulary[:20])}
        for _ in range(900)
    ]  # fmt: skip
    right: list[Row] = []
    who: list[int] = []
    for entity in range(300, 900):
        for _ in range(int(rng.choice([0, 1, 1, 2, 3, 4, 6]))):
            right.append(slips(rng, papers[entity], 0.25, 0.15))
            who.append(entity)
    return two_tables(rng, ([dict(p) for p in papers[:600]], list(range(600))), (right, who))


def unequal(rng: Rng) -> Case:
    """A small shop against a large one; most goods of the large one are not in the small one."""
    things = goods(rng, 5200)
    order = rng.permutation(5200)

    def row(t: dict[str, Any], *, long: bool) -> Row:
        shown = [w for w in t["words"] if rng.random() < 0.8]
        title = f"{t['maker']} {' '.join(shown)} {t['thing']} {t['model']}"
        return {"title": title if long else f"{t['maker']} {t['model']} {t['thing']}", "brand": t["maker"],
                "price": f"{t['price'] * float(np.exp(rng.normal(0, 0.1))):.2f}"}  # fmt: skip

    left, right = order[:500].tolist(), [*order[200:500].tolist(), *order[500:].tolist()]
    return two_tables(rng, ([row(things[i], long=False) for i in left], left),
                      ([row(things[i], long=True) for i in right], right))  # fmt: skip


CASES: dict[str, Callable[[Rng], Case]] = {
    draw.__name__: draw
    for draw in (
        wide,
        households,
        few_fields,
        applicants,
        model_numbers,
        model_elsewhere,
        one_name,
        units,
        lists,
        swapped,
        versions,
        unequal,
    )
}


def phones(rng: Rng) -> Case:
    """Phone numbers with and without country and separators, dates in five orders, mail addresses with aliases."""
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    rows = []
    for row in people(rng, 700):
        first, last = str(row["first"]).lower(), str(row["last"]).lower()
        row["mail"] = f"{first}.{last}{rng.integers(1, 99)}@example.com"
        rows.append({name: row[name] for name in ("first", "last", "phone", "born", "mail")})

    def copy(rng: Rng, row: Row) -> Row:
        out = slips(rng, {n: row[n] for n in ("first", "last")}, 0.15)
        number, (year, month, day) = str(row["phone"]), str(row["born"]).split("-")
        ways = (
            f"+44 {number[1:]}",
            f"0044{number[1:]}",
            f"{number[:5]} {number[5:]}",
            f"({number[:3]}) {number[3:6]}-{number[6:]}",
        )
        dates = (f"{day}/{month}/{year}", f"{day}.{month}.{year}", f"{int(day)} {months[int(month) - 1]} {year}",
                 f"{year}{month}{day}", f"{months[int(month) - 1]} {int(day)}, {year}")  # fmt: skip
        name, host = str(row["mail"]).split("@")
        mails = (f"{name}+shop@{host}", f"{name.upper()}@{host}", f"{name}@googlemail.com")
        out |= {
            "phone": ways[int(rng.integers(4))],
            "born": dates[int(rng.integers(5))],
            "mail": mails[int(rng.integers(3))],
        }
        return {n: None if rng.random() < 0.15 else v for n, v in out.items()}

    rows, who = with_copies(rng, rows, 0.5, copy)
    return one_table(rng, rows, who)


def firms(rng: Rng) -> Case:
    """Companies with legal forms, and addresses with abbreviations."""
    forms = (
        ("Limited", "Ltd."),
        ("Incorporated", "Inc"),
        ("Gesellschaft mbH", "GmbH"),
        ("Public Limited Company", "PLC"),
    )
    kinds = (("Street", "St."), ("Road", "Rd"), ("Avenue", "Ave."), ("Boulevard", "Blvd"))
    names, trades, streets, towns = words(rng, 600), words(rng, 30), words(rng, 300), words(rng, 40)
    rows: list[Row] = []
    parts = []
    for n in range(600):
        form, kind = int(rng.integers(4)), int(rng.integers(4))
        number, street = rng.integers(1, 200), common(rng, streets)
        parts.append((form, kind))
        rows.append({"firm": f"{names[n]} {common(rng, trades)} {forms[form][0]}",
                     "address": f"{number} {street} {kinds[kind][0]}", "town": common(rng, towns)})  # fmt: skip
    out, who = list(rows), list(range(600))
    for n in np.flatnonzero(rng.random(600) < 0.5).tolist():
        form, kind = parts[n]
        row = slips(rng, rows[n], 0.1, 0.03)
        firm = None if row["firm"] is None else row["firm"].replace(*forms[form])
        address = None if row["address"] is None else row["address"].replace(*kinds[kind])
        out.append({"firm": firm and (firm if rng.random() < 0.8 else firm.rsplit(" ", 1)[0]), "address": address,
                    "town": row["town"]})  # fmt: skip
        who.append(n)
    return one_table(rng, out, who)


def transliterated(rng: Rng) -> Case:
    """Two registers of one kind of people: names with and without accents, umlauts written as two letters."""
    accents = str.maketrans({"a": "á", "e": "é", "o": "ö", "u": "ü"})
    long = str.maketrans({"ö": "oe", "ü": "ue", "á": "a", "é": "e"})

    def marked(text: str) -> str:
        return "".join(c.translate(accents) if rng.random() < 0.3 else c for c in text)

    rows = [row | {"first": marked(str(row["first"])), "last": marked(str(row["last"]))} for row in people(rng, 900)]

    def other(row: Row) -> Row:
        plain = {n: str(row[n]).translate(long) for n in ("first", "last")} if rng.random() < 0.6 else {}
        return slips(rng, row | plain, 0.08, 0.08)

    left, right = list(range(600)), list(range(300, 900))
    return two_tables(rng, ([rows[i] for i in left], left), ([other(rows[i]) for i in right], right))


CASES |= {draw.__name__: draw for draw in (phones, firms, transliterated)}
