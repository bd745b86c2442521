"""Writes the files that are made of this code: `make monitoring`."""

from __future__ import annotations

import sys

from monitoring.files import made_files


def main() -> int:
    for path, text in made_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
