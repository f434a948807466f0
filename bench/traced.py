"""Overhead of tracing: sum of instruction times compared with an untraced execution.

    python -m bench.traced [MODEL …] [--rounds N]

Times are of the thread on its processor, which other processes do not add to; kernels have one thread. Traced and
untraced executions take turns, and the overhead of tracing is the difference of their medians: some of it is in the
times of instructions, the rest between them. The goal is a sum that is off by 5 % of the untraced execution and the
overhead at most. This clock takes longer to read than the usual one, so the overhead is more than what users see.
"""

from __future__ import annotations

import argparse
import statistics
import time

from bench.measure import print_table, set_threads, show_time

GOAL = 0.05
MODELS = ("mobilenet_v2", "resnet18", "bert", "llama")


def row(name: str, backend: str, rounds: int) -> list[str]:
    """The times of one model, portable or through XNNPACK."""
    from bench.subjects import subject
    from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
    from et_ir import to_edge_transform_and_lower
    from et_vm import Program
    from et_vm.devtools.profiling import ProfileRecorder
    from et_vm.platform import Platform

    class Processor(Platform):
        """A clock that stands still while other processes run."""

        def ticks(self) -> int:
            return time.thread_time_ns()

    model = subject(name)
    inputs = [one.numpy() for one in model.inputs]
    partitioner = XnnpackPartitioner() if backend == "xnnpack" else None
    file = to_edge_transform_and_lower(model.export(), partitioner=partitioner).to_executorch().buffer
    recorder = ProfileRecorder()
    program = Program.load(file, platform=Processor())
    traced, plain = program.load_method("forward", tracer=recorder), program.load_method("forward")
    untraced: list[int] = []
    for _ in range(rounds + 1):
        traced.execute(inputs)
        start = time.thread_time_ns()
        plain.execute(inputs)
        untraced.append(time.thread_time_ns() - start)
    runs = recorder.runs[1:]
    whole = statistics.median(untraced[1:])
    overhead = statistics.median(run.end - run.start for run in runs) - whole
    inside = statistics.median(sum(one.end - one.start for one in run.instructions) for run in runs)
    calls = len(runs[0].instructions)
    off = abs(inside - whole)
    return [
        f"{name}, {backend}",
        str(calls),
        show_time(whole / 1e9),
        show_time(overhead / calls / 1e9),
        show_time(inside / 1e9),
        f"{inside / whole - 1:+.1%}",
        f"{overhead / whole:+.1%}",
        "reached" if off <= GOAL * whole + max(overhead, 0) else "MISSED",
    ]


def main() -> None:
    """Print a row for each model and backend."""
    parser = argparse.ArgumentParser(prog="python -m bench.traced", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    set_threads(1)
    head = ["model", "instructions", "untraced", "tracing each", "sum", "sum", "tracing", f"± {GOAL:.0%}"]
    rows = [row(name, backend, args.rounds) for name in args.models for backend in ("portable", "xnnpack")]
    print_table(head, rows)


if __name__ == "__main__":
    main()
