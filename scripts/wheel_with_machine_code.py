"""Build hook of hatchling: put the machine code in $LOOKALIKE_MACHINE_CODE into the wheel; see `make wheel`."""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface[Any]):
    """Without the variable, the wheel is of Python sources only, for every platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("LOOKALIKE_MACHINE_CODE")
        if folder and version == "standard":
            build_data["force_include"][folder] = "lookalike/kernels/machine_code"
            python = "cp{}{}".format(*sys.version_info)
            build_data["tag"] = f"{python}-{python}{sys.abiflags}-linux_x86_64"
            build_data["pure_python"] = False
