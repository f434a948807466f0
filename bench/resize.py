"""Run-time overhead of dynamic shapes.

Runs of a file for any size, beside the same model exported for one size.

    python -m bench.resize [--threads N] [MODEL …]

"steady" is runs at one size after another of that size; goal: at most 1.05 times the static file. "resize" is a run at
another size than the one before, in which all calls are prepared again, beside the mean of the static files for both.
Lengths are up to 128 (64 for the translator, which has a loop in it), batches up to 4. Both files are compiled for
et-vm; runs on both of its libraries.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from pathlib import Path
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

GOAL = 1.05
SIZES = {"bert": (64, 48), "llama": (64, 48), "resnet18": (2, 1), "translator": (10, 8)}
"""The size that is measured, and the other."""
MODELS = tuple(SIZES)


def inputs_of(name: str, arguments: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """The example's inputs in another length, or another batch of images."""
    import torch

    if name == "resnet18":
        return tuple(torch.cat([value] * size) for value in arguments)
    return tuple(value[:, :size].contiguous() for value in arguments)


def files(name: str) -> dict[str, Path]:
    """The file for any size and those for the two sizes, kept like those of the other measurements."""
    from torch.export import Dim

    from bench.subjects import methods_file, subject

    model = subject(name)

    def made(size: int, shapes: Any) -> Callable[[], dict[str, Any]]:
        example = inputs_of(name, model.arguments, size)
        return lambda: {"forward": (model.module, example, shapes)}

    longest = 64 if name == "translator" else 128
    dim = {0: Dim("batch", min=1, max=4)} if name == "resnet18" else {1: Dim("length", min=2, max=longest)}
    found = {"any": methods_file(f"{name}-any", made(SIZES[name][0], (dim,) * len(model.arguments)), "et-vm")}
    for size in SIZES[name]:
        found[str(size)] = methods_file(f"{name}-{size}", made(size, None), "et-vm")
    return found


def row(name: str, library: str) -> list[str]:
    from bench.subjects import subject
    from et_vm.runtime import Runtime

    size, other = SIZES[name]
    methods = {
        label: Runtime.get().load_program(path, kernels=library).load_method("forward")
        for label, path in files(name).items()
    }
    arguments = subject(name).arguments
    inputs = {n: [value.numpy() for value in inputs_of(name, arguments, n)] for n in (size, other)}

    def run(label: str, n: int) -> Callable[[], object]:
        return lambda: methods[label].execute(inputs[n])

    pace = take_turns({"static": run(str(size), size)}, 3, warmup=1)["static"][0]
    rounds = rounds_for(pace, budget=12, least=20, most=200)
    steady = take_turns({"any": run("any", size), "static": run(str(size), size)}, rounds, warmup=3)
    # The first run is the resize, those of the static files are what it would cost with nothing to prepare.
    resized = take_turns(
        {
            "any": run("any", other),
            "static": run(str(other), other),
            "any back": run("any", size),
            "static back": run(str(size), size),
        },
        rounds_for(2 * pace, budget=6, least=10),
    )
    ratio = median_ratio(steady["any"], steady["static"])
    changes = [a + b for a, b in zip(resized["any"], resized["any back"], strict=True)]
    same = [a + b for a, b in zip(resized["static"], resized["static back"], strict=True)]
    return [
        f"{name}, {library}",
        show_time(statistics.median(steady["any"])),
        show_time(statistics.median(steady["static"])),
        f"{ratio:.3f}",
        verdict(ratio, GOAL),
        show_time(statistics.median(changes) / 2),
        f"{median_ratio(changes, same):.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.resize",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), help="for numpy's BLAS and torch alike"
    )
    options = parser.parse_args()
    set_threads(options.threads)  # which is why nothing above imports numpy
    names = options.model or MODELS
    for name in names:
        if name not in MODELS:
            parser.error(f"there is no example {name}; there are {', '.join(MODELS)}")
    import torch

    torch.set_num_threads(options.threads)
    rows = [row(name, library) for name in progress(names, "resize") for library in ("portable", "aten")]
    print_table(["model", "any size", "static", "ratio", "goal", "resize", "ratio"], rows)


if __name__ == "__main__":
    main()
