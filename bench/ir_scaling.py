"""Scaling of parsing, verification and printing: the time per op of modules of 1,000 to 100,000 ops.

    python -m bench.ir_scaling

Measured in this process, part by part, and as `et-opt IN -o OUT`, less what `et-opt` takes for an empty module.
"growth" is a time per op over that of the smallest size: 1 is linear. Beside it stands what stock xDSL's parser and
printer take for the same number of `arith` ops (its verifier does not check dominance). Goal: at most 1.3 at 100k
ops, both ways.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.printer import Printer

from bench.measure import environment, print_table, progress, show_time, take_turns, verdict
from et_ir.text import parse_module, print_module
from et_ir.universe import dialect_factories
from et_ir.verification import verify_module

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 3
GOAL = 1.3

# A chain over values of several ages and a few types, as a network has.
ATEN = (
    "%{0} = aten.relu %{1} : tensor<4x8xf32>",
    "%{0} = aten.add.Tensor %{1}, %{2} : tensor<4x8xf32>",
    "%{0} = aten.mul.Tensor %{1}, %{3} : tensor<4x8xf32>",
    "%{0} = aten.permute %{1} {{dims = [1, 0]}} : (tensor<4x8xf32>) -> tensor<8x4xf32>",
    "%{0} = aten.view %{1} {{size = [4, 8]}} : (tensor<8x4xf32>) -> tensor<4x8xf32>",
)
ARITH = ("%{0} = arith.addf %{1}, %{2} : f32", "%{0} = arith.mulf %{1}, %{3} : f32")


def text(size: int, patterns: tuple[str, ...], type_: str) -> str:
    """A module with one function of `size` ops taken from `patterns` in turn."""
    lines = [f"builtin.module {{\n  func.func @forward(%0: {type_}) -> {type_} {{"]
    whole = size - size % len(patterns)
    for op in range(1, whole + 1):
        # Values that end a round of the patterns have the function's type, whatever lies between.
        base = (op - 1) // len(patterns) * len(patterns)
        line = patterns[(op - 1) % len(patterns)].format(
            op, op - 1, max(0, base - len(patterns)), base // 2 // 5 * 5
        )
        lines.append(f"    {line}")
    lines.append(f"    func.return %{whole} : {type_}\n  }}\n}}\n")
    return "\n".join(lines)


def context(dialects: dict[str, Callable[[], Any]]) -> Context:
    ctx = Context()
    for name, dialect in dialects.items():
        ctx.register_dialect(name, dialect)
    return ctx


def ours(size: int) -> dict[str, float]:
    """Seconds to parse, to verify and to print, fastest of the rounds."""
    source = text(size, ATEN, "tensor<4x8xf32>")
    ctx = context({"builtin": lambda: Builtin, "func": lambda: Func, **dialect_factories()})
    module = parse_module(ctx, source)
    parts: dict[str, Callable[[], object]] = {
        "parse": lambda: parse_module(ctx, source),
        "verify": lambda: verify_module(module),
        "print": lambda: print_module(module, io.StringIO()),
    }
    return {name: min(seconds) for name, seconds in take_turns(parts, ROUNDS).items()}


def stock(size: int) -> float:
    """Seconds of xDSL's own parse, verify and print, fastest of the rounds."""
    source = text(size, ARITH, "f32")
    ctx = context({"builtin": lambda: Builtin, "func": lambda: Func, "arith": lambda: Arith})

    def all_three() -> None:
        module = Parser(ctx, source).parse_module()
        module.verify()
        Printer(io.StringIO()).print_op(module)

    return min(take_turns({"xdsl": all_three}, ROUNDS)["xdsl"])


def et_opt(size: int) -> float:
    """Seconds of the command on a module of so many ops, fastest of the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.mlir"
        source.write_text(text(size, ATEN, "tensor<4x8xf32>") if size else "builtin.module {}")
        line = [Path(sys.executable).parent / "et-opt", source, "-o", Path(folder) / "out.mlir"]
        run: Callable[[], object] = lambda: subprocess.run(line, check=True, env=environment())  # noqa: E731
        return min(take_turns({"et-opt": run}, ROUNDS)["et-opt"])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.ir_scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    rows: list[list[str]] = []
    started = et_opt(0)
    smallest: tuple[float, float] | None = None
    for size in progress(SIZES, "ir_scaling"):
        parts = ours(size)
        total = sum(parts.values())
        command = et_opt(size) - started
        smallest = smallest or (total / size, command / size)
        growth, command_growth = total / size / smallest[0], command / size / smallest[1]
        rows.append(
            [
                f"{size:,}",
                *(show_time(seconds / size) for seconds in parts.values()),
                show_time(total),
                f"{total / stock(size):.2f}",
                f"{growth:.2f}",
                show_time(command),
                f"{command_growth:.2f}",
                verdict(max(growth, command_growth), GOAL) if size == SIZES[-1] else "",
            ]
        )
    head = [
        "ops",
        "parse/op",
        "verify/op",
        "print/op",
        "all",
        "to xDSL's arith",
        "growth",
        "et-opt",
        "growth",
    ]
    print_table([*head, "goal"], rows)


if __name__ == "__main__":
    main()
