"""Growth of compilation: the time of each pass at 1,000 to 16,000 ops, as an exponent.

    python -m bench.growth                          every shape, on every route
    python -m bench.growth chain --sizes 1000 4000  one shape, other sizes
    python -m bench.growth --routes native xnnpack  for these backends

Time in proportion to the number of ops has the exponent 1, quadratic time 2: it is computed from the two largest sizes.
Listed are the whole compilation and the passes that take more than 3 % of it. Goal: at most 1.15, for the search of
orders and placements 1.25. `make test` counts calls of functions instead (test/unit/et_ir/driver/test_growth.py).
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from bench.measure import print_table, progress, verdict
from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.observer import Observer
from et_ir.driver.stages import backend_stage, edge_stages, executorch_stage, run_stages
from et_ir.passes.backend.lower_partitions import LowerPartitionsPass
from et_ir.passes.backend.partition import PartitionPass
from et_ir.text import parse_module
from et_tools.reading import compiler_context

__all__ = ["ROUTES", "SEARCHES", "SHAPES", "compiled", "exponent"]

SIZES: Final = (1_000, 4_000, 16_000)
ROUTES: Final[Mapping[str, tuple[str, str | None]]] = {
    "stock": ("stock-1.5", None),
    "et-vm": ("et-vm", None),
    "xnnpack": ("stock-1.5", "xnnpack"),
    "native": ("et-vm", "native"),
}
"""The target of each, and the backend that takes what it can."""
GOAL: Final = 1.15
SEARCH_GOAL: Final = 1.25
SEARCHES: Final = frozenset({"reorder", "plan-memory"})
"""Passes that search as long as a budget allows."""
SHARE: Final = 0.03
"""Least share of the time of a compilation, for a pass to be listed."""
TOTAL: Final = "all passes"

_TYPE: Final = "tensor<4x8xf32>"


def _method(body: list[str], result: str, type: str = _TYPE, symbols: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"{symbols}func.func @forward(%x: {type}) -> {type} {{\n{lines}\n    func.return {result} : {type}\n}}\n"


def _chain(size: int) -> str:
    names = ["%x", *(f"%{number}" for number in range(size))]
    operators = ("relu", "sin", "tanh", "neg")
    body = [
        f"{after} = aten.{operators[number % 4]} {before} : {_TYPE}"
        for number, (before, after) in enumerate(pairwise(names))
    ]
    return _method(body, names[-1])


def _parameters(size: int) -> str:
    value = ", ".join(["2.0"] * 32)
    symbols = [
        f"program.parameter @p{number} : {_TYPE} = #program.data<f32, [{value}]>" for number in range(size)
    ]
    body = ["%0 = aten.relu %x : " + _TYPE]
    for number in range(size):
        body.append(f"%p{number} = program.get @p{number} : {_TYPE}")
        body.append(f"%{number + 1} = aten.mul.Tensor %{number}, %p{number} : {_TYPE}")
    return _method(body, f"%{size}", symbols="\n".join(symbols) + "\n")


def _residual(size: int) -> str:
    body = ["%0 = aten.relu %x : " + _TYPE]
    for number in range(size // 2):
        body.append(f"%r{number} = aten.sin %{number} : {_TYPE}")
        body.append(f"%{number + 1} = aten.add.Tensor %{number}, %r{number} : {_TYPE}")
    return _method(body, f"%{size // 2}")


def _wide_sum(size: int) -> str:
    half = size // 2
    body = [f"%r{number} = aten.mul.Scalar %x {{other = {number + 2}.0}} : {_TYPE}" for number in range(half)]
    body.append(f"%0 = aten.add.Tensor %r0, %r1 : {_TYPE}")
    body += [
        f"%{number - 1} = aten.add.Tensor %{number - 2}, %r{number} : {_TYPE}" for number in range(2, half)
    ]
    return _method(body, f"%{half - 2}")


def _split(size: int, pieces: Callable[[int], str], body: list[str]) -> str:
    whole, part = f"tensor<4x{size}xf32>", "tensor<4x1xf32>"
    parts = ", ".join([part] * size)
    results = ", ".join(f"%s{number}" for number in range(size))
    operands = ", ".join(pieces(size - 1 - number) for number in range(size))
    return _method(
        [
            f"{results} = aten.split.Tensor %x {{split_size = 1, dim = 1}} : ({whole}) -> ({parts})",
            *body,
            f"%c = aten.cat [{operands}] {{dim = 1}} : ({parts}) -> {whole}",
        ],
        "%c",
        whole,
    )


def _split_and_cat(size: int) -> str:
    body = [f"%r{number} = aten.relu %s{number} : tensor<4x1xf32>" for number in range(size)]
    return _split(size, "%r{}".format, body)


def _reversed_parts(size: int) -> str:
    return _split(size, "%s{}".format, [])


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
    "chain": _chain,
    "parameters": _parameters,
    "residual": _residual,
    "wide sum": _wide_sum,
    "split and cat": _split_and_cat,
    "reversed parts": _reversed_parts,
}
"""By name, the text at the ATen level of about as many ops as are asked for: what has made a pass quadratic."""


def compiled(shape: str, size: int, route: str, observer: Observer) -> None:
    """Compile a program of about `size` ops on one of `ROUTES`."""
    target, backend = ROUTES[route]
    config = ExecutorchBackendConfig(target=target)
    delegating = () if backend is None else (PartitionPass(backend), LowerPartitionsPass())
    stages = [*edge_stages(EdgeCompileConfig()), backend_stage(delegating), executorch_stage(config)]
    run_stages(parse_module(compiler_context(), SHAPES[shape](size)), stages, observer)


def exponent(smaller: float, larger: float, ratio: float) -> float:
    """The power of the size that a cost grows with, which is `larger` where the size is `ratio` times as large."""
    return math.log(larger / smaller) / math.log(ratio)


class _Times(Observer):
    """Seconds of processor time by pass."""

    def __init__(self) -> None:
        self.by_pass: Counter[str] = Counter()
        self._start = 0.0

    def before_pass(self, one: ModulePass, module: ModuleOp) -> None:
        self._start = time.process_time()

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        self.by_pass[one.name] += time.process_time() - self._start


def _times(shape: str, size: int, route: str) -> Mapping[str, float]:
    times = _Times()
    compiled(shape, size, route, times)
    return {**times.by_pass, TOTAL: sum(times.by_pass.values())}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}; all unless given"
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="ops, at least two sizes"
    )
    parser.add_argument("--routes", nargs="+", choices=ROUTES, default=list(ROUTES), help="all unless given")
    args = parser.parse_args()
    unknown = [shape for shape in args.shapes if shape not in SHAPES]
    if unknown or len(args.sizes) < 2:
        parser.error(f"unknown shape '{unknown[0]}'" if unknown else "--sizes: two are needed")
    *_, smaller, larger = sizes = sorted(args.sizes)
    rows: list[list[str]] = []
    runs = [(shape, route) for shape in args.shapes or SHAPES for route in args.routes]
    for shape, route in progress(runs, "growth"):
        _times(shape, sizes[0], route)  # what is computed once in a process
        found = {size: _times(shape, size, route) for size in sizes}
        for name in sorted(found[larger], key=lambda name: -found[larger][name]):
            if found[larger][name] < SHARE * found[larger][TOTAL] or not found[smaller].get(name):
                continue
            grows = exponent(found[smaller][name], found[larger][name], larger / smaller)
            rows.append(
                [
                    shape,
                    route,
                    name,
                    *(f"{found[size].get(name, 0) / size * 1e6:.1f}" for size in sizes),
                    f"{grows:.2f}",
                    verdict(round(grows, 2), SEARCH_GOAL if name in SEARCHES else GOAL),
                ]
            )
    print_table(
        ["shape", "route", "pass", *(f"µs/op at {size:,}" for size in sizes), "exponent", "goal"], rows
    )


if __name__ == "__main__":
    main()
