"""Write the inputs and the expected answers of `lookalike selftest`: python scripts/make_selftest.py

Run it only when an answer is meant to change; the difference of the files is then part of the review.
"""

from __future__ import annotations

import json
import random

from lookalike.cli.selftest import SELFTEST_CASES, SHIPPED_ANSWERS, SHIPPED_INPUTS, answer_of

SYLLABLES = ("ka", "mi", "to", "su", "re", "no", "li", "va", "ß", "é", "漢", "Ö")


def main() -> None:
    draw = random.Random(20261119)
    SHIPPED_ANSWERS.mkdir(parents=True, exist_ok=True)

    def word() -> str:
        return "".join(draw.choices(SYLLABLES, k=draw.randrange(1, 4)))

    words = [word() for _ in range(60)]
    texts = [" ".join(draw.choices(words, k=draw.randrange(5, 60))) for _ in range(50)]
    for number in range(30):
        source = texts[draw.randrange(50)].split(" ")
        for _ in range(draw.randrange(4)):
            source[draw.randrange(len(source))] = draw.choice(words)
        cut = source[draw.randrange(3) : len(source) - draw.randrange(3)]
        texts.append(
            " ".join(cut).upper() if number % 7 == 0 else ", ".join([" ".join(cut), *draw.choices(words, k=2)])
        )
    texts += ["", texts[3], texts[3]]
    rows = [json.dumps({"id": f"t{number}", "text": text}, ensure_ascii=False) for number, text in enumerate(texts)]
    (SHIPPED_INPUTS / "texts.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    names = [word() + " " + word() for _ in range(60)]
    names += [name[:at] + draw.choice(SYLLABLES) + name[at + 1 :] for name in names[:40] for at in [draw.randrange(3)]]
    lines = [f"n{number},{name}" for number, name in enumerate(names)]
    (SHIPPED_INPUTS / "names.csv").write_text("\n".join(["id,name", *lines]) + "\n", encoding="utf-8")
    sales = sorted({(f"c{draw.randrange(40)}", f"p{draw.randrange(12)}") for _ in range(240)})
    lines = [",".join(sale) for sale in sales]
    (SHIPPED_INPUTS / "sales.csv").write_text("\n".join(["customer,product", *lines]) + "\n", encoding="utf-8")
    codes = [draw.getrandbits(64) for _ in range(60)]
    codes += [code ^ (1 << draw.randrange(64)) ^ (1 << draw.randrange(64)) for code in codes[:30]]
    lines = [f"{number},{code:016x}" for number, code in enumerate(codes)]
    (SHIPPED_INPUTS / "codes.csv").write_text("\n".join(["id,code", *lines]) + "\n", encoding="utf-8")
    for case in SELFTEST_CASES:
        (SHIPPED_ANSWERS / f"{case.name.replace(', ', '-')}.csv").write_bytes(answer_of(case))


if __name__ == "__main__":
    main()
