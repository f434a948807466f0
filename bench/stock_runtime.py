"""Our files on the stock runtime, against the stock compiler's own files there: time, arena and file size.

    python -m bench.stock_runtime [MODEL …]

Goals: MobileNetV2 and BERT faster than the stock compiler's, arena and file no larger.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from executorch.runtime import Runtime

from bench.measure import median_ratio, print_table, rounds_for, show_time, take_turns, verdict
from bench.subjects import NAMES, file, quiet, subject
from examples.stages import arena_bytes

GOALS = ("mobilenet_v2", "bert")


def row(name: str) -> list[str]:
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
    parser.add_argument("model", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    names = parser.parse_args().model or NAMES
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
    print_table(head, [row(name) for name in names])


if __name__ == "__main__":
    main()
