"""Simulated runs from the command line; see `command.py`."""

from __future__ import annotations

import sys

from sim.command import main

if __name__ == "__main__":
    sys.exit(main())
