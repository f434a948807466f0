"""Our files on the stock runtime, against the stock compiler's own files there: time, arena and file size.

    python -m bench.stock_runtime [--threads N] [MODEL …]

Goals: MobileNetV2 and BERT faster than the stock compiler's, arena and file no larger. `bench.stock_profile` says
which kernels take the time.
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

from bench.measure import (
    median_ratio,
    print_table,
    rounds_for,
    set_threads,
    show_time,
    take_turns,
    verdict,
)

GOALS = ("mobilenet_v2", "bert")


def row(name: str) -> list[str]:
    from executorch.runtime import Runtime

    from bench.subjects import file, quiet, subject
    from examples.stages import arena_bytes

    model = subject(name)
    paths = {compiler: file(model, compiler) for compiler in ("ours", "stock")}
    with quiet():
        methods: dict[str, Any] = {
            compiler: Runtime.get().load_program(str(path)).load_method("forward")
            for compiler, path in paths.items()
        }
    runs = {
        compiler: (lambda method=method: method.execute(model.inputs)) for compiler, method in methods.items()
    }
    pace = sum(times[0] for times in take_turns(runs, 1, warmup=0).values())
    seconds = take_turns(runs, rounds_for(pace, budget=20, most=30), warmup=0)
    time_ratio = median_ratio(seconds["ours"], seconds["stock"])
    arenas = {compiler: arena_bytes(path) for compiler, path in paths.items()}
    sizes = {compiler: path.stat().st_size for compiler, path in paths.items()}
    ratios = [time_ratio, arenas["ours"] / arenas["stock"], sizes["ours"] / sizes["stock"]]
    return [
        name,
        show_time(statistics.median(seconds["ours"])),
        show_time(statistics.median(seconds["stock"])),
        f"{ratios[0]:.3f}",
        f"{arenas['ours']:,}",
        f"{arenas['stock']:,}",
        f"{ratios[1]:.3f}",
        f"{sizes['ours']:,}",
        f"{sizes['stock']:,}",
        f"{ratios[2]:.4f}",
        verdict(max(ratios), 1.0) if name in GOALS else "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.stock_runtime",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help="examples; all unless given")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="for the stock runtime's products"
    )
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports torch
    from bench.subjects import NAMES, TRAINED

    print(f"{options.threads} threads\n")
    head = [
        "model",
        "ours",
        "stock",
        "ratio",
        "arena",
        "stock",
        "ratio",
        "file",
        "stock",
        "ratio",
        "all goals",
    ]
    print_table(head, [row(name) for name in options.model or (*NAMES, *TRAINED)])


if __name__ == "__main__":
    main()
