"""What runs over other kinds of items than documents share."""

from __future__ import annotations

from dataclasses import dataclass, field

from lookalike.engines.spark.base_run import SparkRun
from lookalike.engines.spark.roots import Roots


@dataclass(frozen=True)
class ItemRun(SparkRun):
    """A run over another kind of item. roots: frames that it keeps."""

    roots: Roots = field(default_factory=Roots)

    def forget(self) -> None:
        super().forget()
        self.roots.forget()
