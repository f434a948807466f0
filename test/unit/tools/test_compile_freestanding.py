"""Objects for processors on the command line: names in C, and files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import freestanding_machines as machines
import numpy as np
import pytest
from support.command_line import Command

from et_backends.freestanding.compiler.interface import Interface, Tensor
from et_backends.freestanding.compiler.programs import FreestandingObject
from et_schema.scalar_type import ScalarType

CORTEX = ("--target", "cortex-m4", "-q")
BOTH = """#include "first.h"
#include "second.h"

typedef struct {
  float *first, *second;
} both_outputs;

int both_forward(const first_inputs *inputs, both_outputs *outputs, void *arena) {
  first_outputs made = {outputs->first};
  second_inputs again = {outputs->first};
  second_outputs last = {outputs->second};
  return first_forward(inputs, &made, arena) + second_forward(&again, &last, arena);
}
"""


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        (("-o", "wake-word.v2.o"), "wake_word_v2"),
        (("-o", "wake.o", "--prefix", "kws"), "kws"),
        (("-o", "wake.a", "--emit", "archive"), "wake"),
        (("-o", "wake.h", "--emit", "c-header"), "wake"),
        (("--emit", "c-header"), "relu"),
        (("--emit", "c-header", "--prefix", "kws"), "kws"),
    ],
)
def test_names(command: Command, line: tuple[str, ...], prefix: str) -> None:
    ran = command("et-compile", "relu.mlir", *CORTEX, *line)
    assert ran.code == 0
    header = Path(line[1]).with_suffix(".h").read_text() if line[0] == "-o" else ran.out
    assert f"#ifndef {prefix.upper()}_H\n#define {prefix.upper()}_H\n" in header
    assert f"int {prefix}_forward(const {prefix}_inputs *inputs, {prefix}_outputs *outputs" in header


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ("-o", "net.o", "--target", "cortex-m4", "--prefix", "my-net"),
            "--prefix my-net: expected a name in C, such as my_net",
        ),
        (
            ("-o", "net.o", "--target", "cortex-m4", "--prefix", "2d"),
            "--prefix 2d: expected a name in C, such as _2d",
        ),
        (
            ("-o", "net.pte", "--prefix", "kws"),
            "--prefix applies to objects only: give a processor as --target",
        ),
        (
            ("-o", "net.pte", "--target", "cortex-m4"),
            "-o net.pte: --target cortex-m4 is a processor, for which an object is made, and no .pte: give -o FILE.o, "
            "or a runtime as --target",
        ),
        (
            ("-o", "net.pte", "--target", "cortex-m4", "--emit", "archive"),
            "-o net.pte: --target cortex-m4 is a processor",
        ),
    ],
)
def test_refused(command: Command, line: tuple[str, ...], message: str) -> None:
    ran = command("et-compile", "relu.mlir", *line)
    assert ran.code == 2
    assert ran.err.startswith(f"et-compile: error: {message}")
    assert not Path("net.pte").exists()


def test_two_models_in_a_program(command: Command, tmp_path: Path) -> None:
    """Both factories are called alike; the program has both headers and both objects."""
    for name, scale in (("first", 2.0), ("second", 3.0)):
        Path(f"{name}_source.py").write_text(
            "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
            f"        return torch.softmax(x, 0) * {scale} + torch.arange(4.0)\n\n\n"
            "def model():\n    return Net(), (torch.ones(4),)\n"
        )
        assert command("et-compile", f"{name}_source.py:model", *CORTEX, "-o", f"{name}.o").code == 0
    Path("both.c").write_text(BOTH)
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    zig = [sys.executable, "-m", "ziglang"]
    target = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4", "-fno-sanitize=all"]
    options = ["-Wall", "-Werror", "-c", "both.c", "-o", "both.o"]
    subprocess.run([*zig, "cc", *target, *options], check=True, env={**os.environ, **caches})
    subprocess.run([*zig, "ld.lld", "-r", "both.o", "first.o", "second.o", "-o", "all.o"], check=True)
    row = Tensor("x", ScalarType.FLOAT, (4,), (0,))
    interface = Interface("both", "forward", [row], [row, row], 1 << 10, 16, 0, ())
    linked = FreestandingObject((interface,), (), Path("all.o").read_bytes(), "", "", 0)
    x = np.array([0.5, -1, 2, 0], np.float32)
    y, z = machines.run("cortex-m4", tmp_path, linked, [x]).outputs
    np.testing.assert_allclose(y, softmax(x) * 2 + np.arange(4), rtol=1e-5)
    np.testing.assert_allclose(z, softmax(y) * 3 + np.arange(4), rtol=1e-5)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()
