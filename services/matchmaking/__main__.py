"""`python -m matchmaking`: runs the matchmaking service."""

from __future__ import annotations

import sys

from matchmaking.config import MatchmakingSettings
from matchmaking.service import SERVICE_NAME, build
from rami_kit.app import main

if __name__ == "__main__":
    sys.exit(main(MatchmakingSettings, build, SERVICE_NAME))
