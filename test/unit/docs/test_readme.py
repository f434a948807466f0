"""Console sessions of the README, the tutorials and the pages of `docs/`: outputs are those shown.

    python test/unit/docs/test_readme.py        rewrites the outputs in these pages

A block is a shell session: lines that start with `$ ` are commands, the lines below each what it prints on standard
output. `…` in an expected line stands for anything. Files that a block names with `<!-- file: PATH -->` before it are
compared with the file in the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WALKTHROUGHS = (ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md")))
PAGES = (
    *WALKTHROUGHS,
    *(
        page
        for page in sorted((ROOT / "docs").glob("*.md"))
        if "```console\n" in page.read_text(encoding="utf-8")
    ),
)
CONSOLE = re.compile(r"```console\n(.*?)```\n", re.S)
FILE = re.compile(r"(?P<head><!-- file: (?P<path>\S+) -->\n```\w+\n)(?P<text>.*?)```\n", re.S)
# Run by CI themselves: running them here would run this test in itself.
NOT_RUN = ("make ",)


def sessions(text: str) -> list[tuple[str, str]]:
    """Commands and the outputs shown for them, in order."""
    found: list[tuple[str, str]] = []
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def run(command: str, folder: Path) -> str:
    """The standard output of a command in `folder`, with the commands of this environment first on the path."""
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-c", command], check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"$ {command}\nexit code {done.returncode}\n{done.stderr}"
    return done.stdout


def workplace(folder: Path) -> Path:
    """A folder in which the pages' paths exist, and files may be written."""
    for name in ("examples", "test"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "Output"))
    return folder


def matches(expected: str, actual: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.rstrip("\n").split("…"))
    return re.fullmatch(pattern, actual.rstrip("\n"), flags=re.S if "…\n" in expected else 0) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_prints_what_is_shown(tmp_path: Path, page: Path) -> None:
    folder = workplace(tmp_path)
    shown = [
        (command, output) for command, output in sessions(page.read_text()) if not command.startswith(NOT_RUN)
    ]
    assert len(shown) >= (6 if page in WALKTHROUGHS else 1)
    for command, expected in shown:
        actual = run(command, folder)
        lines, found = expected.rstrip("\n").split("\n"), actual.rstrip("\n").split("\n")
        assert len(lines) == len(found), f"$ {command}\nexpected:\n{expected}\nfound:\n{actual}"
        for line, other in zip(lines, found, strict=True):
            assert matches(line, other), f"$ {command}\nexpected: {line}\nfound:    {other}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_are_shown_as_they_are(page: Path) -> None:
    shown = list(FILE.finditer(page.read_text()))
    assert len(shown) >= (2 if page in WALKTHROUGHS else 0)
    for block in shown:
        assert block["text"] == (ROOT / block["path"]).read_text(), (
            f"{block['path']} is not what {page.name} shows"
        )


def refresh(page: Path) -> None:
    """Rewrite the outputs and files in a page from what they are now; lines with `…` that still match stay."""
    import tempfile

    text = page.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        folder = workplace(Path(scratch))

        def session(block: re.Match[str]) -> str:
            parts: list[str] = []
            for part in re.split(r"^\$ ", block[1], flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                if command.startswith(NOT_RUN):
                    parts.append(f"$ {part}")
                    continue
                old, new = output.split("\n"), run(command, folder).rstrip("\n").split("\n")
                kept = [
                    old[i] if i < len(old) and "…" in old[i] and matches(old[i], line) else line
                    for i, line in enumerate(new)
                ]
                parts.append(
                    "\n".join([f"$ {command}", *[line for line in kept if line or len(new) > 1], ""])
                )
            return "```console\n" + "".join(parts) + "```\n"

        text = CONSOLE.sub(session, text)
    text = FILE.sub(lambda block: f"{block['head']}{(ROOT / block['path']).read_text()}```\n", text)
    page.write_text(text)


if __name__ == "__main__":
    for each in PAGES:
        refresh(each)
