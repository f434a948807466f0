"""Machine code of the native backend against XNNPACK on the stock runtime, onnxruntime, and torch.

    python -m bench.native [--threads N] [--repeat N] [MODEL …]      (needs `pip install ".[bench]"`)

"native" is one inference on et-vm, all of what the backend takes compiled for this machine. "xnnpack" is the stock
compiler's file on the stock runtime, "ort" the model in onnxruntime, "torch" compiled by torch (inductor), "eager"
torch. All take turns in one process with the same threads; times are medians. The waiting threads of each runtime's
pool keep a processor busy for up to some milliseconds, so a turn is a pause in which those of the others come to rest,
an inference that does not count, and one that does: what a loop of inferences takes. The ratio is to the faster of
XNNPACK and onnxruntime. Of the cached decoder it is a step in the middle of its cache; onnxruntime, which has no state,
writes the entry to a copy and forgets it. "left" counts the operators outside of delegates. Goals: time at most 1.05
each and 0.9 as the geometric mean.

The second table is about the files. "compile" is from the ExportedProgram to bytes, in time of the processor, its ratio
to the stock compiler with XNNPACK: of a process in which each has compiled a layer before, so that imports are no part
of it, as they would be of the first model only, nor is what torch.export and the other compiler left to the collector
of garbage; "load" from the path to a method that could be executed; "file" in bytes, its ratio
to the XNNPACK file; "memory" is by how much the resident memory of a process grows at most by loading the file and
executing it, to the XNNPACK file on the stock runtime. Goals: a quarter of the time to compile, 10 ms, 1.1 times the
bytes, no more memory.

The third table has kernels beside the limits of the machine (`bench.machine`): products of a matrix by a constant one
against independent multiply-adds of registers, and chains of pointwise ops against a copy of as many bytes. Times are
those of the kernel alone. Goal: 85 %.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import (
    PAUSE,
    environment,
    median_ratio,
    print_table,
    progress,
    set_threads,
    show_time,
    take_turns,
    verdict,
)

TIME_GOAL = 1.05
MEAN_GOAL = 0.9
COMPILE_GOAL = 0.25
LOAD_GOAL = 10e-3
SIZE_GOAL = 1.1
MEMORY_GOAL = 1.0
LIMIT_GOAL = 0.85
MODELS = (
    "mobilenet_v2",
    "resnet18",
    "bert",
    "llama",
    "mobilenet_v3",
    "vit",
    "unet",
    "detector",
    "cached_llama",
)
PRODUCTS = (256, 512, 1024)
CHAINS = (1 << 17, 1 << 24)
"""Elements of the tensors of a chain: in the L2 cache, and far beyond it."""


def onnx_session(model: Any, threads: int) -> Callable[[], object] | None:
    """An inference of the model in onnxruntime, None for a model that torch does not export to ONNX."""
    import onnxruntime
    import torch

    stream = io.BytesIO()
    try:
        program = torch.onnx.export(model.module, model.arguments, dynamo=True, verbose=False)
        assert program is not None
        program.save(stream)
    except (torch.onnx.errors.OnnxExporterError, RuntimeError):
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(stream.getvalue(), options, providers=["CPUExecutionProvider"])
    inputs = {
        given.name: value.numpy() for given, value in zip(session.get_inputs(), model.inputs, strict=True)
    }
    return lambda: session.run(None, inputs)


def compiled_by_torch(model: Any) -> Callable[[], object] | None:
    """An inference of the model compiled by torch, None where that fails: inductor needs a C++ compiler."""
    import torch

    run: Any = torch.compile(model.module)
    try:
        run(*model.arguments)
    except Exception as error:
        # Whatever inductor raises: it has no error that stands for all of its own.
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"{model.name}: torch.compile fails: {reason}", file=sys.stderr)
        return None
    return lambda: run(*model.arguments)


def measured(name: str, threads: int, rounds: int, folder: Path) -> tuple[list[str], list[str], float]:
    """A row of each of the first two tables, and the ratio of times."""
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.subjects import COMPILERS, quiet, subject
    from bench.xnnpack import kernel_calls
    from et_vm.runtime import Runtime

    torch.set_num_threads(threads)
    model = subject(name)
    program = model.export()
    files: dict[str, Path] = {}
    compiling: dict[str, float] = {}
    for compiler in ("ours-native", "stock-xnnpack"):
        with quiet():
            COMPILERS[compiler](torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(1, 4),)))
            gc.collect()
            start = time.process_time()
            data = COMPILERS[compiler](program)
        compiling[compiler] = time.process_time() - start
        files[compiler] = folder / f"{name}.{compiler}.pte"
        files[compiler].write_bytes(data)
    runtime = Runtime(threads=threads)

    def load() -> Any:
        return runtime.load_program(files["ours-native"], allow_native=True).load_method("forward")

    method = load()
    inputs = model.inputs
    with quiet(), torch.no_grad():
        stock: Any = StockRuntime.get().load_program(str(files["stock-xnnpack"])).load_method("forward")
        runs: dict[str, Callable[[], object]] = {
            "native": lambda: method.execute(inputs),
            "xnnpack": lambda: stock.execute(inputs),
            "eager": lambda: model.module(*model.arguments),
        }
        session = onnx_session(model, threads)
        if session is not None:
            runs["ort"] = session
        compiled = compiled_by_torch(model)
        if compiled is not None:
            runs["torch"] = compiled
        seconds = take_turns(runs, rounds, warmup=2, pause=PAUSE, before=1)
        loading = statistics.median(take_turns({"load": load}, 11)["load"])
    rivals = [seconds[rival] for rival in ("xnnpack", "ort") if rival in seconds]
    ratio = max(median_ratio(seconds["native"], rival) for rival in rivals)
    times = {rival: show_time(statistics.median(taken)) for rival, taken in seconds.items()}
    compile_ratio = compiling["ours-native"] / compiling["stock-xnnpack"]
    size = files["ours-native"].stat().st_size
    size_ratio = size / files["stock-xnnpack"].stat().st_size
    grown = {compiler: growth(compiler, path, inputs, threads) for compiler, path in files.items()}
    memory_ratio = grown["ours-native"] / grown["stock-xnnpack"]
    return (
        [
            name,
            *(times.get(rival, "none") for rival in ("native", "xnnpack", "ort", "torch", "eager")),
            f"{ratio:.2f}",
            verdict(ratio, TIME_GOAL),
            str(kernel_calls(files["ours-native"].read_bytes())),
        ],
        [
            name,
            show_time(compiling["ours-native"]),
            f"{compile_ratio:.2f}",
            verdict(compile_ratio, COMPILE_GOAL),
            show_time(loading),
            verdict(loading * 1e3, LOAD_GOAL * 1e3),
            f"{size / 1e6:.1f} MB",
            f"{size_ratio:.2f}",
            verdict(size_ratio, SIZE_GOAL),
            f"{grown['ours-native'] / 1e6:.1f} MB",
            f"{memory_ratio:.2f}",
            verdict(memory_ratio, MEMORY_GOAL),
        ],
        ratio,
    )


# -- memory


def growth(compiler: str, path: Path, inputs: list[Any], threads: int) -> int:
    """Bytes by which a new process grows at most when it loads a file and executes it."""
    import numpy as np

    arrays = path.with_suffix(".npz")
    np.savez(arrays, *(value.numpy() for value in inputs))
    line = [sys.executable, "-W", "ignore", "-m", "bench.native", "--child", compiler, str(path), str(arrays)]
    done = subprocess.run(
        [*line, "--threads", str(threads)], check=True, stdout=subprocess.PIPE, env=environment()
    )
    return int(json.loads(done.stdout.splitlines()[-1]))


def child(compiler: str, path: str, arrays: str, threads: int) -> int:
    """The growth of this process, which has imported the runtime before."""
    import numpy as np

    inputs: list[Any] = list(np.load(arrays).values())
    if compiler == "ours-native":
        from et_vm.runtime import Runtime

        runtime = Runtime(threads=threads)

        def run() -> None:
            method = runtime.load_program(path, allow_native=True).load_method("forward")
            for _ in range(3):
                method.execute(inputs)

    else:
        import torch
        from executorch.runtime import Runtime as StockRuntime

        tensors = [torch.from_numpy(value) for value in inputs]

        def run() -> None:
            method: Any = StockRuntime.get().load_program(path).load_method("forward")
            for _ in range(3):
                method.execute(tensors)

    before = _memory("VmRSS")
    # Resets the peak.
    Path("/proc/self/clear_refs").write_text("5")
    run()
    return _memory("VmHWM") - before


def _memory(label: str) -> int:
    """Bytes of a line of this process's status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{label}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"Linux tells {label}")


# -- limits of the machine


def limits(threads: int, rounds: int) -> list[list[str]]:
    """Rows of the third table."""
    import torch

    from bench.machine import copy, multiply_adds, operations

    rows: list[list[str]] = []
    for size in PRODUCTS:
        x = torch.randn(size, size)
        run = Kernel(torch.nn.Linear(size, size, bias=False), x, threads)
        peak = take_turns({"product": run, "peak": multiply_adds(threads)}, rounds, warmup=5, before=2)[
            "peak"
        ]
        ours = 2 * size**3 / run.seconds(rounds) / 1e9
        rows.append(_row(f"product {size}³", ours, operations(threads) / min(peak) / 1e9, "GF/s"))
    for count in CHAINS:
        x = torch.randn(count)
        run = Kernel(chain(), x, threads)
        nbytes = 4 * count
        copies = take_turns({"chain": run, "copy": copy(nbytes, threads)}, rounds, warmup=5, before=2)["copy"]
        limit = 2 * nbytes / min(copies) / 1e9
        label = f"pointwise chain of {nbytes / 1e6:,.1f} MB"
        rows.append(_row(label, 2 * nbytes / run.seconds(rounds) / 1e9, limit, "GB/s"))
    return rows


def _row(label: str, ours: float, limit: float, unit: str) -> list[str]:
    share = ours / limit
    return [
        label,
        f"{ours:,.0f} {unit}",
        f"{limit:,.0f} {unit}",
        f"{share:.0%}",
        f"≥ {LIMIT_GOAL:.0%}: {'reached' if share >= LIMIT_GOAL else 'MISSED'}",
    ]


class Kernel:
    """A module of one kernel, timed without what is around it."""

    def __init__(self, module: Any, x: Any, threads: int):
        import torch

        from bench.subjects import compile_native, quiet
        from et_vm.runtime import Runtime
        from et_vm.tracer import RecordingTracer

        with quiet():
            data = compile_native(torch.export.export(module.eval(), (x,)))
        self._tracer = RecordingTracer()
        program = Runtime(threads=threads).load_program(data, allow_native=True, tracer=self._tracer)
        self._method = program.load_method("forward")
        self._input = x.numpy()

    def __call__(self) -> None:
        self._method.execute([self._input])

    def seconds(self, last: int) -> float:
        """The shortest time of the last executions."""
        events = self._tracer.delegates
        calls = len(self._tracer.executions)
        each = len(events) // calls
        times = [
            events[each * (call + 1) - 1].end - events[each * call].start
            for call in range(calls - last, calls)
        ]
        return min(times) * 1e-9


def chain() -> Any:
    """Four pointwise ops that one kernel computes, as a module."""
    import torch

    class Chain(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x * 2 + 1) * x

    return Chain()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.native",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--threads", type=int, default=1, help="of each runtime")
    parser.add_argument("--repeat", type=int, default=50, help="rounds of inferences")
    parser.add_argument("--limits", action="store_true", help="only kernels beside the limits of the machine")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # The stock runtime has a thread for each processor; there are as many as it is to use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    set_threads(options.threads)
    if options.child:
        print(child(*options.child, options.threads))
        return
    if not options.limits:
        with tempfile.TemporaryDirectory() as folder:
            made = [
                measured(name, options.threads, options.repeat, Path(folder))
                for name in progress(options.model or MODELS, "native")
            ]
        mean = math.exp(statistics.fmean(math.log(ratio) for *_, ratio in made))
        summary = ["geometric mean", *[""] * 5, f"{mean:.2f}", verdict(mean, MEAN_GOAL), ""]
        print()
        head = ["model", "native", "xnnpack", "ort", "torch", "eager", "ratio", "goal", "left"]
        print_table(head, [*(cells for cells, *_ in made), summary])
        print()
        head = ["model", "compile", "ratio", "goal", "load", "goal in ms"]
        print_table(
            [*head, "file", "ratio", "goal", "memory", "ratio", "goal"], [cells for _, cells, _ in made]
        )
    if options.limits or not options.model:
        print()
        print_table(
            ["kernel", "native", "limit", "share", "goal"], limits(options.threads, 3 * options.repeat)
        )


if __name__ == "__main__":
    main()
