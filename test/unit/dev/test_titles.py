"""Titles of modules have at most twelve words; the second sentence says what they are for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends", "tools", "dev")
WORDS = 12
HEADLESS = re.compile(r"(What|Which|How|Where|When|Whether|Why|That)\b")


def titles() -> Iterator[tuple[Path, str]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            yield path.relative_to(ROOT), re.split(r"(?<=[.!?:])\s|\n\n", text.strip())[0]


def test_every_module_has_a_short_title() -> None:
    found = dict(titles())
    untitled = [str(path) for path, title in found.items() if not title and (ROOT / path).stat().st_size]
    assert not untitled
    long = [
        f"{path}: {len(words)} words: {title}"
        for path, title in found.items()
        if len(words := [word for word in title.split() if re.search(r"\w", word)]) > WORDS
    ]
    assert not long, "\n".join(long)
    assert not [f"{path}: {title}" for path, title in found.items() if HEADLESS.match(title)]
