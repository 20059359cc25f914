"""The specification of a run over images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import Scale
from lookalike.core.options import check_choice, check_values, declared, defaults
from lookalike.errors import UsageError
from lookalike.kinds.images.options import Hash, ImageOptions, Relation

IMAGE_DEFAULTS = defaults(ImageOptions)


@dataclass(frozen=True, kw_only=True)
class ImageJob:
    """The options that determine the result.

    Two pictures match if their hashes (as a whole, or of one picture and a crop in the other) differ in at most
    `threshold` of 64 bits (the mean of several hashes) and the correlation of their thumbnails is at least
    `min_likeness`. parts: the same is asked of the part that two pictures have in common, if enough local features
    agree on one similarity transform. orientations: pictures that are rotated by 90 degrees or mirrored match too.
    cache: the folder of the hashes of earlier runs; "none", or "" for the user's cache folder.
    """

    noun: ClassVar[str] = "images"
    scale: ClassVar[Scale] = Scale("bits", -1)
    verify: ClassVar[bool] = True

    threshold: float = IMAGE_DEFAULTS["max_bits"]
    hashes: tuple[Hash, ...] = IMAGE_DEFAULTS["hashes"]
    crops: bool = IMAGE_DEFAULTS["crops"]
    min_likeness: float = IMAGE_DEFAULTS["min_likeness"]
    parts: bool = True
    orientations: bool = IMAGE_DEFAULTS["orientations"]
    relations: tuple[Relation, ...] = IMAGE_DEFAULTS["relations"]
    cache: str = ""
    max_pairs: int = IMAGE_DEFAULTS["max_pairs"]
    threads: int | None = IMAGE_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        known = declared(ImageOptions)
        for name in self.hashes:
            check_choice("hash", name, known["hashes"].choices)
        for relation in self.relations:
            check_choice("relation", relation, known["relations"].choices)
        if not self.hashes:
            raise UsageError(f"no hash is given; expected one or more of {', '.join(known['hashes'].choices)}.")
        check_values(ImageOptions, self.__dict__, threshold="max_bits")
        if not float(self.threshold).is_integer():
            raise UsageError(f"max_bits is {self.threshold:g}; expected {known['max_bits'].option.words()}.")

    @property
    def bound(self) -> tuple[int, float]:
        """The largest number of bits and the smallest correlation of a match."""
        return int(self.threshold), self.min_likeness

    def words(self) -> str:
        also = [name for name in ("crops", "parts", "orientations") if getattr(self, name)]
        crops = f", also {', '.join(also)}" if also else ""
        names = " and ".join(self.hashes)
        return (
            f"{names} at most {self.threshold:g} of 64 bits apart{crops}, thumbnails alike from {self.min_likeness:g}"
        )

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "hashes": list(self.hashes), "relations": list(self.relations)}
