"""Machine code of the native backend against XNNPACK on the stock runtime, onnxruntime, and torch.

    python -m bench.native [--threads N] [--repeat N] [MODEL …]      (needs `pip install ".[bench]"`)

"native" is one inference on et-vm, all of what the backend takes compiled for this machine. "xnnpack" is the stock
compiler's file on the stock runtime, "ort" the model in onnxruntime, "eager" torch. All take turns in one process with
the same threads; times are medians. The ratio is to the faster of XNNPACK and onnxruntime. "compile" is from the
ExportedProgram to bytes, its ratio to the stock compiler with XNNPACK. "left" counts the operators outside of
delegates. Goals: time at most 1.05 each and 0.9 as the geometric mean, compile at most a quarter.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.measure import median_ratio, print_table, progress, set_threads, show_time, take_turns, verdict

TIME_GOAL = 1.05
MEAN_GOAL = 0.9
COMPILE_GOAL = 0.25
MODELS = ("mobilenet_v2", "resnet18", "bert", "llama", "mobilenet_v3", "vit", "unet", "detector")


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


def row(name: str, threads: int, rounds: int) -> tuple[list[str], float]:
    """A row of the table, and the ratio of times in it."""
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.subjects import COMPILERS, quiet, subject
    from et_vm.runtime import Runtime

    torch.set_num_threads(threads)
    model = subject(name)
    program = model.export()
    files: dict[str, bytes] = {}
    compiling: dict[str, float] = {}
    for compiler in ("ours-native", "stock-xnnpack"):
        start = time.process_time()
        with quiet():
            files[compiler] = COMPILERS[compiler](program)
        compiling[compiler] = time.process_time() - start
    native = Runtime(threads=threads).load_program(files["ours-native"], allow_native=True)
    method: Any = native.load_method("forward")
    inputs = model.inputs
    with quiet(), torch.no_grad():
        stock: Any = StockRuntime.get().load_program(files["stock-xnnpack"]).load_method("forward")
        runs: dict[str, Callable[[], object]] = {
            "native": lambda: method.execute(inputs),
            "xnnpack": lambda: stock.execute(inputs),
            "eager": lambda: model.module(*model.arguments),
        }
        session = onnx_session(model, threads)
        if session is not None:
            runs["ort"] = session
        seconds = take_turns(runs, rounds, warmup=5)
    rivals = [seconds[rival] for rival in ("xnnpack", "ort") if rival in seconds]
    ratio = max(median_ratio(seconds["native"], rival) for rival in rivals)
    compile_ratio = compiling["ours-native"] / compiling["stock-xnnpack"]
    times = {rival: show_time(statistics.median(taken)) for rival, taken in seconds.items()}
    from bench.xnnpack import kernel_calls

    return [
        name,
        times["native"],
        times["xnnpack"],
        times.get("ort", "not exported"),
        times["eager"],
        f"{ratio:.2f}",
        verdict(ratio, TIME_GOAL),
        str(kernel_calls(files["ours-native"])),
        show_time(compiling["ours-native"]),
        f"{compile_ratio:.2f}",
        verdict(compile_ratio, COMPILE_GOAL),
    ], ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.native",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(MODELS)}; all unless given")
    parser.add_argument("--threads", type=int, default=1, help="of each runtime")
    parser.add_argument("--repeat", type=int, default=50, help="rounds of inferences")
    options = parser.parse_args()
    # The stock runtime has a thread for each processor; there are as many as it is to use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    set_threads(options.threads)
    head = ["model", "native", "xnnpack", "ort", "eager", "ratio", "goal", "left", "compile", "ratio", "goal"]
    made = [
        row(name, options.threads, options.repeat) for name in progress(options.model or MODELS, "native")
    ]
    mean = math.exp(statistics.fmean(math.log(ratio) for _, ratio in made))
    summary = ["geometric mean", *[""] * 4, f"{mean:.2f}", verdict(mean, MEAN_GOAL), *[""] * 4]
    print()
    print_table(head, [*(cells for cells, _ in made), summary])


if __name__ == "__main__":
    main()
