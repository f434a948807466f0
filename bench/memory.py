"""Peak memory while compiling a model with 1 GB of weights, above torch's own copy.

    python -m bench.memory [--gigabytes 1.0] [--stock] [MODEL …]

Of the models, "linear" has weights that reach the file as they are, and "convolutional" has batch norms,
which are folded, so that the compiler computes all weights anew.

A child process makes the model and exports it; then it says so, waits, and compiles to a file. The parent
reads the child's anonymous memory (`RssAnon` of `/proc/<pid>/status`: heap, and nothing that is merely a
mapped file and can be dropped) every few milliseconds: no thread of the child that has to wait for the
interpreter's lock can miss the peak. The figure is the highest value seen while compiling less the value
before it, at which the only large thing is torch's copy of the weights. Goal: at most 256 MB.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import print_table, progress, verdict

WIDTH = 4096
CHANNELS = 1024
INTERVAL = 0.002
GOAL = 256.0
MEGABYTE = 1e6


def ours(output: Path) -> Callable[[Any], None]:
    """Our compiler, imported, as a function from an exported program to the file `output`."""
    from et_ir import to_edge

    return lambda program: to_edge(program).to_executorch().save(output)


def stock(output: Path) -> Callable[[Any], None]:
    """The same of the stock compiler."""
    warnings.simplefilter("ignore")  # about its own use of deprecated functions
    from executorch.exir import to_edge

    def lower(program: Any) -> None:
        with output.open("wb") as file:
            to_edge(program).to_executorch().write_to_file(file)

    return lower


def linear(torch: Any) -> tuple[list[Any], Any]:
    """The modules of one layer of 67 MB, and an input."""
    return [torch.nn.Linear(WIDTH, WIDTH, bias=False)], torch.ones(1, WIDTH)


def convolutional(torch: Any) -> tuple[list[Any], Any]:
    """The modules of one layer of 38 MB, and an input."""
    convolution = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False)
    return [convolution, torch.nn.BatchNorm2d(CHANNELS)], torch.ones(1, CHANNELS, 4, 4)


MODELS = {"linear": linear, "convolutional": convolutional}


def child(compiler: str, model: str, gigabytes: float, output: Path) -> None:
    """Make a model of that size, export it, wait for a line on standard input, compile to `output`."""
    import torch

    modules: list[Any] = []
    weights = 0
    example: Any = None
    while weights < gigabytes * 1e9:
        layer, example = MODELS[model](torch)
        modules += layer
        weights += layer[0].weight.nbytes
    module = torch.nn.Sequential(*modules).eval()
    program = torch.export.export(module, (example,))
    lower = ours(output) if compiler == "ours" else stock(output)
    print("ready", flush=True)
    sys.stdin.readline()
    lower(program)


def anonymous(pid: int) -> int:
    """Bytes of anonymous memory of a process that is resident; 0 once the process has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(compiler: str, model: str, gigabytes: float) -> tuple[int, int, float, int]:
    """Bytes before compiling, bytes at the peak, seconds, and the size of the file."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "model.pte"
        line = [
            sys.executable,
            "-m",
            "bench.memory",
            "--child",
            compiler,
            "--gigabytes",
            str(gigabytes),
            model,
        ]
        with subprocess.Popen(
            [*line, "--output", str(output)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise SystemExit(f"the process that should compile ended early ({process.wait()})")
            before = peak = anonymous(process.pid)
            start = time.perf_counter()
            process.stdin.write("go\n")
            process.stdin.flush()
            while process.poll() is None:
                peak = max(peak, anonymous(process.pid))
                time.sleep(INTERVAL)
            seconds = time.perf_counter() - start
        if process.returncode:
            raise SystemExit(f"compiling failed ({process.returncode})")
        return before, peak, seconds, output.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of weights, 10^9 bytes each")
    parser.add_argument("--stock", action="store_true", help="measure the stock compiler too, for comparison")
    parser.add_argument("--child", choices=["ours", "stock"], help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.model[0], options.gigabytes, options.output)
        return
    rows: list[list[str]] = []
    sides = ("ours", "stock") if options.stock else ("ours",)
    for model, compiler in progress(itertools.product(options.model or MODELS, sides), "memory"):
        before, peak, seconds, size = measure(compiler, model, options.gigabytes)
        above = (peak - before) / MEGABYTE
        megabytes = [f"{count / MEGABYTE:,.0f} MB" for count in (size, before, peak, peak - before)]
        goal = verdict(above, GOAL) if compiler == "ours" else ""
        rows.append([f"{model}, {compiler}", *megabytes, f"{seconds:.1f} s", goal])
    print_table(["model", "file", "before", "peak", "above", "time", "goal in MB"], rows)


if __name__ == "__main__":
    main()
