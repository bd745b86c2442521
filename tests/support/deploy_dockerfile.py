"""Reading a Dockerfile, and doing what one of its stages says in a folder that stands in for the root.

No engine and no base image: commands run with this machine's Python, and absolute paths that the stage makes are
moved under the folder. What is proven is that the commands, the copied files and the pinned packages make an
installation that works.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

COMMAND_SECONDS = 500
"""Most of it is downloading and unpacking; a machine with nothing else to do needs 20."""
NOT_HERE = {"PIP_NO_CACHE_DIR"}
"""What keeps an image small, and would have a test download everything each time."""
PATIENCE = {"PIP_RETRIES": "10", "PIP_DEFAULT_TIMEOUT": "60"}
"""With a network that falters: who builds an image by hand types the command again."""


@dataclass
class Stage:
    """One FROM and what follows it."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """What follows an instruction, each time it stands there."""
        return [rest for instruction, rest in self.instructions if instruction == word]

    def environment(self) -> dict[str, str]:
        """The variables of its ENV lines."""
        pairs = (shlex.split(line) for line in self.all("ENV"))
        return dict(pair.split("=", 1) for line in pairs for pair in line)

    def exec_form(self, word: str) -> list[str]:
        """The last command of CMD, ENTRYPOINT or HEALTHCHECK, which must be in exec form."""
        words: list[str] = json.loads(self.all(word)[-1].partition("CMD ")[2] or self.all(word)[-1])
        return words


def read_dockerfile(path: Path) -> list[Stage]:
    """The stages of a Dockerfile, with ARG values put in."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE))
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        for name, value in arguments.items():
            rest = rest.replace(f"${{{name}}}", value)
        if word == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name))
        else:
            stages[-1].instructions.append((word, rest.strip()))
    return stages


class Builder:
    """Runs a stage: `root` stands in for /, `context` for the build context."""

    def __init__(self, root: Path, context: Path) -> None:
        self.root = root
        self.context = context
        self._folder = root
        # The base image's own Python, not the one of this virtual environment.
        python = Path(getattr(sys, "_base_executable", sys.executable)).parent
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
        self._environment["PATH"] = f"{python}:/usr/bin:/bin"
        self._environment.pop("VIRTUAL_ENV", None)
        self._environment |= PATIENCE

    def run(self, stage: Stage) -> None:
        """Does what the stage says. Raises AssertionError with the output of a command that fails."""
        for word, rest in stage.instructions:
            match word:
                case "ENV":
                    variables = dict(pair.split("=", 1) for pair in shlex.split(rest))
                    self._environment |= {name: value for name, value in variables.items() if name not in NOT_HERE}
                case "WORKDIR":
                    self._folder = self._moved(rest)
                    self._folder.mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(rest.split())
                case "RUN":
                    self._run(rest)
                case _:
                    raise AssertionError(f"a build stage has no use for {word}")

    def _moved(self, path: str) -> Path:
        return self.root / path.removeprefix("/") if path.startswith("/") else self._folder / path

    def _copy(self, words: list[str]) -> None:
        *sources, target = words
        for source in sources:
            found = self.context / source
            into = self._moved(target) / found.name if target.endswith("/") else self._moved(target)
            into.parent.mkdir(parents=True, exist_ok=True)
            if found.is_dir():
                shutil.copytree(found, into, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
            else:
                shutil.copy(found, into)

    def _run(self, command: str) -> None:
        moved = re.sub(r"(?<![\w.])/(opt|src|locks|wheels)\b", rf"{self.root}/\1", command)
        result = subprocess.run(
            ["/bin/sh", "-ec", moved],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
