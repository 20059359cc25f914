"""Generated sets in the shapes of well-known public ones: bibliographies, shops, songs, beers, voters, censuses, films.

What makes those hard is imitated, not their data: sources that write the same thing in different words and lengths,
fields that one source never fills, series of things that differ by one number, families under one roof, an original
with its live version, one entity with hundreds of rows. Shapes are in two halves: defaults are chosen by looking at
those of the first (`development`) alone; the second (`held_out`) is for one look at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from strangers import CYRILLIC, GERMAN, GREEK, SPANISH, Mistakes, Row, Words, spoken, stray, table_of
from unseen_sets import Task, same

Rng = np.random.Generator
Draw = Callable[[Rng], tuple[list[list[Row]], list[list[int]]]]  # rows of each table, and who each of them is
SLIPS = Mistakes(typo=0.08, missing=0.0, shouted=0.05, folded=0.1)
ENGLISH = ("b br c ch d f g gr h j l m n p r s st t th tr w", "a e i o u ea oo ai", "n r l t s nd ck ng y er ton ley")
VOLUMES = ("vol", "no", "part", "issue")


@dataclass(frozen=True)
class Shape:
    """A kind of set. draw: from a seed's numbers."""

    name: str
    draw: Draw

    def task(self, seed: int) -> Task:
        rng = np.random.default_rng([seed, *self.name.encode()])
        parts, who = self.draw(rng)
        tables = []
        for number, rows in enumerate(parts):
            order = rng.permutation(len(rows))
            tables.append(table_of([rows[i] for i in order]))
            who[number] = [who[number][i] for i in order]
        ids = [[str(n) for n in table["id"].to_pylist()] for table in tables]
        if len(tables) == 1:
            return Task(self.name, tables, same(ids[0], list(who[0])))
        of: dict[int, list[str]] = {}
        for one, entity in zip(ids[0], who[0], strict=True):
            of.setdefault(entity, []).append(one)
        truth = {(a, b) for b, entity in zip(ids[1], who[1], strict=True) for a in of.get(entity, ())}
        return Task(self.name, tables, truth)


def chance(rng: Rng, p: float) -> bool:
    return bool(rng.random() < p)


def written(rng: Rng, row: Row, mistakes: Mistakes, **missing: float) -> Row:
    """The row as a source writes it: with its mistakes, and fields that it leaves out so often."""
    out: Row = {}
    for name, value in row.items():
        out[name] = None if value is None or chance(rng, missing.get(name, 0.0)) else stray(rng, value, mistakes)
    return out


def overlapping(rng: Rng, first: int, second: int, both: int) -> tuple[list[int], list[int]]:
    """Which entities two tables hold."""
    entities = rng.permutation(first + second - both).tolist()
    return entities[:first], [*entities[:both], *entities[first:]]


# --- papers ---------------------------------------------------------------------------------------------------------


def _papers(rng: Rng, count: int) -> list[Row]:
    """Titles of common words; one in twelve is a later part or a journal version of another."""
    words = Words(rng, spoken(rng, *ENGLISH, 1200, (1, 3)), 1.0)
    given, family = (Words(rng, spoken(rng, *ENGLISH, n, (1, 2)), 0.7) for n in (150, 1800))
    venues = Words(rng, [words.several(3, 6) for _ in range(40)], 0.8)
    made: list[Row] = []
    for _ in range(count):
        authors = ", ".join(f"{given()} {family()}" for _ in range(rng.integers(1, 5)))
        title, venue, year = words.several(4, 11), venues(), int(rng.integers(1990, 2012))
        if made and chance(rng, 0.08):
            other = made[int(rng.integers(len(made)))]
            title, authors = f"{other['title']} {words()}", str(other["authors"])
        made.append({"title": title, "authors": authors, "venue": venue, "year": str(year)})
    return made


def scholar(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """A clean bibliography, and what a crawler made of citations: none to six of each, cut, garbled, half empty."""
    entities = _papers(rng, 2600)
    clean = [dict(row) for row in entities[:1300]]
    dirty: list[Row] = []
    who: list[int] = []
    mess = Mistakes(typo=0.2, initials=0.0, dropped=0.15, cut=0.12, shuffled=0.02)
    for entity, row in enumerate(entities):
        for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3, 6])) if entity < 900 else int(rng.integers(1, 3))):
            copy = written(rng, row, mess, venue=0.3, year=0.45, authors=0.05)
            if copy["authors"]:
                copy["authors"] = ", ".join(
                    f"{p.split()[0][0]} {p.split()[-1]}" for p in copy["authors"].split(", ") if p.split()
                )
            if copy["venue"] and chance(rng, 0.6):
                copy["venue"] = " ".join(w[: int(rng.integers(3, 6))] for w in copy["venue"].split())
            if copy["title"]:
                dirty.append(copy)
                who.append(entity)
    return [clean, dirty], [list(range(1300)), who]


def citations(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """One table of references, a few papers cited up to two hundred times each (as Cora is)."""
    entities = _papers(rng, 180)
    rows: list[Row] = []
    who: list[int] = []
    mess = Mistakes(typo=0.12, dropped=0.1, cut=0.05)
    for entity, row in enumerate(entities):
        for _ in range(1 + int(min(rng.pareto(0.7) * 3, 200))):
            copy = written(rng, row, mess, venue=0.25, year=0.3)
            if copy["authors"] and chance(rng, 0.6):
                copy["authors"] = " and ".join(
                    f"{p.split()[0][0]}. {p.split()[-1]}" for p in copy["authors"].split(", ") if p.split()
                )
            copy["volume"] = f"{VOLUMES[rng.integers(4)]} {entity % 37}" if chance(rng, 0.4) else None
            rows.append(copy)
            who.append(entity)
    return [rows], [who]


# --- things for sale ------------------------------------------------------------------------------------------------


def _goods(rng: Rng, count: int) -> list[dict[str, str]]:
    """Things in series: the next model differs by a digit or a colour."""
    makers = Words(rng, spoken(rng, *ENGLISH, 90, (1, 2)), 0.9)
    things, kinds = (Words(rng, spoken(rng, *ENGLISH, n, (1, 2)), 0.8) for n in (120, 25))
    more = Words(rng, spoken(rng, *ENGLISH, 1800, (1, 3)), 1.0)
    colours = ["black", "white", "silver", "blue", "red", "pink", "grey"]
    made: list[dict[str, str]] = []
    while len(made) < count:
        maker, thing, kind = makers(), things.several(1, 2), kinds()
        stem = "".join(chr(65 + rng.integers(26)) for _ in range(rng.integers(1, 4)))
        number, features = int(rng.integers(10, 9000)), more.several(2, 6)
        base = float(np.exp(rng.normal(4.5, 1.0)))
        for step in range(int(rng.choice([1, 1, 1, 2, 3, 5]))):
            if chance(rng, 0.3):
                features = f"{features} {more()}"
            made.append(
                {
                    "maker": maker,
                    "thing": thing,
                    "kind": kind,
                    "model": f"{stem}{number + 10 * step}",
                    "colour": colours[int(rng.integers(7))],
                    "features": features,
                    "text": more.several(8, 30),
                    "price": f"{base * (1 + 0.2 * step):.2f}",
                }
            )
    return made[:count]


def electronics(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two shops: one writes long titles with the model inside, the other has a column for it that is often empty."""
    goods = _goods(rng, 3300)
    one, other = overlapping(rng, 1400, 2600, 700)
    left: list[Row] = []
    right: list[Row] = []
    for e in one:
        g = goods[e]
        left.append(
            written(
                rng,
                {
                    "title": f"{g['maker']} {g['features']} {g['thing']} {g['colour']}",
                    "category": g["kind"],
                    "brand": g["maker"],
                    "modelno": g["model"],
                    "price": g["price"],
                },
                SLIPS,
                modelno=0.1,
                price=0.1,
            )
        )
    boast = ["new", "original", "genuine", "warranty", "retail", "box", "pack"]
    for e in other:
        g = goods[e]
        features = " ".join(g["features"].split()[: int(rng.integers(1, 4))])
        model = g["model"] if chance(rng, 0.65) else ""
        title = f"{g['maker']} {g['thing']} {features} {model} {boast[int(rng.integers(7))]}"
        price = f"{float(g['price']) * rng.uniform(0.7, 1.3):.2f}"
        right.append(
            written(
                rng,
                {
                    "title": title,
                    "category": g["kind"] if chance(rng, 0.3) else g["thing"].split()[0],
                    "brand": g["maker"],
                    "modelno": g["model"],
                    "price": price,
                },
                SLIPS,
                modelno=0.5,
                price=0.2,
                brand=0.1,
            )
        )
    return [left, right], [one, other]


def software(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Titles with versions and editions; the other shop has few makers and other descriptions."""
    makers = Words(rng, spoken(rng, *ENGLISH, 220, (1, 2)), 0.9)
    words = Words(rng, spoken(rng, *ENGLISH, 700, (1, 2)), 0.9)
    more = Words(rng, spoken(rng, *ENGLISH, 2500, (1, 3)), 1.0)
    editions = ["standard", "professional", "deluxe", "premium", "upgrade", "academic", "home"]
    goods: list[dict[str, str]] = []
    while len(goods) < 3000:
        maker, name, text, price = makers(), words.several(1, 3), more.several(10, 40), float(np.exp(rng.normal(4, 1)))
        version = int(rng.integers(1, 12))
        for step in range(int(rng.choice([1, 1, 2, 3, 4]))):
            goods.append(
                {
                    "maker": maker,
                    "name": name,
                    "version": f"{version + (step // 2)}.0",
                    "edition": editions[(step + version) % 7],
                    "text": text,
                    "price": f"{price * (1 + step):.2f}",
                }
            )
    one, other = overlapping(rng, 1200, 2200, 1000)
    left = [
        written(
            rng,
            {
                "name": f"{g['name']} {g['version']} {g['edition']}",
                "description": g["text"],
                "manufacturer": g["maker"],
                "price": g["price"],
            },
            SLIPS,
            description=0.1,
        )
        for g in (goods[e] for e in one)
    ]
    right = []
    for e in other:
        g = goods[e]
        version = g["version"] if chance(rng, 0.7) else g["version"].split(".")[0]
        maker, edition = (g[part] if chance(rng, 0.7) else "" for part in ("maker", "edition"))
        name = f"{maker} {g['name']} {version if chance(rng, 0.85) else ''} {edition}"
        text = " ".join(g["text"].split()[: int(rng.integers(3, 12))]) if chance(rng, 0.5) else more.several(5, 15)
        right.append(
            written(
                rng,
                {
                    "name": name,
                    "description": text,
                    "manufacturer": g["maker"],
                    "price": f"{float(g['price']) * rng.uniform(0.6, 1.1):.2f}",
                },
                SLIPS,
                description=0.2,
                manufacturer=0.85,
            )
        )
    return [left, right], [one, other]


def two_shops(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """The goods of two shops in one table."""
    parts, who = electronics(rng)
    return [[*parts[0], *parts[1]]], [[*who[0], *who[1]]]


def offers(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """One table of offers of many shops: titles only, one to nine of each thing (as the product corpora of the web)."""
    rows: list[Row] = []
    who: list[int] = []
    shops = [spoken(rng, *ENGLISH, 4, (1, 2)) for _ in range(20)]
    for entity, g in enumerate(_goods(rng, 700)):
        for _ in range(int(rng.choice([1, 1, 2, 3, 5, 9]))):
            parts = [g["maker"], g["thing"], g["model"], *g["features"].split()[: int(rng.integers(1, 5))]]
            if chance(rng, 0.4):
                parts.append(g["colour"])
            if chance(rng, 0.5):
                parts.append(str(rng.choice(shops[int(rng.integers(20))])))
            rows.append(
                {"title": stray(rng, " ".join(parts), Mistakes(typo=0.1, missing=0, dropped=0.1, shuffled=0.3))}
            )
            who.append(entity)
    return [rows], [who]


# --- songs, films, beers --------------------------------------------------------------------------------------------


def songs(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two shops of songs. The same song is on several albums, an album has a dozen songs, all with one price."""
    words = Words(rng, spoken(rng, *ENGLISH, 900, (1, 2)), 0.9)
    singers = [words.several(1, 3) for _ in range(250)]
    genres = ["pop", "rock", "hip-hop rap", "country", "dance electronic"]
    entities: list[Row] = []
    for _ in range(420):
        singer, album, year = singers[int(rng.integers(250))], words.several(1, 4), int(rng.integers(1995, 2016))
        genre, label = genres[int(rng.integers(5))], f"{year} {words()} records"
        names = [words.several(1, 4) for _ in range(int(rng.integers(5, 14)))]
        for name in names:
            length = int(rng.integers(120, 420))
            row: Row = {
                "song": name,
                "artist": singer,
                "album": album,
                "genre": genre,
                "copyright": label,
                "time": f"{length // 60}:{length % 60:02d}",
                "released": f"{year}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
            }
            entities.append(row)
            if chance(rng, 0.1):
                entities.append(row | {"album": f"{album} deluxe edition"})
            if chance(rng, 0.08):
                entities.append(row | {"song": f"{name} live", "time": f"{length // 60 + 1}:{length % 60:02d}"})
    one, other = overlapping(rng, 1500, min(2500, len(entities) - 900), 900)
    left = [written(rng, entities[e], SLIPS, genre=0.05) for e in one]
    right = []
    for e in other:
        row = dict(entities[e])
        if chance(rng, 0.3):
            row["song"] = f"{row['song']} [explicit]"
        if chance(rng, 0.2):
            row["artist"] = f"{row['artist']} feat {singers[int(rng.integers(250))]}"
        if chance(rng, 0.3):
            row["copyright"] = f"(c) {row['copyright']} all rights reserved"
        right.append(written(rng, row, SLIPS, genre=0.3, copyright=0.1, released=0.1))
    return [left, right], [one, other]


def sources(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Five sources of songs in one table: one to five rows of each, every source with its own way of writing."""
    words = Words(rng, spoken(rng, *ENGLISH, 1500, (1, 3)), 0.9)
    singers, albums = [words.several(1, 3) for _ in range(500)], [words.several(1, 4) for _ in range(700)]
    languages = ["english", "german", "french", "unknown"]
    rows: list[Row] = []
    who: list[int] = []
    for entity in range(1800):
        number, length, year = int(rng.integers(1, 20)), int(rng.integers(100, 500)), int(rng.integers(1960, 2015))
        title, singer, album = words.several(1, 5), singers[int(rng.integers(500))], albums[int(rng.integers(700))]
        language = languages[int(rng.integers(4))]
        for source in rng.permutation(5)[: int(rng.choice([1, 1, 2, 3, 5]))].tolist():
            name = {0: title, 1: f"{number:03d}-{title}", 2: f"{title} - {album}", 3: title, 4: f"{title} ({album})"}[
                source
            ]
            row: Row = {
                "number": str(number),
                "title": name,
                "artist": singer if source != 2 else ", ".join(reversed(singer.split(" ", 1))),
                "length": f"{length // 60}m {length % 60}sec" if source % 2 else str(length * 1000),
                "album": album,
                "year": str(year) if source < 3 else f"'{year % 100:02d}",
                "language": language if source != 3 else language[:3],
            }
            rows.append(
                written(
                    rng,
                    row,
                    Mistakes(typo=0.3, missing=0.0, dropped=0.03),
                    number=0.2,
                    year=0.2,
                    language=0.2,
                    length=0.1,
                    album=0.1,
                )
            )
            who.append(entity)
    return [rows], [who]


def beers(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two lists of beers: the brewery is in the name of one, styles are named differently, strength is a number."""
    words = Words(rng, spoken(rng, *ENGLISH, 500, (1, 2)), 0.8)
    styles = ["american ipa", "stout", "amber ale", "red ale", "pilsner", "porter", "wheat beer", "barley wine"]
    others = ["india pale ale", "sweet stout", "amber", "irish ale", "pilsener", "porter", "hefeweizen", "barleywine"]
    entities: list[tuple[str, str, int, float]] = []
    for _ in range(700):
        brewery = f"{words.several(1, 2)} brewing company"
        for _ in range(int(rng.integers(1, 9))):
            style = int(rng.integers(8))
            name = f"{words.several(1, 2)} {styles[style] if chance(rng, 0.5) else words()}"
            entities.append((name, brewery, style, round(float(rng.normal(6, 1.5)), 1)))
    one, other = overlapping(rng, 1500, 1300, 400)
    left = [
        written(rng, {"beer": n, "brewery": b, "style": styles[s], "abv": f"{a:.2f}%"}, SLIPS, abv=0.1)
        for n, b, s, a in (entities[e] for e in one)
    ]
    right = []
    for e in other:
        n, b, s, a = entities[e]
        house = b.replace("company", "co") if chance(rng, 0.5) else b.replace(" company", "")
        right.append(
            written(
                rng,
                {
                    "beer": f"{b.split()[0]} {n}" if chance(rng, 0.5) else n,
                    "brewery": house,
                    "style": others[s],
                    "abv": f"{a:.1f}",
                },
                SLIPS,
                abv=0.15,
            )
        )
    return [left, right], [one, other]


def films(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two lists of films: remakes with the same title, sequels with a number, casts of which each names some."""
    words = Words(rng, spoken(rng, *ENGLISH, 900, (1, 2)), 1.0)
    people = [f"{words()} {words()}" for _ in range(2500)]
    entities: list[dict[str, object]] = []
    while len(entities) < 3200:
        title, year = words.several(1, 4), int(rng.integers(1940, 2015))
        for step in range(int(rng.choice([1, 1, 1, 1, 2, 3]))):
            name = title if step == 0 or chance(rng, 0.3) else f"{title} {step + 1}"
            entities.append(
                {
                    "title": name,
                    "year": year + step * int(rng.integers(1, 20)),
                    "director": people[int(rng.integers(2500))],
                    "cast": [people[i] for i in rng.integers(0, 2500, 6)],
                    "minutes": int(rng.integers(70, 180)),
                }
            )
    one, other = overlapping(rng, 1600, 1500, 800)

    def listed(e: int, cast: int, off: int) -> Row:
        f = entities[e]
        names = [str(p) for p in rng.permutation(f["cast"])[:cast]]  # type: ignore[arg-type]
        return {
            "title": str(f["title"]),
            "year": str(int(f["year"]) + int(rng.integers(-off, off + 1))),
            "director": str(f["director"]),  # type: ignore[call-overload]
            "actors": ", ".join(names),
            "minutes": str(int(f["minutes"]) + int(rng.integers(-3, 4))),
        }  # type: ignore[call-overload]

    left = [written(rng, listed(e, 4, 0), SLIPS, minutes=0.2) for e in one]
    right = [written(rng, listed(e, 3, 1), SLIPS, director=0.25, minutes=0.4, year=0.1) for e in other]
    return [left, right], [one, other]


# --- people ---------------------------------------------------------------------------------------------------------


def _households(rng: Rng, language: tuple[str, str, str], count: int, towns: int) -> list[Row]:
    """People who live together: the same family name, street, town and phone."""
    given, family = (
        Words(rng, spoken(rng, *language, 250, (1, 2)), 0.9),
        Words(rng, spoken(rng, *language, 2500, (1, 2)), 0.9),
    )
    streets, places = (Words(rng, spoken(rng, *language, n, (1, 3)), 0.8) for n in (600, towns))
    made: list[Row] = []
    while len(made) < count:
        name, home, town = family(), f"{rng.integers(1, 300)} {streets()} st", places()
        phone = f"{rng.integers(200, 999)}{rng.integers(10**6, 10**7)}"
        for _ in range(int(rng.choice([1, 1, 2, 3, 4]))):
            made.append(
                {
                    "first": given(),
                    "middle": given()[:1],
                    "last": name,
                    "sex": "MF"[int(rng.integers(2))],
                    "birth_year": str(rng.integers(1930, 2002)),
                    "street": home,
                    "city": town,
                    "zip": f"{27000 + sum(map(ord, town)) % 900}",
                    "phone": phone,
                }
            )
    return made[:count]


def census(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two counts of the same people, five short fields, households on one address."""
    people = _households(rng, GERMAN, 1100, 1)
    rows = [
        {
            "last": p["last"],
            "first": p["first"],
            "mi": p["middle"],
            "number": str(p["street"]).split()[0],
            "street": " ".join(str(p["street"]).split()[1:]),
        }
        for p in people
    ]
    one, other = overlapping(rng, 450, 400, 330)
    noise = Mistakes(typo=0.25, missing=0.05)
    return [[rows[e] for e in one], [written(rng, rows[e], noise, mi=0.3) for e in other]], [one, other]


def voters(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """A register with copies: moved, married, phone lost; families under one roof, fathers and sons of one name."""
    people = _households(rng, SPANISH, 6000, 60)
    rows: list[Row] = []
    who: list[int] = []
    for e, p in enumerate(people):
        rows.append(dict(p))
        who.append(e)
        if chance(rng, 0.25):
            copy = written(rng, p, Mistakes(typo=0.1, missing=0.02), phone=0.4, middle=0.3)
            if chance(rng, 0.25):
                elsewhere = people[int(rng.integers(len(people)))]
                copy |= {name: elsewhere[name] for name in ("street", "city", "zip", "phone")}
            if p["sex"] == "F" and chance(rng, 0.15):
                copy["last"] = people[int(rng.integers(len(people)))]["last"]
            rows.append(copy)
            who.append(e)
        if chance(rng, 0.02):  # a son with his father's name
            rows.append(p | {"birth_year": str(int(str(p["birth_year"])) + 28), "middle": "J"})
            who.append(len(people) + e)
    return [rows], [who]


def halves(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """A register with up to four copies of a person, parted at random: both tables hold copies."""
    people = _households(rng, GREEK, 1200, 40)
    noise = Mistakes(typo=0.15, missing=0.05)
    every = [
        (e, written(rng, p, noise, phone=0.2)) for e, p in enumerate(people) for _ in range(int(rng.integers(1, 5)))
    ]
    side = rng.random(len(every)) < 0.5
    parts = [[one for one, here in zip(every, side, strict=True) if here == first] for first in (True, False)]
    return [[row for _, row in part] for part in parts], [[e for e, _ in part] for part in parts]


def registers(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Two registers of other offices, columns in common but not all filled, 4 000 and 2 500 people, 1 500 in both."""
    people = _households(rng, CYRILLIC, 5000, 120)
    one, other = overlapping(rng, 4000, 2500, 1500)
    noise = Mistakes(typo=0.2, missing=0.03, initials=0.05)
    return [
        [dict(people[e]) for e in one],
        [written(rng, people[e], noise, phone=0.5, zip=0.2, middle=0.5) for e in other],
    ], [one, other]


def restaurants(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """One table of restaurants of two guides: abbreviated streets, other words for the kitchen, chains."""
    words = Words(rng, spoken(rng, *ENGLISH, 500, (1, 2)), 0.8)
    cities = ["new york", "los angeles", "san francisco", "atlanta", "las vegas"]
    kitchens = ["american", "italian", "french bistro", "asian", "mexican", "steakhouses", "delis"]
    rows: list[Row] = []
    who: list[int] = []
    chains = [f"{words()} {words()}" for _ in range(12)]
    for e in range(750):
        name = chains[int(rng.integers(12))] if chance(rng, 0.06) else f"{words.several(1, 3)}"
        street = f"{rng.integers(1, 9999)} {words()} {('street', 'avenue', 'boulevard', 'road')[int(rng.integers(4))]}"
        row: Row = {
            "name": name,
            "addr": street,
            "city": cities[int(rng.integers(5))],
            "type": kitchens[int(rng.integers(7))],
            "phone": f"{rng.integers(200, 999)}-{rng.integers(200, 999)}-{rng.integers(1000, 9999)}",
        }
        rows.append(row)
        who.append(e)
        if chance(rng, 0.15):
            short = street.replace("street", "st.").replace("avenue", "ave.").replace("boulevard", "blvd.")
            copy = written(rng, row | {"addr": short}, SLIPS)
            if chance(rng, 0.5):
                copy["type"] = kitchens[int(rng.integers(7))]
            if chance(rng, 0.2):
                copy["name"] = f"{copy['name']} {words()}"
            if chance(rng, 0.3) and copy["phone"]:
                copy["phone"] = copy["phone"].replace("-", "/", 1)
            rows.append(copy)
            who.append(e)
    return [rows], [who]


def inventors(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """Rows of patents: few prolific people with hundreds, who move, with titles that never repeat."""
    given, family = (
        Words(rng, spoken(rng, *GREEK, 120, (1, 2)), 0.9),
        Words(rng, spoken(rng, *GREEK, 1200, (1, 2)), 0.8),
    )
    words, places = (
        Words(rng, spoken(rng, *ENGLISH, 1500, (1, 3)), 1.0),
        Words(rng, spoken(rng, *ENGLISH, 150, (1, 2)), 1.0),
    )
    firms = Words(rng, [words.several(1, 3) + " corp" for _ in range(200)], 0.9)
    rows: list[Row] = []
    who: list[int] = []
    for e in range(500):
        first, middle, last, city, firm = given(), given()[:1], family(), places(), firms()
        friends = [f"{given()} {family()}" for _ in range(6)]
        topic = [words() for _ in range(8)]
        for _ in range(1 + int(min(rng.pareto(0.9) * 2, 250))):
            if chance(rng, 0.03):
                city, firm = places(), firms()
            rows.append(
                written(
                    rng,
                    {
                        "title": " ".join(rng.choice(topic, 3)) + " " + words.several(2, 5),
                        "first": f"{first} {middle}." if chance(rng, 0.6) else first,
                        "last": last,
                        "city": city,
                        "assignee": firm,
                        "coinventors": ", ".join(rng.permutation(friends)[: int(rng.integers(0, 4))]) or None,
                    },
                    Mistakes(typo=0.03, missing=0.01),
                    assignee=0.1,
                )
            )
            who.append(e)
    return [rows], [who]


# --- one column -----------------------------------------------------------------------------------------------------


def _names(rng: Rng, language: tuple[str, str, str], size: tuple[int, int], count: int, *, kinds: int) -> list[str]:
    """Names of things, of which many share a word that says what they are."""
    words = Words(rng, spoken(rng, *language, 2500, (1, 3)), 0.9)
    common = [words() for _ in range(kinds)]
    made: dict[str, None] = {}
    while len(made) < count:
        made[
            f"{words.several(*size)} {common[int(rng.integers(kinds))]}" if chance(rng, 0.7) else words.several(*size)
        ] = None
    return list(made)


def lists_of_names(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """One column in each of two tables: stadiums, ships, parties, with years or places that only one of them has."""
    names = _names(rng, ENGLISH, (1, 3), 2600, kinds=12)
    one, other = overlapping(rng, 2000, 900, 500)
    right: list[Row] = []
    for e in other:
        name = stray(rng, names[e], Mistakes(typo=0.15, missing=0, dropped=0.1, shuffled=0.05)) or names[e]
        if chance(rng, 0.3):
            name = f"{name} ({rng.integers(1900, 2020)})"
        right.append({"title": name})
    return [[{"title": names[e]} for e in one], right], [one, other]


def company_names(rng: Rng) -> tuple[list[list[Row]], list[list[int]]]:
    """One column of company names in one table, with legal forms, abbreviations and slips."""
    names = _names(rng, SPANISH, (1, 2), 2500, kinds=20)
    forms, long = ["inc", "ltd", "llc", "corp", "co"], ["incorporated", "limited", "llc", "corporation", "company"]
    rows: list[Row] = []
    who: list[int] = []
    for e, name in enumerate(names):
        form = int(rng.integers(5))
        rows.append({"company": f"{name} {forms[form]}"})
        who.append(e)
        if chance(rng, 0.3):
            tail = (long[form], forms[form], "")[int(rng.integers(3))]
            rows.append({"company": stray(rng, f"{name} {tail}", Mistakes(typo=0.3, missing=0, folded=0.3))})
            who.append(e)
    return [rows], [who]


def development() -> Iterator[Shape]:
    for draw in (scholar, citations, electronics, offers, beers, census, voters, halves, inventors, company_names):
        yield Shape(draw.__name__, draw)


def held_out() -> Iterator[Shape]:
    for draw in (software, two_shops, songs, sources, films, registers, restaurants, lists_of_names):
        yield Shape(draw.__name__, draw)
