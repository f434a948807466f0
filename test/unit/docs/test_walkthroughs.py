"""Pages that can be followed: their sessions print what is shown, their Python runs, their files are the repository's.

Pages are followed by `python -m walkthrough`, with the installed wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from walkthrough.pages import (
    PAGES,
    README,
    ROOT,
    TUTORIALS,
    Failure,
    blocks,
    borrowed,
    follow,
    matches,
    name_of,
    rewrite,
    script,
    sessions,
    with_commands_of,
)

ENVIRONMENT = with_commands_of(Path(sys.executable).parent)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_have_steps(page: Path) -> None:
    assert len(sessions(page)) + bool(script(page)) >= 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_are_shown_as_they_are(page: Path) -> None:
    shown = {block.path: block.text for block in blocks(page) if block.path is not None}
    if page in {README, *TUTORIALS}:
        assert len(shown) >= 2 or borrowed(page)
    for path, text in shown.items():
        assert text == (ROOT / path).read_text(encoding="utf-8"), f"{path} is not what {name_of(page)} shows"


def page_of(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# T\n\n```console\n$ true\n$ echo a\nb\n```\n", ":6: $ echo a\nexpected: b\nfound:    a"),
        ("```console\n$ printf 'a\\nb'\na\n```\n", ":2: $ printf"),
        ("```console\n$ printf a\na\nb\n```\n", ":2: $ printf"),
        ("```console\n$ echo said >&2; exit 3\n```\n", ":2: $ echo said >&2; exit 3\nexit code 3\nsaid"),
        ("# T\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n", ":8: $ python"),
        ("`a/b.txt`:\n\n```text\nx\n```\n\n```console\n$ cat a/b.txt c.txt\nx\n```\n", ":8: $ cat"),
    ],
)
def test_failures_have_their_lines(tmp_path: Path, text: str, message: str) -> None:
    page = page_of(tmp_path, text)
    with pytest.raises(Failure) as found:
        follow(page, tmp_path, ENVIRONMENT)
    assert str(found.value).startswith(f"{page}{message}")


def test_nothing_of_the_checkout_is_at_hand(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\nimport examples\n```\n")
    with pytest.raises(Failure, match="No module named 'examples'"):
        follow(page, tmp_path, ENVIRONMENT)


def test_files_of_linked_pages(tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("`a.txt`:\n\n```text\nx\n```\n\n`b.txt`:\n\n```text\ny\n```\n", encoding="utf-8")
    page = page_of(tmp_path, "With `a.txt` of [it](other.md#there):\n\n```console\n$ ls *.txt\na.txt\n```\n")
    assert follow(page, tmp_path, ENVIRONMENT) == 1
    page.write_text("```console\n$ cat a.txt\nx\n```\n", encoding="utf-8")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(Failure, match=":2: "):
        follow(page, tmp_path, ENVIRONMENT)


def test_lines_with_gaps() -> None:
    assert matches("a … c", "a b c")
    assert not matches("a … c", "a b d")
    assert not matches("a.c", "abc")


def test_rewriting(tmp_path: Path) -> None:
    text = "```console\n$ make x\nkept\n$ echo a; echo bcd\nold\nb…d\nmore\n$ true\ngone\n```\n\nend\n"
    page = page_of(tmp_path, text)
    rewrite(page, tmp_path, ENVIRONMENT)
    assert page.read_text(encoding="utf-8") == (
        "```console\n$ make x\nkept\n$ echo a; echo bcd\na\nb…d\n$ true\n```\n\nend\n"
    )
