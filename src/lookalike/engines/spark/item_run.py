"""What runs over other kinds of items than documents share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lookalike.engines.spark.roots import Roots
from lookalike.engines.spark.run import Run
from lookalike.stages.preference import preferred_column


@dataclass(frozen=True)
class ItemRun(Run):
    """As a run over documents, of another job: the same frames, by other means. roots: frames that it keeps."""

    job: Any
    roots: Roots = field(default_factory=Roots)

    def __post_init__(self) -> None:
        if (column := preferred_column(self.keep)) is not None:
            self.origins[0].check(column)

    @property
    def least(self) -> int:
        return 1

    def forget(self) -> None:
        super().forget()
        self.roots.forget()
