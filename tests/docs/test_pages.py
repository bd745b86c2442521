"""What the documentation shows can be typed and works: every Python block, every command, every link."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.docs_snippets import Block, blocks, commands, complaint, prompt_complaint, run_python

if TYPE_CHECKING:
    from support.docs_cluster import DocsCluster

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if path.name != "contract.md")
SHOWN_GAME, SHOWN_MATCHMAKING = "127.0.0.1:7001", "127.0.0.1:7003"
LIMIT_SECONDS = 240.0
ASKING = (["rami", "replay"], ["rami", "inspect"])
"""Commands that ask a cluster, which here is not where they look by default."""
KINDS = {"python", "sh", "sh run", "console", "mermaid", "text", "json", "ts"}


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.kind == "python" for b in blocks(page))], ids=_name)
async def test_a_page_can_be_followed(page: Path, docs_cluster: DocsCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs_cluster.folder)
    substitutes = {SHOWN_GAME: docs_cluster.cluster.game, SHOWN_MATCHMAKING: docs_cluster.cluster.matchmaking}
    names: dict[str, Any] = {"__name__": "docs"}
    async with asyncio.timeout(LIMIT_SECONDS):
        for block in blocks(page):
            if block.file_name is not None:
                text = block.text
                for shown, real in substitutes.items():
                    text = text.replace(shown, real)
                (docs_cluster.folder / block.file_name).write_text(text)
            elif block.kind == "python":
                await run_python(block, page, names, substitutes)
            elif block.kind == "sh run":
                await run_shell(block, names, docs_cluster)


async def run_shell(block: Block, names: dict[str, Any], docs_cluster: DocsCluster) -> None:
    """Types the commands of a block where the cluster runs, with ROOM as the page has it."""
    room = str(names.get("room_id", ""))
    where = ["--game", docs_cluster.cluster.game, "--matchmaking", docs_cluster.cluster.matchmaking]
    typed = [[word.replace("$ROOM", room) for word in words] for words in commands(block)]
    typed = [words + where if words[:2] in ASKING else words for words in typed]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.docs_commands", json.dumps(typed)),
        env={**docs_cluster.environment, "PYTHONPATH": str(ROOT / "tests")},
        cwd=docs_cluster.folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"line {block.line}:\n{output.decode()}"
    assert output.count(b"\n$ ") == len(typed) - 1, output.decode()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_can_be_pasted_at_a_prompt(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "python" and block.file_name is None:
            assert prompt_complaint(block.text) is None, f"line {block.line}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for n in range(2):\n    print(n)\n", None),
        ("for n in range(2):\n    print(n)\nprint(n)\n", "invalid syntax: 'print(n)'"),
        ("def f():\n    a = 1\n\n    return a\n", "unexpected indent: '    return a'"),
        ("f(1,\n", "something is missing after 'f(1,'"),
        ("await f(\n    1)\n", None),
    ],
)
def test_a_prompt_is_particular(text: str, expected: str | None) -> None:
    assert prompt_complaint(text) == expected


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "deploy" / "envoy" / "README.md"], ids=_name)
def test_every_command_exists_with_its_options(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for block in blocks(page):
        assert block.kind in KINDS, f"line {block.line}: {block.kind}"
        if block.kind in {"sh", "sh run", "console"}:
            for words in commands(block):
                assert complaint(words, makefile) is None, f"line {block.line}: {words}"
                scripts = [word for word in words if word.startswith(("examples/", "scripts/"))]
                assert all((ROOT / script).is_file() for script in scripts), words


@pytest.mark.parametrize("page", [*PAGES, DOCS / "contract.md", ROOT / "README.md"], ids=_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in _anchors(file), target


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.(?:md|txt))\)", (DOCS / "README.md").read_text()))
    assert listed == {path.name for path in DOCS.iterdir()} - {"README.md"}


def _anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", file.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_figures_of_the_readme_are_those_of_the_page_about_performance() -> None:
    section = (ROOT / "README.md").read_text().partition("## What it costs")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    page = (DOCS / "performance.md").read_text().splitlines()
    assert len(rows) > 10
    assert [row for row in rows if row not in page] == []
