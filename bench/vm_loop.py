"""Dispatch overhead of the VM's interpreter loop.

Compares a chain of operators on 4 floats with a bare Python loop over the same numpy calls.

    python -m bench.vm_loop [--length 200]

The program is built from schema objects, so the figure is the VM's alone. An execution includes checking and
copying the input and copying the output. Goal for a chain of 200: at most 1.3 times the bare loop.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from bench.measure import median_ratio, print_table, show_time, take_turns, verdict
from et_schema.program import (
    AllocationDetails,
    Chain,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    KernelCall,
    Operator,
    Program,
    SubsegmentOffsets,
    Tensor,
)
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType
from et_vm.runtime import Runtime
from et_vm.tracer import EventTracer

WIDTH = 4
GOAL = 1.3
EXECUTIONS = 200
X, ODD, EVEN, ALPHA = range(4)


def chain_of_adds(length: int) -> bytes:
    """A file whose method adds its input to itself `length` times, in two alternating buffers."""
    values = [
        EValue(
            Tensor(
                scalar_type=ScalarType.FLOAT,
                sizes=[WIDTH],
                dim_order=b"\0",
                allocation_info=AllocationDetails(1, 64 * place),
            )
        )
        for place in range(3)
    ]
    instructions: list[Instruction] = []
    source = X
    for at in range(length):
        out = EVEN if at % 2 else ODD
        instructions.append(Instruction(KernelCall(0, [X, source, ALPHA, out, out])))
        source = out
    plan = ExecutionPlan(
        name="forward",
        values=[*values, EValue(Int(1))],
        inputs=[X],
        outputs=[source],
        chains=[Chain(instructions=instructions)],
        operators=[Operator("aten::add", "out")],
        non_const_buffer_sizes=[0, 192],
    )
    return serialize_pte(Program(execution_plan=[plan], constant_segment=SubsegmentOffsets(0, [0])))


def bare_loop(x: np.ndarray, length: int) -> Callable[[], None]:
    """The same additions in a Python loop, with `out=`."""
    buffers = np.empty((2, WIDTH), np.float32)
    calls: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    source = x
    for at in range(length):
        calls.append((x, source, buffers[at % 2]))
        source = buffers[at % 2]

    def run() -> None:
        add = np.add
        for a, b, out in calls:
            add(a, b, out=out)

    return run


def many(run: Callable[[], object]) -> Callable[[], None]:
    """`run` as often as makes a round long enough to time."""

    def repeat() -> None:
        for _ in range(EXECUTIONS):
            run()

    return repeat


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.vm_loop",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--length", type=int, default=200, help="operators in the chain")
    length = parser.parse_args().length

    file = chain_of_adds(length)
    x = np.arange(WIDTH, dtype=np.float32)
    method = Runtime.get().load_program(file).load_method("forward")
    traced = Runtime.get().load_program(file, tracer=EventTracer()).load_method("forward")
    np.testing.assert_array_equal(method.execute([x])[0], x * (length + 1))
    seconds = take_turns(
        {
            "bare loop": many(bare_loop(x, length)),
            "et_vm": many(lambda: method.execute([x])),
            "et_vm, traced": many(lambda: traced.execute([x])),
        },
        rounds=20,
    )
    rows: list[list[str]] = []
    for name, measured in seconds.items():
        ratio = median_ratio(measured, seconds["bare loop"])
        per_operator = sorted(measured)[len(measured) // 2] / EXECUTIONS / length
        goal = verdict(ratio, GOAL) if name == "et_vm" else ""
        rows.append([name, show_time(per_operator), f"{ratio:.2f}", goal])
    print_table([f"chain of {length} adds on {WIDTH} floats", "per operator", "ratio", "goal"], rows)


if __name__ == "__main__":
    main()
