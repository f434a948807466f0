"""`et-compile --check-passes`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.command_line import WRONG, Command


def test_passes_that_keep_results(command: Command) -> None:
    ran = command("et-compile", "subjects.py:two", "--check-passes", "-o", "net.pte")
    assert ran.code == 0
    assert "passes changed the program, none of them its results" in ran.err


def test_a_pass_that_does_not(command: Command) -> None:
    Path("wrong.py").write_text(WRONG)
    np.savez("x.npz", x=-np.ones((2, 16), np.float32))
    line = (
        "et-compile",
        "subjects.py:net",
        "-q",
        "--load",
        "wrong.py",
        "--pass",
        "edge:drop",
        "-o",
        "net.pte",
    )
    assert command(*line).code == 0
    for inputs in ("", "=random:1", "=x.npz"):
        ran = command(*line, f"--check-passes{inputs}")
        assert ran.code == 1
        assert "the pass 'drop' changes results: output 0 of forward" in ran.err
        assert "subjects.py:12 in forward" in ran.err
        assert "- edge.relu" in ran.err
    assert command(*line, "--check-passes", "--check-bound", "10").code == 0


def test_delegates_and_state(command: Command) -> None:
    ran = command("et-compile", "subjects.py:net", "--check-passes", "--backend", "xnnpack", "-o", "net.pte")
    assert ran.code == 0


def test_texts(command: Command) -> None:
    assert command("et-compile", "relu.mlir", "--check-passes", "-q", "-o", "relu.pte").code == 0


def test_wrong_usage(command: Command) -> None:
    line = ("et-compile", "relu.mlir", "-q", "-o", "relu.pte")
    for options, message in (
        (("--check-bound", "1"), "--check-bound needs --check-passes"),
        (("--check-passes=all",), "--check-passes=all: expected inputs, random[:SEED], x.npy or x.npz"),
        (("--check-passes", "--check-bound", "-1"), "'-1' is not a finite, non-negative number"),
    ):
        ran = command(*line, *options)
        assert (ran.code, message in ran.err) == (2, True), ran.err
    assert command(*line).code == 0
    ran = command("et-compile", "relu.pte", "-o", "again.pte", "--check-passes")
    assert (ran.code, "does not apply to .pte input" in ran.err) == (2, True)
