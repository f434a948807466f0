"""Quantized example models on each runtime: accuracy relative to eager, file sizes, and times.

    python -m bench.quantized [--models …] [--modes …]      results and sizes
    python -m bench.quantized --control [--models …]        `int8` in double precision beside results
    python -m bench.quantized --times [--threads N]         times, compared with stock's files and onnxruntime
    python -m bench.quantized --rows [--threads N]          products of one row with 4-bit weights, and the limit

The first table has by how much results differ at most from those of torch's converted graph in eager, in steps of the
output's grid: its scale where the mode has one for the output, else the 255th part of the output's range. "et-vm" and
"stock" run kernels (stock with its quantized library), the columns of XNNPACK and native what their partitioners take.
"file size" is that of the file for et-vm, relative to floats.

With `--control`, "output" is by how much results differ from the program in double precision, in steps. The other
columns are about each tensor of integers of the program, from those of the runtime before it: how many integers are not
what follows from these in double precision, by how many steps, and how far from a tie the number in double precision
lies there at most. Both with biases as they are, and as multiples of the product of the scales.

With `--rows`, products of floats by 4-bit weights, and of bytes as in 8da4w, with 1 and 2 threads: how much of the rate
at which these threads read memory, measured in turns with them. The goal is 80 %. Programs are loaded by path, as on a
device: the pages of a mapped file are large, as those of the memory that is read, and those of a `bytes` are not.

Times are medians, all candidates in turns in one process, which may use as many processors as it has threads: of native
code, and of our file and stock's for XNNPACK on the stock runtime, of a graph that torchao has quantized, static for
images and with scales computed at run time for BERT; and of onnxruntime's quantization of the model, where
`onnxruntime` and `onnx` are installed. Goals: native at most 0.9 of the fastest of the others, XNNPACK at most 1.05 of
stock's in time and size.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.measure import (
    PAUSE,
    median_ratio,
    print_table,
    progress,
    set_threads,
    show_time,
    take_turns,
    verdict,
)

MODELS = ("mobilenet_v2", "resnet18", "vit", "lstm")
MODES = ("int8", "int8-dynamic", "int8-weights", "8da4w")
TIMED = ("mobilenet_v2", "resnet18", "bert")
NATIVE_GOAL = 0.9
XNNPACK_GOAL = 1.05
ROWS_GOAL = 0.8


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    """An example model in eval mode, and its inputs."""
    from bench.subjects import subject
    from examples.models.recurrent import lstm

    if name == "lstm":
        return lstm()
    found = subject(name)
    return found.module.eval(), found.arguments


def batches(inputs: tuple[Any, ...], count: int) -> list[tuple[Any, ...]]:
    """Random inputs like the given ones; integers are those given."""
    import torch

    torch.manual_seed(0)
    return [
        tuple(torch.randn_like(one) if one.is_floating_point() else one for one in inputs)
        for _ in range(count)
    ]


# -- results


def files(program: Any) -> dict[str, bytes]:
    """The files of a quantized program by runtime."""
    from bench.subjects import compile_for_vm, compile_for_xnnpack, compile_native
    from et_ir import ExecutorchBackendConfig, to_edge

    stock = ExecutorchBackendConfig(target="stock-1.5-quantized")
    return {
        "et-vm": compile_for_vm(program),
        "stock": to_edge(program).to_executorch(stock).buffer,
        "xnnpack": compile_for_xnnpack(program),
        "native": compile_native(program),
    }


def step_of(program: Any, expected: Any) -> float:
    """The step of the output's grid: the scale that restores it, or a part of its range."""
    (output,) = program.graph.find_nodes(op="output")
    last = output.args[0][0]
    if "dequantize_per_tensor" in str(last.target) and isinstance(last.args[1], float):
        return last.args[1]
    return float(expected.max() - expected.min()) / 255


def results_row(name: str, mode: str) -> list[str]:
    """A row of the first table."""
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.subjects import compile_for_vm
    from et_ir.quantization import quantize
    from et_vm.runtime import Runtime

    module, inputs = made(name)
    quantized = quantize(module, inputs, mode, calibration=batches(inputs, 4)).module
    program = torch.export.export(quantized, inputs)
    found = files(program)
    runs: dict[str, Callable[[Any], Any]] = {}
    for label, file in found.items():
        method = Runtime().load_program(file, allow_native=label == "native").load_method("forward")
        if label != "stock":
            runs["xnnpack, et-vm" if label == "xnnpack" else label] = method.execute
        if label in ("stock", "xnnpack"):
            theirs: Any = StockRuntime.get().load_program(file).load_method("forward")
            runs["xnnpack, stock" if label == "xnnpack" else label] = theirs.execute
    worst = dict.fromkeys(runs, 0.0)
    for batch in batches(inputs, 7)[4:]:
        with torch.no_grad():
            expected: Any = program.module()(*batch)
        expected = expected[0] if isinstance(expected, tuple) else expected
        step = step_of(program, expected)
        for label, run in runs.items():
            difference = (torch.as_tensor(run(list(batch))[0]) - expected).abs().max()
            worst[label] = max(worst[label], float(difference) / step)
    floats = len(compile_for_vm(torch.export.export(module, inputs)))
    order = ("et-vm", "stock", "xnnpack, et-vm", "xnnpack, stock", "native")
    cells = [f"{worst[label]:.2g}" for label in order]
    return [name, mode, f"{len(found['et-vm']) / floats:.2f}", *cells]


# -- double precision


def with_all_integers(program: Any, inputs: tuple[Any, ...]) -> Any:
    """A program that returns, behind its results, the real numbers of each tensor that it quantizes."""
    import torch

    graph_module: Any = program.module()
    graph = graph_module.graph
    (output,) = graph.find_nodes(op="output")
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
    restored: list[Any] = []
    for node in graph.find_nodes(op="call_function", target=quantize):
        with graph.inserting_before(output):
            dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
            restored.append(graph.call_function(dequantize, (node, *node.args[1:])))
    results = output.args[0]
    output.args = ((*(results if isinstance(results, tuple | list) else (results,)), *restored),)
    graph._codegen = torch.fx.graph.CodeGen()  # pyright: ignore[reportPrivateUsage]  (results are another tuple)
    graph_module.recompile()
    return torch.export.export(graph_module, inputs)


def control_rows(name: str) -> list[list[str]]:
    """Rows of the table of double precision: how far a model's results are, and its tensors of integers one by one."""
    import torch
    from executorch.runtime import Runtime as StockRuntime

    from bench.double_precision import DoublePrecision
    from et_ir.quantization import quantize
    from et_vm.runtime import Runtime

    module, inputs = made(name)
    quantized = quantize(module, inputs, "int8", calibration=batches(inputs, 4)).module
    exported = torch.export.export(quantized, inputs)
    program = with_all_integers(exported, inputs)
    quantizes = program.graph.find_nodes(
        op="call_function", target=torch.ops.quantized_decomposed.quantize_per_tensor.default
    )
    grids = [(float(node.args[1]), int(node.args[2]), node.args[5]) for node in quantizes]
    compiled = files(program)
    runs: dict[str, Callable[[Any], Any]] = {"eager": lambda given: program.module()(*given)}
    for label, file in compiled.items():
        if label in ("stock", "xnnpack"):
            stock: Any = StockRuntime.get().load_program(file).load_method("forward")
        if label != "stock":
            ours = Runtime().load_program(file, allow_native=label == "native").load_method("forward").execute
            runs["XNNPACK on et-vm" if label == "xnnpack" else label] = ours
        if label in ("stock", "xnnpack"):
            runs["XNNPACK on stock" if label == "xnnpack" else label] = stock.execute
    batch = batches(inputs, 5)[4]
    doubles = [one.double() if one.is_floating_point() else one for one in batch]
    rows: list[list[str]] = []
    with torch.no_grad():
        graph = program.module()
        exact = DoublePrecision(graph).run(*doubles)[0].double()
        step = step_of(exported, exact)
        for label, run in runs.items():
            results = [torch.as_tensor(one) for one in run(list(batch))]
            integers = [
                (torch.round(one.double() / scale) + zero).to(dtype)
                for one, (scale, zero, dtype) in zip(results[-len(grids) :], grids, strict=True)
            ]
            cells = [name, label, f"{float((results[0].double() - exact).abs().max()) / step:.2g}"]
            for integer_biases in (False, True):
                follows = DoublePrecision(graph, integers, integer_biases=integer_biases)
                follows.run(*doubles)
                wrong = [error > 0 for error in follows.errors]
                count = sum(int(one.sum()) for one in wrong)
                largest = max(float(error.max()) for error in follows.errors)
                tie = max(
                    (
                        float(ties[one].max())
                        for ties, one in zip(follows.ties, wrong, strict=True)
                        if one.any()
                    ),
                    default=0.0,
                )
                cells += [f"{count:,}", f"{largest:.0f}", f"{tie:.1e}" if count else ""]
            rows.append([*cells[:3], f"{sum(one.numel() for one in integers):,}", *cells[3:]])
    return rows


# -- products of one row

ROWS = 16384
COLUMNS = 12288


def one_row(counts: Sequence[int], rounds: int) -> list[list[str]]:
    """Rows of the table of products with weights larger than caches: at which share of the rate of reading memory, with
    numbers of threads.
    """
    import torch
    from torch import nn
    from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

    from bench.machine import PART, reads
    from bench.subjects import compile_native
    from et_vm.runtime import Runtime

    q: Any = torch.ops.quantized_decomposed

    def restored_rows(x: torch.Tensor) -> torch.Tensor:
        """Rows as bytes with a scale and a zero point for each, in the operators that 8da4w is imported as."""
        least, most = x.amin(-1).clamp(max=0.0), x.amax(-1).clamp(min=0.0)
        scales = ((most - least) / 255).clamp(min=1e-7)
        points = (-128 - torch.round(least / scales)).clamp(-128, 127)
        levels = (torch.round(x / scales[:, None]) + points[:, None]).clamp(-128, 127).to(torch.int8)
        limits = 0, -128, 127, torch.int8
        return q.dequantize_per_channel(levels, scales, points.long(), *limits, out_dtype=torch.float32)

    class Product(nn.Module):
        """A row by weights of 4 bits in groups; the row in floats, or quantized to bytes."""

        def __init__(self, group: int, *, by_bytes: bool) -> None:
            super().__init__()
            self.group, self.by_bytes = group, by_bytes
            self.register_buffer("weight", torch.randint(-8, 8, (ROWS, COLUMNS), dtype=torch.int8))
            self.register_buffer("scales", torch.rand(ROWS, COLUMNS // group) + 0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.by_bytes:
                x = restored_rows(x)
            weight = q.dequantize_per_channel_group(
                self.weight, self.scales, None, -8, 7, torch.int8, self.group, torch.float32
            )
            return nn.functional.linear(x, weight)

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files: dict[str, Path] = {}
        sizes: dict[str, int] = {}
        x = torch.randn(1, COLUMNS)
        for group in (32, 128):
            for by_bytes in (False, True):
                label = f"groups of {group}, {'bytes' if by_bytes else 'floats'}"
                files[label] = folder / f"{len(files)}.pte"
                files[label].write_bytes(
                    compile_native(torch.export.export(Product(group, by_bytes=by_bytes), (x,)))
                )
                sizes[label] = ROWS * COLUMNS // 2 + ROWS * COLUMNS // group * 4
        rows: list[list[str]] = []
        for threads in counts:
            runs: dict[str, Callable[[], object]] = {"reading": reads(threads)}
            for label, file in files.items():
                method = Runtime(threads=threads).load_program(file, allow_native=True).load_method("forward")
                method.execute([x])  # reads the file
                runs[label] = lambda method=method: method.execute([x])
            seconds = {label: min(one) for label, one in take_turns(runs, rounds).items()}
            rate = PART * threads / seconds["reading"]
            for label, size in sizes.items():
                share = size / seconds[label] / rate
                cells = [f"{size / 1e6:.0f} MB", f"{seconds[label] * 1e3:.2f} ms", f"{rate / 1e9:.1f} GB/s"]
                met = f"≥ {ROWS_GOAL:.0%}: {'reached' if share >= ROWS_GOAL else 'MISSED'}"
                rows.append([label, str(threads), *cells, f"{share:.0%}", met])
        return rows


# -- times


def with_onnxruntime(
    module: Any, inputs: tuple[Any, ...], threads: int, *, dynamic: bool
) -> Callable[[], object]:
    """An inference of the model that onnxruntime has quantized, by channel and in QDQ form where static."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        exported: Any = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
        exported.save(folder / "model.onnx")
        quant_pre_process(str(folder / "model.onnx"), str(folder / "prepared.onnx"))
        names = [one.name for one in onnxruntime.InferenceSession(folder / "model.onnx").get_inputs()]

        class Reader(CalibrationDataReader):
            def __init__(self) -> None:
                self._left = iter(batches(inputs, 4))

            def get_next(self) -> dict[str, Any] | None:
                batch = next(self._left, None)
                return None if batch is None else {n: v.numpy() for n, v in zip(names, batch, strict=True)}

        source, target = folder / "prepared.onnx", folder / "quantized.onnx"
        if dynamic:
            quantize_dynamic(source, target, per_channel=True, weight_type=QuantType.QInt8)
        else:
            quantize_static(source, target, Reader(), per_channel=True, weight_type=QuantType.QInt8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(target, options, providers=["CPUExecutionProvider"])
        arrays = {name: value.numpy() for name, value in zip(names, inputs, strict=True)}
        return lambda: session.run(None, arrays)


def times_row(name: str, threads: int, rounds: int) -> tuple[list[str], float]:
    """A row of the table of times, and the ratio of native code's time to the fastest other one."""
    import torch
    from executorch.runtime import Runtime as StockRuntime
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from bench.subjects import compile_for_xnnpack, compile_native, compile_stock_for_xnnpack
    from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config
    from et_vm.runtime import Runtime

    dynamic = name == "bert"
    module, inputs = made(name)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    prepared = prepare_pt2e(
        torch.export.export(module, inputs).module(), XNNPACKQuantizer().set_global(config)
    )
    for batch in batches(inputs, 4):
        prepared(*batch)
    program = torch.export.export(convert_pt2e(prepared), inputs)
    ours, theirs = compile_for_xnnpack(program), compile_stock_for_xnnpack(program)
    method = (
        Runtime(threads=threads)
        .load_program(compile_native(program), allow_native=True)
        .load_method("forward")
    )
    stock = {
        label: StockRuntime.get().load_program(file).load_method("forward")
        for label, file in (("ours", ours), ("stock", theirs))
    }
    arguments = list(inputs)
    runs: dict[str, Callable[[], object]] = {
        "native": lambda: method.execute(arguments),
        "ours": lambda: stock["ours"].execute(arguments),
        "stock": lambda: stock["stock"].execute(arguments),
    }
    if find_spec("onnxruntime") is not None and find_spec("onnx") is not None:
        runs["onnxruntime"] = with_onnxruntime(module, inputs, threads, dynamic=dynamic)
    seconds = take_turns(runs, rounds, warmup=2, pause=PAUSE, before=1)
    ratio = max(
        median_ratio(seconds["native"], seconds[rival])
        for rival in ("stock", "onnxruntime")
        if rival in seconds
    )
    in_time, in_size = median_ratio(seconds["ours"], seconds["stock"]), len(ours) / len(theirs)
    shown = [
        show_time(statistics.median(seconds[label])) if label in seconds else "none"
        for label in (*runs, "onnxruntime")[:4]
    ]
    return (
        [
            name,
            *shown,
            f"{ratio:.2f}",
            verdict(ratio, NATIVE_GOAL),
            f"{in_time:.2f}",
            verdict(in_time, XNNPACK_GOAL),
            f"{in_size:.2f}",
            verdict(in_size, XNNPACK_GOAL),
        ],
        ratio,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quantized",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", nargs="*", help=f"of {', '.join(dict.fromkeys((*MODELS, *TIMED)))}")
    parser.add_argument("--modes", nargs="*", default=MODES, help=f"of {', '.join(MODES)}; all unless given")
    parser.add_argument("--times", action="store_true", help="times in the place of results")
    parser.add_argument("--control", action="store_true", help="differences from double precision")
    parser.add_argument("--rows", action="store_true", help="products of one row in the place of models")
    parser.add_argument("--threads", type=int, help="of each runtime; 1 unless given, 1 and 2 with --rows")
    parser.add_argument("--repeat", type=int, default=30, help="rounds of inferences")
    options = parser.parse_args()
    if options.times:
        # The stock runtime has a thread for each processor; there are as many as it is to use.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads or 1])
    set_threads(options.threads or 1)

    from bench.subjects import quiet

    rows: list[list[str]] = []
    if options.rows:
        head = [
            "4-bit weights, one row",
            "threads",
            "weights",
            "time",
            "reading alone",
            "of that rate",
            "goal",
        ]
        print_table(head, one_row((options.threads,) if options.threads else (1, 2), options.repeat))
        return
    if options.times:
        ratios: list[float] = []
        for name in progress(options.models or TIMED, "times"):
            with quiet():
                cells, ratio = times_row(name, options.threads or 1, options.repeat)
            rows.append(cells)
            ratios.append(ratio)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(["geometric mean", *[""] * 4, f"{mean:.2f}", verdict(mean, NATIVE_GOAL), *[""] * 4])
        head = ["model", "native", "XNNPACK", "stock's", "onnxruntime", "native", "goal"]
        print_table([*head, "XNNPACK", "goal", "file size", "goal"], rows)
        return
    import executorch.kernels.quantized  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers kernels)

    if options.control:
        for name in progress(options.models or MODELS, "models"):
            with quiet():
                rows += control_rows(name)
        biases = ["differ with exact biases", "by", "from a tie", "with integer biases", "by", "from a tie"]
        head = ["model", "runtime", "output", "integers", *biases]
        print_table(head, rows)
        return
    for name in progress(options.models or MODELS, "models"):
        for mode in options.modes:
            with quiet():
                rows.append(results_row(name, mode))
    head = ["model", "mode", "file size", "et-vm", "stock", "XNNPACK on et-vm", "XNNPACK on stock", "native"]
    print_table(head, rows)


if __name__ == "__main__":
    main()
