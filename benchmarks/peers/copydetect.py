"""copydetect: winnowed fingerprints of characters, all pairs of files compared. `python -m peers.copydetect FOLDER`"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    from copydetect import CopyDetector

    files = sorted(str(path) for path in Path(sys.argv[1]).iterdir())
    detector = CopyDetector(noise_t=25, guarantee_t=25, disable_filtering=True, silent=True, autoopen=False)
    for file in files:
        detector.add_file(file)
    detector.run()
    pairs = sum(1 for row in detector.slice_matrix.values() if len(row))
    print(json.dumps({"pages": len(files), "pairs": pairs}))


if __name__ == "__main__":
    main()
