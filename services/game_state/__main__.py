"""The game service as a process: `python -m game_state`."""

from __future__ import annotations

import sys

from game_state.config import GameSettings
from game_state.service import build
from rami_kit.app import main

if __name__ == "__main__":
    sys.exit(main(GameSettings, build, "game"))
