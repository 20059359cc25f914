"""Golden values: what texts hash to, and what their signatures and band keys are, under every scheme.

They are part of the schemes' promise: a signature kept on disk today must compare with one made tomorrow. Run by hand,
only when a scheme with a new name is added: `python tests/golden/make.py` writes values.json again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.core.arrays import Recipe, ShingleRule
from lookalike.core.exact_duplicates import fingerprints
from lookalike.kernels.unicode import unicode_version
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import band_keys, sketch
from lookalike.kinds.documents.weighted_minhash import WeightedMinHash

FILE = Path(__file__).with_name("values.json")
TEXTS = [
    "",
    "A rose is a rose is a rose.",
    "Die Straße heißt STRASSE;\r\nÉté, e\u0301te\u0301!",
    "漢字とか\u3099な ไทย हिन्दी \U0001f600",
    "\0 tab\tand\xa0space\n\n  last line  ",
]
TOKENS = [[], ["rose", "is", "", "rose"], ["Straße", "字", "\0"]]
WEIGHTS: list[Any] = [{}, {"rose": 2.0, "Straße": 0.25}, [0, 1e-12, 3, 1e300]]
NUMBERS = [[], [0, 1, -1, 2**63 - 1, -(2**63)], [7, 7, 7]]
RULES: dict[str, ShingleRule] = {
    "words": ShingleRule(k=2),
    "words as they are, in 32 bits": ShingleRule(k=1, fold_case=False, hash_bits=32),
    "words in a bag, without accents": ShingleRule(k=1, bag=True, strip_accents=True, normalize="NFKC"),
    "characters": ShingleRule(unit="char", k=5),
    "characters without punctuation, unsqueezed": ShingleRule(
        unit="char", k=9, ignore_punctuation=True, squeeze_space=False, normalize="NFC"
    ),
    "bytes": ShingleRule(unit="byte", k=9),
    "lines": ShingleRule(unit="line", k=1),
}


def golden() -> dict[str, Any]:
    """Everything that must not change, in plain lists and whole numbers."""
    sets = {name: shingle(pa.array(TEXTS, pa.large_string()), rule) for name, rule in RULES.items()}
    lists = ShingleRule(unit="token", k=2)
    sets["tokens"] = shingle(pa.array(TOKENS, pa.large_list(pa.large_string())), lists)
    sets["numbers"] = shingle(pa.array(NUMBERS, pa.large_list(pa.int64())), lists)
    recipes = [Recipe(length=8), Recipe(length=8, seed=2**64 - 1), Recipe(scheme="minhash-1", length=8)]
    made = [sketch(sets["words"], recipe) for recipe in recipes]
    return {
        "unicode": unicode_version(),
        "elements": {name: [s[i].tolist() for i in range(len(s))] for name, s in sets.items()},
        "fingerprints": fingerprints(sets["words"]).tolist(),
        "signatures": {f"{s.recipe.scheme}, seed {s.recipe.seed}": s.values.tolist() for s in made},
        "band keys": band_keys(made[0], 4, 2).tolist(),
        "weighted signatures": [WeightedMinHash(weights, 8).digest().tolist() for weights in WEIGHTS],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1) + "\n")
