"""Types the commands of a page: `python docs_commands.py JSON`, a list of commands, each a list of words.

All `rami` commands run in this one process, one after the other as from a shell: starting each anew would cost more
than what it does. Stops with the code of the first that fails.
"""

from __future__ import annotations

import json
import subprocess
import sys

from rami_cli.app import app


def type_commands(commands: list[list[str]]) -> int:
    """The code of the first command that fails; 0 if all succeed."""
    for program, *arguments in commands:
        sys.stdout.write(f"$ {program} {' '.join(arguments)}\n")
        sys.stdout.flush()
        if program == "python":
            code = subprocess.run([sys.executable, *arguments], check=False).returncode
        else:
            assert program == "rami", program
            code = app(arguments, prog_name="rami", standalone_mode=False) or 0
        if code:
            return int(code)
    return 0


if __name__ == "__main__":
    sys.exit(type_commands(json.loads(sys.argv[1])))
