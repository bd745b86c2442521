"""The AI service as a process: `python -m ai_decision`."""

from __future__ import annotations

import sys

from ai_decision.config import AiSettings
from ai_decision.service import SERVICE_NAME, build
from rami_kit.app import main

if __name__ == "__main__":
    sys.exit(main(AiSettings, build, SERVICE_NAME))
