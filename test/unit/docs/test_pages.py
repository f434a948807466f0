"""Pages of the documentation: links and named options exist, long pages have contents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from walkthrough.pages import LINK

from dev.mutants import __main__ as mutants

ROOT = Path(__file__).parents[3]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
)
FENCE = re.compile(r"```.*?```\n", re.S)
LONG = 100
"""Lines from which a page has a table of contents."""


def slugs(page: Path) -> set[str]:
    """Anchors of the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    broken: list[str] = []
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in slugs(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_long_pages_start_with_their_contents(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if text.count("\n") < LONG:
        return
    head, _, rest = FENCE.sub("", text).partition("\n## ")
    listed = [link.removeprefix("#") for link in re.findall(r"^- \[[^\]]*\]\((#[^)]+)\)", head, flags=re.M)]
    titles = re.findall(r"^## (.*)$", f"## {rest}", flags=re.M)
    assert listed == [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


COMMANDS = (
    *(["et-compile"], ["et-opt"], ["et-translate"], ["et-plan"], ["et-bisect"], ["et-reduce"], ["et-sweep"]),
    *(
        ["et-vm", verb]
        for verb in (
            "run",
            "generate",
            "debug",
            "train",
            "profile",
            "info",
            "report",
            "diff",
            "compare",
            "ops",
            "build",
            "bundle",
            "verify",
            "validate",
        )
    ),
)
ELSEWHERE = {
    "--base": "python -m dev.affected",
    "--check": "python -m bench",
    "--control": "python -m bench.quantized",
    "--corpus": "python -m fuzz",
    "--count": "python -m fuzz",
    "--dry-run": "python -m bench",
    "--first": "python -m fuzz",
    "--freestanding": "python -m property",
    "--index-url": "pip",
    "--load": "python -m bench.xnnpack_vm",
    "--model": "executorch's executor_runner, as --model_path",
    "--no-compile": "pip",
    "--only": "python -m sweep",
    "--param": "lit",
    "--processes": "python -m bench.compile",
    "--rows": "python -m bench.quantized",
    "--sample": "pytest, by test/support/selection.py",
    "--samples": "python -m bench.target_costs",
    "--resources": "dask worker",
    "--rewrite": "python -m walkthrough",
    "--stock": "python -m bench.memory",
    "--times": "python -m bench.quantized",
    "--write": "python -m dev.durations",
}
"""Options of other programs that pages name."""


def test_options_exist() -> None:
    """Each option that a page names is in the help of a command."""
    folder = Path(sys.executable).parent
    known = set(ELSEWHERE)
    for command in COMMANDS:
        done = subprocess.run(
            [folder / command[0], *command[1:], "--help"], check=True, capture_output=True, text=True
        )
        known.update(re.findall(r"--[a-z][a-z-]+", done.stdout))
    known.update(re.findall(r"--[a-z][a-z-]+", mutants.parser().format_help()))
    named = {
        option: page.name
        for page in PAGES
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8"))
    }
    assert {option: page for option, page in named.items() if option not in known} == {}
