"""Completion scripts, run by bash itself."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from support.command_line import Command

COMMANDS = ("et-opt", "et-compile", "et-translate", "et-vm", "et-plan", "et-bisect", "et-reduce", "et-sweep")


def completions(command: Command, *words: str) -> list[str]:
    """What bash offers for the last of the words, which is not yet written to its end."""
    script = command(words[0], "--print-completion", "bash").out
    ask = """
    eval "$1"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    how=$(complete -p "$1"); how=${how##*-F }
    "${how%% *}"
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    bash = shutil.which("bash")
    assert bash is not None
    ran = subprocess.run(
        [bash, "-c", ask, "bash", script, *words], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (("et-opt", "--verify-d"), ["--verify-diagnostics"]),
        (("et-opt", "rel"), ["relu.mlir"]),
        (("et-opt", "-p", "copies"), ["copies-to-views"]),
        (("et-opt", "-p", "cse,dce,constant"), ["cse,dce,constant-fold"]),
        (("et-opt", "--print-ir-after", "cse,aten-to"), ["cse,aten-to-edge"]),
        (("et-opt", "--stop-after", "fold-b"), ["fold-batch-norm"]),
        (("et-opt", "-p", "O2-e"), ["O2-edge", "O2-executorch"]),
        (("et-compile", "--target", "stock-1.5"), ["stock-1.5", "stock-1.5-quantized"]),
        (("et-compile", "--backend", "xn"), ["xnnpack"]),
        (("et-compile", "--emit", "e"), ["edge", "executorch"]),
        (("et-compile", "--memory-planning", "up"), ["upstream"]),
        (("et-plan", "--algorithm", "g"), ["greedy"]),
        (("et-bisect", "--backend", "xn"), ["xnnpack"]),
        (("et-reduce", "rel"), ["relu.mlir"]),
        (("et-translate", "--pte"), ["--pte-to-mlir"]),
        (("et-vm", "v"), ["verify", "validate"]),
        (("et-vm", "run", "--kern"), ["--kernels"]),
        (("et-vm", "run", "--kernels", "a"), ["aten"]),
        (("et-vm", "run", "r"), ["relu.mlir"]),
    ],
)
def test_bash(command: Command, line: tuple[str, ...], offered: list[str]) -> None:
    assert completions(command, *line) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_script(command: Command, name: str, shell: str) -> None:
    ran = command(name, "--print-completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert {"bash": "complete -o", "zsh": f"#compdef {name}", "fish": f"complete -c {name}"}[shell] in ran.out
    found = shutil.which(shell)
    if found is not None:
        subprocess.run([found, "-n"], input=ran.out, text=True, check=True)


def test_without_the_library(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = command("et-opt", "--print-completion", "bash")
    assert ran.code == 2
    assert "pip install '.[completion]'" in ran.err


def test_the_start_does_not_pay_for_it() -> None:
    code = "import sys; from et_tools.et_opt import main; main(['--help']); assert 'shtab' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
