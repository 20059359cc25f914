"""The specification of a run over bit codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import DISTANCE, Scale
from lookalike.core.options import check_values, declared, defaults
from lookalike.core.run_options import RowMethod
from lookalike.errors import UsageError
from lookalike.kinds.bits.options import BitsOptions

CODE_DEFAULTS = defaults(BitsOptions)


@dataclass(frozen=True, kw_only=True)
class BitsJob:
    """The options that determine the result (and `threads`, which does not). threshold: bits that may differ."""

    noun: ClassVar[str] = "codes"
    scale: ClassVar[Scale] = DISTANCE
    verify: ClassVar[bool] = True

    threshold: int = CODE_DEFAULTS["max_bits"]
    method: RowMethod = CODE_DEFAULTS["method"]
    recall: float = CODE_DEFAULTS["recall"]
    seed: int = CODE_DEFAULTS["seed"]
    max_pairs: int = CODE_DEFAULTS["max_pairs"]
    audit: int = CODE_DEFAULTS["audit"]
    threads: int | None = CODE_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(BitsOptions, self.__dict__, threshold="max_bits")
        if self.threshold != int(self.threshold):
            raise UsageError(
                f"max_bits is {self.threshold}; expected {declared(BitsOptions)['max_bits'].option.words()}."
            )
        object.__setattr__(self, "threshold", int(self.threshold))

    def words(self) -> str:
        return f"at most {self.threshold} {'bit differs' if self.threshold == 1 else 'bits differ'}"

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "measure": "hamming"}
