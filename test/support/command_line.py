"""Fixtures of the command-line tests.

They are programs to compile, and how a command ended.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

RELU = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = aten.relu %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""

MODELS = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)

    def forward(self, x):
        return torch.relu(self.fc(x))


def net():
    torch.manual_seed(0)
    return Net(), (torch.ones(2, 16),)


def two():
    return {"one": net(), "other": (net()[0], (torch.ones(3, 16),))}


def chatty():
    print("made by a factory")
    return net()


def raises():
    raise ValueError("the weights are gone\\nand more")


def leaves():
    raise SystemExit(7)


def interrupted():
    raise KeyboardInterrupt


def nothing():
    return None


def number():
    return {"a": 3}


def no_methods():
    return {}


def no_tuple():
    return Net(), torch.ones(2, 16)


def wrong_shape():
    return Net(), (torch.ones(2, 15),)


def needs(argument):
    return argument


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


def branch():
    return Branch(), (torch.ones(3),)


class Specialised(nn.Module):
    def forward(self, x):
        return x.reshape(2, 4)


def specialised():
    return Specialised(), (torch.ones(8),), {"x": {0: torch.export.Dim("n")}}


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True).abs()


def spectrum():
    return Spectrum(), (torch.ones(1, 64),), {"x": {1: torch.export.Dim("n", min=16, max=256)}}


def spectrum_without_maximum():
    return Spectrum(), (torch.ones(1, 64),), {"x": {1: torch.export.Dim("n", min=16)}}


def spectrum_of_any_length():
    return Spectrum(), (torch.ones(1, 64),), {"x": {1: torch.export.Dim.AUTO}}


class Unsupported(nn.Module):
    def forward(self, x):
        y = torch.ops.acme.gain(x)
        z = x.to(torch.chalf)
        w = torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))
        return y, z.abs(), w


def unsupported():
    if not hasattr(torch.ops.acme, "gain"):

        @torch.library.custom_op("acme::gain", mutates_args=())
        def gain(x: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(x.numpy() * 2)

        gain.register_fake(torch.empty_like)
    return Unsupported(), (torch.ones(4),)


class Faulty(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.eye(3).to_sparse())

    def forward(self, x, numbers):
        twice = torch.ops.acme.gain(x)
        half = x.to(torch.chalf)
        short = numbers.to(torch.uint16)
        masked = torch.sparse.mm(self.mask, x)
        bytes = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()
        waves = torch.nonzero(twice * 1j)
        modes = torch.linalg.eigvalsh(twice)
        return half.real, short, masked, bytes, waves, modes


def faulty():
    unsupported()
    return Faulty(), (torch.ones(3, 3), torch.zeros(3, dtype=torch.int64))


class NoMeta(nn.Module):
    def forward(self, x):
        return torch.ops.acme.cpu_only(x)


def no_meta():
    if not hasattr(torch.ops.acme, "cpu_only"):
        torch.library.define("acme::cpu_only", "(Tensor x) -> Tensor")
        torch.library.impl("acme::cpu_only", "CPU")(lambda x: x * 2)
    return NoMeta(), (torch.ones(4),)


class NoFake(nn.Module):
    def forward(self, x):
        return torch.ops.acme.unknown_shape(x)


def no_fake():
    if not hasattr(torch.ops.acme, "unknown_shape"):

        @torch.library.custom_op("acme::unknown_shape", mutates_args=())
        def unknown_shape(x: torch.Tensor) -> torch.Tensor:
            return x * 2

    return NoFake(), (torch.ones(3),)


def double():
    return nn.Conv2d(3, 3, 3), (torch.ones(1, 3, 8, 8, dtype=torch.float64),)


def double_linear():
    return nn.Linear(3, 3), (torch.ones(2, 3, dtype=torch.float64),)


def training():
    return nn.Sequential(nn.Linear(3, 3), nn.Dropout()), (torch.ones(2, 3),)


def exported_training():
    module, args = training()
    return torch.export.export(module.train(), args)


def training_in_part():
    module, args = training()
    module.eval()[1].train()
    return module, args


def dropped(module, x):
    return nn.functional.dropout(x, training=module.training)


class Drops(nn.Module):
    def forward(self, x):
        return dropped(self, x)


class DropsInside(nn.Module):
    def forward(self, x):
        return [nn.functional.dropout(each, training=self.training) for each in (x,)][0]


def drops():
    return DropsInside(), (torch.ones(3),)


def drops_in_a_function():
    return Drops(), (torch.ones(3),)


def function():
    return torch.relu, (torch.ones(3),)


class Asserts(nn.Module):
    def forward(self, x):
        assert x.max() < 3
        return x + 1


def asserts():
    return Asserts(), (torch.ones(3),)


class Loops(nn.Module):
    def forward(self, x):
        for _ in range(int(x[0])):
            x = x + 1
        return x


def loops():
    return Loops(), (torch.ones(3),)


class Numpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() + 1)


def uses_numpy():
    return Numpy(), (torch.ones(3),)


class Keyword(nn.Module):
    def forward(self, x, *, mask):
        return x * mask


def no_keyword():
    return Keyword(), (torch.ones(3),)


def double_norm():
    return nn.LayerNorm(3), (torch.ones(2, 3, dtype=torch.float64),)


class Product(nn.Module):
    def forward(self, x):
        return torch.cumprod(x, 0) + torch.ops.aten.mish(x)


def product():
    return Product(), (torch.ones(4, 4),)
"""


WRONG = """
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.edge import ops as edge
from et_ir.rewriting import rewrite


class Drop(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [op.self])


@dataclass(frozen=True)
class DropPass(ModulePass):
    name = "drop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Drop()])
"""
"""A pass that makes the program wrong."""


class Ran(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@contextmanager
def interruptible(*line: str, **streams: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process of a command that heeds Ctrl-C, also where the tests run in the background and ignore it.

    It is killed at the end if it has not ended, so that a test which fails does not wait for it.
    """
    name, *arguments = line
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from et_tools.{name.replace('-', '_')} import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, *arguments], **(piped | streams)) as process:
        try:
            yield process
        finally:
            process.kill()


def on_terminal(*line: str, **environment: str) -> str:
    """What a command prints on standard error that is a terminal."""
    control, terminal = pty.openpty()
    name, *arguments = line
    code = f"import sys; from et_tools.{name.replace('-', '_')} import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
    ):
        os.close(terminal)
        parts: list[bytes] = []
        with suppress(OSError):  # how the end of a terminal reads on Linux
            while part := os.read(control, 1 << 16):
                parts.append(part)
    os.close(control)
    return b"".join(parts).decode()
