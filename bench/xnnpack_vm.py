"""Programs delegated to XNNPACK on et-vm, beside the same models undelegated, compiled for it.

    python -m bench.xnnpack_vm [--kernels portable|aten] [--load] [--threads N] [--repeat N] [MODEL …]

The files of our partitioner and of stock's, and the undelegated one, take turns in one process; figures are medians
over the rounds, of one inference or, with `--load`, of loading: from the path to a method that could be executed. The
goal of inference is a ratio of at most 1: delegating does not make a program slower.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from typing import Any

from bench.measure import (
    median_ratio,
    print_table,
    progress,
    rounds_for,
    set_threads,
    show_time,
    take_turns,
    verdict,
)
from bench.xnnpack import MODELS

GOAL = 1.0
FILES = ("ours-for-vm", "ours-xnnpack", "stock-xnnpack")


def row(name: str, kernels: str, rounds: int | None, *, load: bool) -> list[str]:
    from bench.subjects import file, quiet, subject
    from et_vm.runtime import Runtime

    model = subject(name)
    with quiet():
        paths = {compiler: file(model, compiler) for compiler in FILES}
    runtime = Runtime()
    inputs = model.inputs

    def loading(compiler: str) -> Callable[[], Any]:
        return lambda: runtime.load_program(paths[compiler], kernels=kernels).load_method("forward")

    def inference(compiler: str) -> Callable[[], Any]:
        method = loading(compiler)()
        return lambda: method.execute(inputs)

    runs = {compiler: (loading if load else inference)(compiler) for compiler in FILES}
    pace = sum(times[0] for times in take_turns(runs, 1, warmup=2).values())
    seconds = take_turns(runs, rounds or rounds_for(pace, budget=6, most=200))
    alone, *delegated = FILES
    cells = [name, show_time(statistics.median(seconds[alone]))]
    for compiler in delegated:
        ratio = median_ratio(seconds[compiler], seconds[alone])
        cells += [show_time(statistics.median(seconds[compiler])), f"{ratio:.2f}"]
        cells += [] if load else [verdict(ratio, GOAL)]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.xnnpack_vm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--kernels", choices=("portable", "aten"), default="portable")
    parser.add_argument("--load", action="store_true", help="measure loading")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of numpy and torch")
    parser.add_argument("--repeat", type=int, help="rounds; as many as fit into six seconds unless given")
    options = parser.parse_args()
    set_threads(options.threads)
    goal = [] if options.load else ["goal"]
    head = ["model", "undelegated", "ours", "ratio", *goal, "stock's", "ratio", *goal]
    models = options.model or MODELS
    print_table(
        head,
        [
            row(name, options.kernels, options.repeat, load=options.load)
            for name in progress(models, "xnnpack_vm")
        ],
    )


if __name__ == "__main__":
    main()
