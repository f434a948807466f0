"""Pages as walkthroughs: their files are written, their commands and Python are run, their outputs are compared.

Blocks of a page, in order:

- after a line with a path in backquotes and a colon: a file of the repository, which readers write themselves;
- `console`: a shell session. Lines that start with `$ ` are commands, the lines below each what it prints on standard
  output. `…` in such a line stands for anything;
- `python`: run together, after the sessions, and after the README's if the page has a link to that; not if the comment
  `<!-- not run: REASON -->` is before the block.

A page may use a file of another page that it links to.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TUTORIALS = tuple(sorted((ROOT / "docs" / "tutorials").glob("*.md")))
PAGES = (README, *TUTORIALS, *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(
    r"(?P<head>^`(?P<path>[\w./-]+)`:\n\n|^<!-- not run: [^\n]* -->\n)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CONTINUED = "README.md#from-python"
NOT_RUN = ("make ",)
"""Commands of a checkout, which CI runs itself: running them here would run this in itself."""


class Failure(AssertionError):
    """A step that does not do what its page says, with its place."""

    def __init__(self, page: Path, line: int, message: str) -> None:
        super().__init__(f"{name_of(page)}:{line}: {message}")
        self.page = page


def name_of(page: Path) -> str:
    """The path of a page in the repository."""
    return str(page.relative_to(ROOT) if page.is_relative_to(ROOT) else page)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the number of its first line in the page."""

    line: int
    language: str
    text: str
    path: str | None
    is_run: bool

    def commands(self) -> Iterator[tuple[int, str, str]]:
        """Line, command and the output shown, of a session."""
        line = self.line
        for part in re.split(r"^\$ ", self.text, flags=re.M):
            command, _, output = part.partition("\n")
            if part:
                yield line, command, output
            line += part.count("\n")


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            text.count("\n", 0, found.start("text")) + 1,
            found["language"],
            found["text"],
            found["path"],
            not (found["head"] or "").startswith("<!--"),
        )
        for found in BLOCK.finditer(text)
    ]


def sessions(page: Path) -> list[tuple[int, str, str]]:
    """Line, command and output of all commands of a page that are run."""
    return [
        each
        for block in blocks(page)
        if block.language == "console"
        for each in block.commands()
        if not each[1].startswith(NOT_RUN)
    ]


def script(page: Path) -> str:
    """The Python of a page, each line at its number in the page."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python" and block.path is None and block.is_run:
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines)


def borrowed(page: Path) -> dict[str, str]:
    """Files by their paths that a page names, and pages show that it links to."""
    text = page.read_text(encoding="utf-8")
    links = {(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(text)}
    return {
        block.path: block.text
        for other in sorted(links - {page})
        if other.suffix == ".md" and other.is_file()
        for block in blocks(other)
        if block.path is not None
        and (block.path in text or block.path.removesuffix(".py").replace("/", ".") in text)
    }


def matches(expected: str, actual: str) -> bool:
    """Whether a line is as shown."""
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), actual) is not None


def lines_of(output: str) -> list[str]:
    return output.rstrip("\n").split("\n")


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """The standard output of a command; raises AssertionError unless it exits with 0."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"$ {command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def with_commands_of(folder: Path) -> dict[str, str]:
    """This process's environment variables with the commands of a Python environment first, and no Python path."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "PATH": os.pathsep.join([str(folder), kept["PATH"]])}


def write(folder: Path, path: str, text: str) -> None:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def follow(page: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Do in an empty folder what a page says; returns the number of commands run.

    Raises Failure at the first step that fails, or prints something else than is shown.
    """
    for path, text in borrowed(page).items():
        write(folder, path, text)
    count = 0
    for block in blocks(page):
        if block.path is not None:
            write(folder, block.path, block.text)
        elif block.language == "console":
            for line, command, expected in block.commands():
                if command.startswith(NOT_RUN):
                    continue
                try:
                    actual = run(command, folder, environment)
                except AssertionError as error:
                    raise Failure(page, line, str(error)) from None
                compare(page, line, command, expected, actual)
                count += 1
    return count + execute(page, folder, environment)


def compare(page: Path, line: int, command: str, expected: str, actual: str) -> None:
    """Raise Failure at the first line of an output that is not as shown."""
    wanted, found = lines_of(expected), lines_of(actual)
    for at, (one, other) in enumerate(zip(wanted, found, strict=False), line + 1):
        if not matches(one, other):
            raise Failure(page, at, f"$ {command}\nexpected: {one}\nfound:    {other}")
    if len(wanted) != len(found):
        raise Failure(page, line, f"$ {command}\nexpected:\n{expected}\nfound:\n{actual}")


def execute(page: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Run the Python of a page, if it has any; returns the number of commands run."""
    text = script(page)
    if not text:
        return 0
    name = f"{page.stem.lower().replace('-', '_')}_snippets.py"
    if CONTINUED in page.read_text(encoding="utf-8"):
        # The first line of a page is its title: the numbers of the others stay.
        text = f"from readme_snippets import *{text}"
        write(folder, "readme_snippets.py", script(README))
        for block in blocks(README):
            if block.path is not None:
                write(folder, block.path, block.text)
    write(folder, name, text)
    try:
        run(f"python {name}", folder, environment)
    except AssertionError as error:
        places = re.findall(rf'/{name}", line (\d+)', str(error))
        raise Failure(page, int(places[-1]) if places else 1, str(error)) from None
    return 1


def rewrite(page: Path, folder: Path, environment: Mapping[str, str]) -> None:
    """Replace outputs and files in a page by what they are now; lines with `…` that still match stay."""
    for path, text in borrowed(page).items():
        write(folder, path, text)

    def output(command: str, old: str) -> str:
        if command.startswith(NOT_RUN):
            return old
        new = lines_of(run(command, folder, environment))
        if new == [""]:
            return ""
        shown = [*lines_of(old), *[""] * len(new)]
        return "".join(
            f"{one if '…' in one and matches(one, other) else other}\n"
            for one, other in zip(shown, new, strict=False)
        )

    def block(found: re.Match[str]) -> str:
        text = found["text"]
        if found["path"] is not None:
            text = (ROOT / found["path"]).read_text(encoding="utf-8")
            write(folder, found["path"], text)
        elif found["language"] == "console":
            session = Block(0, "console", text, None, is_run=True)
            text = "".join(f"$ {command}\n{output(command, old)}" for _, command, old in session.commands())
        return f"{found['head'] or ''}```{found['language']}\n{text}```"

    page.write_text(BLOCK.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")
