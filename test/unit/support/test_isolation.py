"""Isolation of the tests from user and machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.isolation import isolate

NOBODY = "192.0.2.1"
"""An address that no machine has: https://www.rfc-editor.org/rfc/rfc5737."""


def test_no_network() -> None:
    with pytest.raises(PermissionError, match=f"tests have no network: connection to {NOBODY}"):
        socket.create_connection((NOBODY, 80))
    with socket.socket() as connection, pytest.raises(PermissionError):
        connection.connect(("example.org", 80))


def test_the_machine_itself_may_be_reached() -> None:
    """Though nobody answers there, and it may have no interface."""
    for address in ("127.0.0.1", "localhost"):
        with socket.socket() as connection, pytest.raises(OSError, match=r"refused|unreachable"):
            connection.connect((address, 1))


def test_environment(tmp_path: Path) -> None:
    """Settings of the machine stay; those of the user do not reach commands."""
    environment = {"PATH": "p", "CI": "1", "NO_COLOR": "1", "LC_ALL": "tr_TR", "HOME": "/home/someone"}
    mask = os.umask(0)
    try:
        isolate(environment, tmp_path / "home", tmp_path / "caches")
        assert os.umask(mask) == 0o022
    finally:
        os.umask(mask)
    assert (environment["PATH"], environment["CI"], environment["LC_ALL"]) == ("p", "1", "C.UTF-8")
    assert "NO_COLOR" not in environment
    home = subprocess.run(
        [sys.executable, "-c", "from pathlib import Path; print(Path.home())"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert home.stdout == f"{tmp_path / 'home'}\n"


def test_threads_that_are_asked_for(tmp_path: Path) -> None:
    for given, expected in (({}, "1"), ({"OMP_NUM_THREADS": "4"}, "4")):
        environment = dict(given)
        isolate(environment, tmp_path, tmp_path)
        assert environment["OMP_NUM_THREADS"] == expected


def test_this_run() -> None:
    assert Path.home().name.startswith("home-")
    assert os.environ["COLUMNS"] == "80"
