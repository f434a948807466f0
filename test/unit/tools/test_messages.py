"""Colour of messages: on terminals, unless the environment or the command line says otherwise."""

from __future__ import annotations

import pytest
from support.command_line import Command, on_terminal

VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM")
MISTAKE = "func.func @f() {\n"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_terminals_have_colour(workplace: object) -> None:
    with open("bad.mlir", "w", encoding="utf-8") as file:
        file.write(MISTAKE)
    shown = on_terminal("et-opt", "bad.mlir")
    assert shown.startswith("\x1b[1mbad.mlir:2:1:\x1b[m \x1b[1;31merror:\x1b[m ")
    assert "\x1b[1;32m^\x1b[m" in shown
    assert on_terminal("et-opt", "--nope").startswith(
        "\x1b[1met-opt:\x1b[m \x1b[1;31merror:\x1b[m unrecognized"
    )


@pytest.mark.parametrize(
    ("environment", "option", "colored"),
    [
        ({"NO_COLOR": "1"}, "", False),
        ({"NO_COLOR": ""}, "", True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, "", False),
        ({"NO_COLOR": "1"}, "--color=always", True),
        ({"CLICOLOR": "0"}, "", False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, "", True),
        ({"TERM": "dumb"}, "", False),
        ({"FORCE_COLOR": "1"}, "--color=never", False),
    ],
)
def test_settings_on_a_terminal(environment: dict[str, str], option: str, colored: bool) -> None:
    shown = on_terminal("et-vm", *filter(None, ["run", option, "absent.pte"]), **environment)
    assert "absent.pte" in shown
    assert ("\x1b[" in shown) == colored


@pytest.mark.parametrize(
    ("environment", "option", "colored"),
    [
        ({}, "--color=auto", False),
        ({}, "--color=always", True),
        ({"CLICOLOR": "1"}, "--color=auto", False),
        ({"CLICOLOR_FORCE": "0", "FORCE_COLOR": ""}, "--color=auto", False),
        ({"FORCE_COLOR": "1"}, "--color=auto", True),
        ({"CLICOLOR_FORCE": "1"}, "--color=auto", True),
    ],
)
def test_settings_in_a_pipe(
    command: Command, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], option: str, colored: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ran = command("et-plan", option, "absent.csv")
    assert ran.code == 2
    assert ("\x1b[" in ran.err) == colored
    # A setting is of one command, not of those that follow.
    for name in environment:
        monkeypatch.delenv(name)
    assert "\x1b[" not in command("et-plan", "absent.csv").err
