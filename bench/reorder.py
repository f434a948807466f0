"""Arenas of irregular networks: in program order, and with the passes that lower the peak.

    python -m bench.reorder [MODEL …]

"stock" is the arena of the stock compiler's file: the given order, planned greedily. "given order" runs the passes of
our standard pipeline but those that lower the peak, and plans greedily; "ordered" adds the order alone; "ours" is the
standard pipeline. Goal: at most 1/1.5 of stock's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from bench.measure import print_table, progress, verdict

NAMES: Final = ("nasnet_cell", "darts_cell", "randwire")
LOWERING: Final = (
    "reorder",
    "sink-concatenations",
    "rematerialize",
    "split-channels",
    "update-in-place",
    "in-place",
    "concatenate-in-place",
)
"""The passes that lower the peak."""
GOAL: Final = 1 / 1.5


def arena(name: str, without: Sequence[str] = (), algorithm: str = "best") -> int:
    """The arena of an example, in bytes, without some passes."""
    import torch

    from et_ir import to_edge
    from et_ir.dialects.executorch import PlanOp
    from et_ir.driver.configs import ExecutorchBackendConfig
    from et_ir.driver.pipelines import executorch_passes
    from et_ir.driver.stages import run_passes

    model, arguments = getattr(import_module(f"examples.models.{name}"), name)()
    module = to_edge(torch.export.export(model, arguments)).module
    passes = executorch_passes(ExecutorchBackendConfig(memory_planning=algorithm))
    run_passes(module, [one for one in passes if one.name not in without])
    (plan,) = (op for op in module.body.block.ops if isinstance(op, PlanOp))
    return sum(plan.arena_sizes or ())


def stock_arena(name: str) -> int:
    """The arena of the stock compiler's file, in bytes."""
    import torch

    from bench.subjects import compile_stock
    from et_schema.pte import read_pte

    model, arguments = getattr(import_module(f"examples.models.{name}"), name)()
    data = compile_stock(torch.export.export(model, arguments))
    return sum(read_pte(data).program.execution_plan[0].non_const_buffer_sizes)


def row(name: str) -> list[str]:
    given = arena(name, LOWERING, "greedy")
    ordered = arena(name, LOWERING[1:], "greedy")
    ours, stock = arena(name), stock_arena(name)
    figures = [f"{size:,}" for size in (stock, given, ordered, ours)]
    return [name, *figures, f"{ours / given:.3f}", f"{ours / stock:.3f}", verdict(ours / stock, GOAL)]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.reorder",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    names = parser.parse_args().model or NAMES
    head = ["model", "stock", "given order", "ordered", "ours", "to given", "to stock", "goal"]
    print_table(head, [row(name) for name in progress(names, "reorder")])


if __name__ == "__main__":
    main()
