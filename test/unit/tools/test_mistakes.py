"""Plausible mistakes: the message says what is wrong and what to do, and the next try that it leads to succeeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from mistakes.cases import AREAS, Mistake, mistakes
from mistakes.running import entered, make_folder, make_template, message_of, try_again, try_first


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user, with the programs that mistakes so far have needed."""
    folder = tmp_path_factory.mktemp("user")
    make_template(folder)
    return folder


def cases(area: str) -> pytest.MarkDecorator:
    """The parameters of a test for the mistakes of an area."""
    found = mistakes(area)
    return pytest.mark.parametrize("mistake", found, ids=[mistake.title for mistake in found])


def check(mistake: Mistake, template: Path, folder: Path) -> None:
    make_folder(folder, template, mistake)
    with entered(folder):
        first = try_first(mistake)
        message = message_of(first)
        assert "Traceback" not in message
        assert first.code == (bool(mistake.error) if mistake.is_python else mistake.code), message
        for part in mistake.says:
            assert part in message
        if mistake.is_python:
            assert f"{mistake.error}: " in message
            assert " --" not in message, "an option of a command"
        elif mistake.code:
            assert len(first.err) < 2000
        again = try_again(mistake)
        assert again.code == 0, message_of(again)


@cases("compile")
def test_compiling(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


@cases("python")
def test_python(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


@cases("quantization")
def test_quantizing(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


@cases("targets")
def test_targets(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


@cases("tools")
def test_tools(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


@cases("vm")
def test_running(mistake: Mistake, template: Path, tmp_path: Path) -> None:
    check(mistake, template, tmp_path / "work")


def test_number_of_mistakes() -> None:
    """Each of them says something, and several are of each area."""
    assert set(AREAS) == {"compile", "python", "quantization", "targets", "tools", "training", "vm"}
    found = [mistake for area in AREAS for mistake in mistakes(area)]
    assert len(found) >= 150
    assert all(mistake.says for mistake in found)
