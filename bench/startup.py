"""Wall-clock time of whole commands.

Measures the processes `et-vm run` on a small file and `et-opt --help`.

    python -m bench.startup

Beside each stands what its process cannot do without (Python with numpy, Python with xDSL), and for ``et-vm
run`` the same work with the stock runtime. Goals: 0.25 s and 0.4 s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from bench.measure import environment, print_table, show_time, take_turns, verdict
from bench.subjects import FOLDER, compile_ours

ROUNDS = 10
STOCK = """
import sys, torch
from executorch.runtime import Runtime
Runtime.get().load_program(sys.argv[1]).load_method("forward").execute([torch.ones(4)])
"""


class Small(torch.nn.Module):
    """Two kernels on four floats."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + x)


def small_file() -> Path:
    """The compiled `Small`."""
    path = FOLDER / "small.pte"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compile_ours(torch.export.export(Small(), (torch.ones(4),))))
    return path


def process(*line: str | Path) -> Callable[[], object]:
    """Runs a command line to its end; fails when it does."""
    return lambda: subprocess.run(
        [str(part) for part in line],
        check=True,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.startup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    small = small_file()
    python, commands = sys.executable, Path(sys.executable).parent
    candidates = {
        "et-vm run small.pte": process(commands / "et-vm", "run", small, "--input", "ones"),
        "  python, import numpy": process(python, "-c", "import numpy"),
        "  the same with executorch.runtime": process(python, "-c", STOCK, small),
        "et-opt --help": process(commands / "et-opt", "--help"),
        "  python, import xdsl.xdsl_opt_main": process(python, "-c", "import xdsl.xdsl_opt_main"),
    }
    goals = {"et-vm run small.pte": 0.25, "et-opt --help": 0.4}
    seconds = take_turns(candidates, ROUNDS)
    rows: list[list[str]] = []
    for name, times in seconds.items():
        median = statistics.median(times)
        rows.append(
            [
                name,
                show_time(min(times)),
                show_time(median),
                verdict(median, goals[name]) if name in goals else "",
            ]
        )
    print_table(["process", "fastest", "median", "goal in s"], rows)


if __name__ == "__main__":
    main()
