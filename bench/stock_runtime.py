"""Our files on the stock runtime, against the stock compiler's own files there: time, arena and file size.

    python -m bench.stock_runtime [--threads N] [-O LEVEL] [MODEL …]

Goals: MobileNetV2 at least 4 times as fast as the stock compiler's, ResNet-18 12 times, BERT 4 times, with results that
differ from theirs by 1e-4 at most; arena and file no larger, but for the arena at `-O2`, which exchanges it for time.
`bench.stock_profile` says which kernels take the time.
"""

from __future__ import annotations

import argparse
import os
import statistics
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

GOALS = {"mobilenet_v2": 1 / 4, "resnet18": 1 / 12, "bert": 1 / 4}
"""Of the stock file's time."""
TOLERANCE = 1e-4


def row(name: str, level: str) -> list[str]:
    from executorch.runtime import Runtime

    from bench.subjects import file, quiet, subject
    from examples.stages import arena_bytes

    model = subject(name)
    paths = {"ours": file(model, f"ours-O{level}"), "stock": file(model, "stock")}
    with quiet():
        methods: dict[str, Any] = {
            compiler: Runtime.get().load_program(str(path)).load_method("forward")
            for compiler, path in paths.items()
        }
    runs = {
        compiler: (lambda method=method: method.execute(model.inputs)) for compiler, method in methods.items()
    }
    results = {compiler: run() for compiler, run in runs.items()}
    difference = max(
        float((ours - stock).abs().max())
        for ours, stock in zip(results["ours"], results["stock"], strict=True)
    )
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
        f"{difference:.1e}",
        _goals(name, level, ratios, difference),
    ]


def _goals(name: str, level: str, ratios: list[float], difference: float) -> str:
    if name not in GOALS:
        return ""
    time, arena, size = ratios
    shares = [time / GOALS[name], size, difference / TOLERANCE]
    return verdict(max(shares if level == "2" else [*shares, arena]), 1.0)


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
    parser.add_argument("-O", dest="level", choices=["0", "1", "2", "s"], default="1", help="of our compiler")
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports torch
    from bench.subjects import NAMES, TRAINED

    print(f"{options.threads} threads, -O{options.level}\n")
    names = options.model or (*NAMES, *TRAINED)
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
        "difference",
        "all goals",
    ]
    print_table(head, [row(name, options.level) for name in progress(names, "stock_runtime")])


if __name__ == "__main__":
    main()
