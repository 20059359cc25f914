"""The benchmarks' own modules are one folder up: importing this one lets them be imported."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
