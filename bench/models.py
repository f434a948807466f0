"""Time of one inference: our VM against the stock portable kernels and against torch eager.

    python -m bench.models [--threads N] [MODEL …]

Our files are compiled with et-vm as their target. "portable" runs them on `et-vm`'s numpy kernels beside
the stock compiler's file on the stock runtime (goal: at most 0.1 on MobileNetV2); "aten" runs them on
torch's out variants beside the module itself (goal: at most 1.0 on all four).
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

PORTABLE_GOAL = {"mobilenet_v2": 0.1}
ATEN_GOAL = 1.0


def row(name: str) -> list[str]:
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.subjects import file, quiet, subject
    from et_vm.runtime import Runtime

    model = subject(name)
    arrays = [value.numpy() for value in model.inputs]
    ours = file(model, "ours-for-vm")
    portable = Runtime.get().load_program(ours, kernels="portable").load_method("forward")
    aten = Runtime.get().load_program(ours, kernels="aten").load_method("forward")
    with quiet():
        stock: Any = StockRuntime.get().load_program(str(file(model, "stock"))).load_method("forward")
        stock.execute(model.inputs)

    def eager() -> object:
        with torch.no_grad():
            return model.module(*model.arguments)

    pace = take_turns({"stock": lambda: stock.execute(model.inputs)}, 1, warmup=0)["stock"][0]
    slow = take_turns(
        {"portable": lambda: portable.execute(arrays), "stock": lambda: stock.execute(model.inputs)},
        rounds_for(pace, most=20),
    )
    fast = take_turns(
        {"aten": lambda: aten.execute(model.inputs), "eager": eager}, rounds_for(pace / 50, least=30)
    )
    against_stock = median_ratio(slow["portable"], slow["stock"])
    against_eager = median_ratio(fast["aten"], fast["eager"])
    goal = PORTABLE_GOAL.get(name)
    return [
        name,
        show_time(statistics.median(slow["portable"])),
        show_time(statistics.median(slow["stock"])),
        f"{against_stock:.3f}",
        verdict(against_stock, goal) if goal else "",
        show_time(statistics.median(fast["aten"])),
        show_time(statistics.median(fast["eager"])),
        f"{against_eager:.2f}",
        verdict(against_eager, ATEN_GOAL),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help="example models; all unless given")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="for numpy's BLAS and torch alike"
    )
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports numpy
    import torch

    from bench.subjects import NAMES

    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads\n")
    head = ["model", "portable", "stock portable", "ratio", "goal", "aten", "torch eager", "ratio", "goal"]
    print_table(head, [row(name) for name in progress(options.model or NAMES, "models")])


if __name__ == "__main__":
    main()
