"""Per-kernel profile of a file on the stock runtime.

The runtime's wheel writes no traces, so that the times have to be found from outside.

    python -m bench.stock_profile MODEL [--compiler stock] [--top 20]
    python -m bench.stock_profile FILE

For each kernel call of the first method, one of those on the same types is executed alone, many times in one
program with the registers of the whole. Its time is that program's less that of a program without instructions,
which copies inputs and outputs just so. It is processor time, on one thread unless `--threads` says otherwise, the
least of some executions, and so much the same while other programs run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from bench.measure import print_table, set_threads, show_time
from et_schema import program as schema
from et_schema.pte import PteFile, read_pte, serialize_pte

REPEAT = 20
EXECUTIONS = 3


class StockRuntime:
    """Executes parts of a program on the stock runtime."""

    def __init__(self, pte: PteFile, inputs: list[Any]):
        self.pte = pte
        self.plan = pte.program.execution_plan[0]
        self.inputs = inputs
        self.instructions = list(self.plan.chains[0].instructions)

    def seconds(self, instructions: list[schema.Instruction], executions: int = EXECUTIONS) -> float:
        """Least processor time of some executions of these instructions."""
        from executorch.runtime import Runtime

        from bench.subjects import quiet

        chain = self.plan.chains[0]
        chain.instructions = instructions
        chain.stacktrace = []
        data = bytes(serialize_pte(self.pte.program, [[segment] for segment in self.pte.segments]))
        with quiet():
            program: Any = Runtime.get().load_program(data)
            method = program.load_method(self.plan.name)
            times: list[float] = []
            for _ in range(executions):
                start = time.process_time()
                method.execute(self.inputs)
                times.append(time.process_time() - start)
        return min(times)


def describe(call: schema.KernelCall, plan: schema.ExecutionPlan) -> str:
    """The kernel's name and the shapes of its tensors; constants carry a star."""
    operator = plan.operators[call.op_index]
    shapes: list[str] = []
    for index in call.args[:-1]:
        value = plan.values[index].val
        if isinstance(value, schema.Tensor):
            shapes.append("x".join(map(str, value.sizes)) + "*" * bool(value.data_buffer_idx) or "()")
    name = f"{operator.name}.{operator.overload}" if operator.overload else operator.name
    return f"{name}({', '.join(shapes)})"


def zeros(plan: schema.ExecutionPlan) -> list[Any]:
    """A tensor of zeros, or the value that the file gives, for each input of a method."""
    import torch

    from et_schema.scalar_type import ScalarType

    inputs: list[Any] = []
    for index in plan.inputs:
        value = plan.values[index].val
        if isinstance(value, schema.Tensor):
            dtype = getattr(torch, ScalarType(value.scalar_type).torch_name)
            inputs.append(torch.zeros(list(value.sizes), dtype=dtype))
        else:
            inputs.append(getattr(value, f"{type(value).__name__.lower()}_val", None))
    return inputs


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.stock_profile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("subject", help="an example, or a .pte file")
    parser.add_argument("--compiler", choices=["ours", "stock"], default="ours", help="of an example")
    parser.add_argument("--top", type=int, default=20, help="how many kinds of calls to show")
    parser.add_argument("--threads", type=int, default=1, help="for the stock runtime's products")
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports torch
    from bench.subjects import file, subject

    path = Path(options.subject)
    if not path.exists():
        path = file(subject(options.subject), options.compiler)
    pte = read_pte(path.read_bytes())
    runtime = StockRuntime(pte, zeros(pte.program.execution_plan[0]))
    base = runtime.seconds([], executions=10)
    total = runtime.seconds(runtime.instructions) - base
    groups: dict[str, list[schema.Instruction]] = {}
    for instruction in runtime.instructions:
        if isinstance(instruction.instr_args, schema.KernelCall):
            groups.setdefault(describe(instruction.instr_args, runtime.plan), []).append(instruction)
    found = [
        (max(0.0, runtime.seconds(calls[:1] * REPEAT) - base) / REPEAT, len(calls), name)
        for name, calls in groups.items()
    ]
    found.sort(key=lambda entry: -entry[0] * entry[1])
    print(f"{path}: {show_time(total)} in {len(runtime.instructions)} instructions\n")
    rows = [
        [name, str(count), show_time(each), show_time(each * count), f"{each * count / total:.1%}"]
        for each, count, name in found[: options.top]
    ]
    print_table(["kernel", "calls", "each", "together", "of the whole"], rows)


if __name__ == "__main__":
    main()
