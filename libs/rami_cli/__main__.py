"""The `rami` command."""

from __future__ import annotations

import os


def main() -> None:
    """Runs the command line."""
    # Before gRPC is imported: its core tells of every lost connection, and the client says what matters of that.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from rami_cli.app import main as run  # noqa: PLC0415 - see above

    run()


if __name__ == "__main__":
    main()
