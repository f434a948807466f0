"""Programs for XNNPACK on the stock runtime: compiled by our partitioner against stock's XnnpackPartitioner.

    python -m bench.xnnpack [--threads N] [--repeat N] [MODEL …]

"compile" is one compilation from the same ExportedProgram to bytes. "left" are the instructions of a file that are no
delegate's: operators that neither the backend took nor the compiler could leave out. "time" is that of one inference
on the stock runtime, with its own XNNPACK: the median over rounds in which both files took turns, in one process with
the same threads. Goals: compile at most a third, no more left, time at most 1.05.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

from bench.measure import median_ratio, print_table, progress, set_threads, show_time, take_turns, verdict

COMPILE_GOAL = 1 / 3
TIME_GOAL = 1.05
MODELS = (
    "mobilenet_v2",
    "resnet18",
    "bert",
    "llama",
    "mobilenet_v3",
    "vit",
    "unet",
    "detector",
)


def kernel_calls(file: bytes) -> int:
    """The instructions of a file that call kernels."""
    from et_schema.program import KernelCall
    from et_schema.pte import read_pte

    return sum(
        isinstance(instruction.instr_args, KernelCall)
        for plan in read_pte(file).program.execution_plan
        for chain in plan.chains
        for instruction in chain.instructions
    )


def row(name: str, rounds: int) -> list[str]:
    from executorch.runtime import Runtime

    from bench.subjects import COMPILERS, quiet, subject

    model = subject(name)
    program = model.export()
    files: dict[str, bytes] = {}
    compiling: dict[str, float] = {}
    for compiler, run in (("ours", COMPILERS["ours-xnnpack"]), ("stock", COMPILERS["stock-xnnpack"])):
        start = time.perf_counter()
        with quiet():
            files[compiler] = run(program)
        compiling[compiler] = time.perf_counter() - start
    with quiet():
        methods: dict[str, Any] = {
            compiler: Runtime.get().load_program(file).load_method("forward")
            for compiler, file in files.items()
        }
    inputs = model.inputs
    with quiet():
        runs = {
            compiler: (lambda method=method: method.execute(inputs)) for compiler, method in methods.items()
        }
        seconds = take_turns(runs, rounds, warmup=5)
    left = {compiler: kernel_calls(file) for compiler, file in files.items()}
    ratio = median_ratio(seconds["ours"], seconds["stock"])
    compile_ratio = compiling["ours"] / compiling["stock"]
    return [
        name,
        show_time(compiling["ours"]),
        show_time(compiling["stock"]),
        f"{compile_ratio:.2f}",
        verdict(compile_ratio, round(COMPILE_GOAL, 2)),
        str(left["ours"]),
        str(left["stock"]),
        show_time(statistics.median(seconds["ours"])),
        show_time(statistics.median(seconds["stock"])),
        f"{ratio:.3f}",
        verdict(ratio, TIME_GOAL),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.xnnpack",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of numpy and torch")
    parser.add_argument("--repeat", type=int, default=100, help="rounds of inferences")
    options = parser.parse_args()
    set_threads(options.threads)
    head = ["model", "compile", "stock", "ratio", "goal", "left", "stock", "time", "stock", "ratio", "goal"]
    rows = [row(name, options.repeat) for name in progress(options.model or MODELS, "xnnpack")]
    print()
    print_table(head, rows)


if __name__ == "__main__":
    main()
