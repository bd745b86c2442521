"""Running what the documentation shows, as a reader would who pastes it.

A page is a story: its Python blocks run one after the other in one namespace, with `await` at the top level as in
`python -m asyncio`. A block that begins with `# NAME.py` is a file to be saved under that name. Blocks of shell
commands marked `sh run` run in the same folder; of those marked `sh` each command must exist, with its options.
"""

from __future__ import annotations

import ast
import codeop
import functools
import inspect
import re
import shlex
import textwrap
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import typer.main

from rami_cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK: Final = re.compile(r"^( *)```(?P<kind>[^\n`]+)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE)
_FILE: Final = re.compile(r"# ([\w-]+\.py)\n")
_ASSIGNMENT: Final = re.compile(r"[A-Z_]+=")
_FOREIGN: Final = frozenset({"envoy", "pip", "python", "export"})
"""Commands of others that the pages use."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    kind: str
    """What stands behind the fence, such as "python" or "sh run"."""
    text: str
    line: int
    """The line of the page that the text begins on, from 1."""

    @property
    def file_name(self) -> str | None:
        """The file that the block is; None for one that is run where it stands."""
        found = _FILE.match(self.text)
        return found[1] if found is not None and self.kind == "python" else None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["kind"], textwrap.dedent(found["text"]), text.count("\n", 0, found.start("text")) + 1)
        for found in _BLOCK.finditer(text)
    ]


async def run_python(block: Block, page: Path, names: dict[str, Any], substitutes: dict[str, str]) -> None:
    """Runs a block; `substitutes` are the addresses of the running cluster for those that the pages show."""
    text = block.text
    for shown, real in substitutes.items():
        text = text.replace(shown, real)
    # The line numbers of the page, so that a failure names the place.
    code = compile("\n" * (block.line - 1) + text, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = FunctionType(code, names)()
    if inspect.isawaitable(result):
        await result


def prompt_complaint(text: str) -> str | None:
    """What a Python prompt that is given the lines one by one says of a block; None if it takes all of them.

    There a blank line ends an indented block, and nothing else does.
    """
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    typed: list[str] = []
    for line in [*text.splitlines(), ""]:
        typed.append(line)
        try:
            complete = compiler("\n".join(typed), symbol="single") is not None
        except SyntaxError as error:
            return f"{error.msg}: {typed[-1]!r}"
        if complete:
            typed = []
    return f"something is missing after {typed[-2]!r}" if typed else None


def commands(block: Block) -> Iterator[list[str]]:
    """The commands of a shell block as words, without assignments before them and without what is piped."""
    if block.kind == "console":
        text = "\n".join(line[2:] for line in block.text.splitlines() if line.startswith("$ "))
    else:
        text = block.text
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if words:
            yield words


def complaint(words: list[str], makefile: str) -> str | None:
    """What is wrong with a command; None if it can be typed so."""
    program, arguments = words[0], words[1:]
    if program == "rami":
        return _rami_complaint(_until_shell(arguments))
    if program == "make":
        targets = [word for word in arguments if "=" not in word]
        missing = [target for target in targets if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)]
        variables = [word.partition("=")[0] for word in arguments if "=" in word]
        missing += [name for name in variables if f"$({name})" not in makefile and f"$(if $({name})" not in makefile]
        return f"the Makefile has no {missing}" if missing else None
    return None if program in _FOREIGN else f"{program} is no command that the pages use"


def _until_shell(arguments: list[str]) -> list[str]:
    """The arguments of a command up to a redirection, a pipe or an ampersand."""
    ends = [place for place, word in enumerate(arguments) if word in {">", "|", "&", "&&"}]
    return arguments[: ends[0]] if ends else arguments


@functools.cache
def _rami() -> Any:
    return typer.main.get_command(app)


def _rami_complaint(arguments: list[str]) -> str | None:
    group = _rami()
    if not arguments:
        return "rami without a command"
    command = group.commands.get(arguments[0])
    if command is None:
        return f"rami has no command {arguments[0]}"
    if hasattr(command, "commands"):
        return None if arguments[1:2] == [] or arguments[1] in command.commands else f"no {arguments[:2]}"
    context = command.make_context(arguments[0], [], resilient_parsing=True)
    values, left, _ = command.make_parser(context).parse_args(args=list(arguments[1:]))
    if left:
        return f"rami {arguments[0]} cannot take {arguments[1:]}"
    missing = [part.name for part in command.params if part.required and values.get(part.name) is None]
    return f"rami {arguments[0]} needs {missing}" if missing else None
