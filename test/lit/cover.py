"""Choice of lit tests that together run every command, verb and pass, for processes of their own.

`lit --param cover` runs only these. In the server of `warm.py` all modules are imported, so it cannot see a command
that lacks an import of its own, or works only after another module was imported. A pass may hide what the passes
after it lack, too: being the first of a pipeline counts as a feature of its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import dropwhile, groupby, pairwise
from pathlib import Path

import lit.formats
import lit.Test

RUN = re.compile(r"RUN:(.*)")
END = ("|", "||", "&&", ";")
COMMAND = re.compile(r"et-[a-z]+")
PIPELINE = ("-p", "--passes", "--pass")
PASS = re.compile(r"([a-z][\w-]*)(?:\{[^}]*\})?")


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a test's RUN lines."""
    for line in re.split(r"(?<!\\)\n", "\n".join(RUN.findall(text))):
        words = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=True)
        words.whitespace_split = True
        words.commenters = ""
        for is_end, part in groupby(words, lambda word: word in END):
            command = [*dropwhile(lambda word: not COMMAND.fullmatch(word), part)]
            if command and not is_end:
                yield command


def features(text: str) -> set[tuple[str, ...]]:
    """Commands of a test, with their verbs, options and passes."""
    return {feature for command, *words in commands(text) for feature in _of_command(command, words)}


def _of_command(command: str, words: list[str]) -> Iterator[tuple[str, ...]]:
    yield (command,)
    if command == "et-vm" and words and not words[0].startswith("-"):
        yield command, words[0]
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if name in PIPELINE:
            passes = PASS.findall(value if equals else following)
            yield from ((command, each) for each in passes)
            yield from ((command, each, "first") for each in passes[:1])
        elif name.startswith("--"):
            yield command, name


def cover(files: Mapping[str, set[tuple[str, ...]]], costs: Mapping[str, int]) -> list[str]:
    """A small set of files that has all features: most for its cost first, the greedy algorithm of Chvátal (1979)."""
    missing: set[tuple[str, ...]] = set().union(*files.values())
    chosen: list[str] = []
    while missing:
        best = max(sorted(files), key=lambda name: len(files[name] & missing) / costs[name])
        chosen.append(best)
        missing -= files[best]
    return sorted(chosen)


def cost(text: str) -> int:
    """Processes of a test, but at least one."""
    return max(1, sum(1 for _ in commands(text)))


class Cover(lit.formats.ShTest):
    """Shell tests, of which only a cover is found."""

    def __init__(self, root: str, suffixes: Iterable[str], excludes: Iterable[str]) -> None:
        super().__init__(execute_external=False)
        paths = [path for path in Path(root).rglob("*") if path.suffix in set(suffixes)]
        texts = {
            str(path): path.read_text(encoding="utf-8")
            for path in paths
            if not set(path.parts) & set(excludes)
        }
        files = {name: features(text) for name, text in texts.items()}
        self.chosen = set(cover(files, {name: cost(text) for name, text in texts.items()}))

    def getTestsInDirectory(self, *arguments: object) -> Iterator[lit.Test.Test]:
        for test in super().getTestsInDirectory(*arguments):
            if test.getSourcePath() in self.chosen:
                yield test
