"""Instructions of quantized layers on a Cortex-M4: ours beside kernels in C, both in an emulator.

    PYTHONPATH=test/unit/et_ir python -m bench.target_layers                     # digits and keyword spotting
    PYTHONPATH=test/unit/et_ir python -m bench.target_layers visual_wake_words   # one network

Each convolution and linear layer of a network is compiled on its own for `--target`, with channels innermost as in the
network. The alternative is `bench/reference_layers.c`: kernels in the manner of CMSIS-NN, compiled by clang at `-O3`.
Both read the same bytes, and have to write the same. Layers of equal sizes are measured once; their number is in the
table, and in the totals.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import freestanding_machines as machines
import numpy as np
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from bench.measure import print_table, progress
from bench.subjects import quiet
from et_backends.codegen.kernels.integer_operands import IntegerOperands, integer_operands
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.freestanding.compiler.interface import Interface
from et_backends.freestanding.compiler.programs import FreestandingObject, compile_freestanding
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import WholeProgramPartitioner
from et_ir.analysis.dim_orders import NHWC
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.edge.attributes import with_dim_order
from et_ir.dialects.program import GetOp, GlobalOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.driver.configs import EdgeCompileConfig
from et_ir.driver.kept import KeptOperators
from et_ir.driver.managers import to_edge
from et_ir.quantization import quantize
from et_ops.dtypes import U8
from et_vm.micro.compilers import TARGETS
from examples.digits.network import DigitsNet
from examples.models import mlperf_tiny


def _digits() -> tuple[nn.Module, tuple[Tensor]]:
    """The digits network, untrained: weights do not change what is executed."""
    torch.manual_seed(0)
    return DigitsNet(), (torch.rand(1, 1, 8, 8),)


NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], Iterator[tuple[Tensor]]] | None]] = {
    "digits": (_digits, None),
    "keyword_spotting": (mlperf_tiny.keyword_spotting, mlperf_tiny.keyword_data),
    "visual_wake_words": (mlperf_tiny.visual_wake_words, mlperf_tiny.wake_word_data),
    "image_classification": (mlperf_tiny.image_classification, mlperf_tiny.image_data),
    "anomaly_detection": (mlperf_tiny.anomaly_detection, mlperf_tiny.anomaly_data),
}
SOURCE: Final = Path(__file__).with_name("reference_layers.c")
QUANTIZE, DEQUANTIZE = (f"quantized_decomposed.{name}_per_tensor" for name in ("quantize", "dequantize"))
OFFSET: Final = 128
"""By which activations are moved, which are bytes without a sign in our kernels."""


@dataclass(frozen=True)
class Layer:
    """A convolution or linear layer of a network."""

    name: str
    module: ModuleOp
    """The layer alone, at the edge level: from bytes without a sign to such."""
    window: Window
    operands: IntegerOperands
    scale: float
    """Of the result."""
    zero_point: int
    least: int
    """The lower bound of the result."""
    macs: int

    @property
    def kind(self) -> str:
        """The function of the reference."""
        weights = self.operands.weights
        if weights.ndim == 4 and weights.shape[1] == 1 and self.operands.op.arg("groups") > 1:
            return "depthwise"
        return "product" if self.window.is_point else "convolution"


def layers_of(module: nn.Module, inputs: Any, calibration: Any) -> Iterator[Layer]:
    """The layers of a network in integers."""
    made = quantize(module.eval(), inputs, "int8", calibration=calibration).module
    kept = KeptOperators.of(WholeProgramPartitioner())
    config = EdgeCompileConfig(preserve_ops=tuple(kept.names))
    edge = to_edge(torch.export.export(made, inputs), compile_config=config).module
    for op in list(edge.walk()):
        found = integer_operands(op) if isinstance(op, SchemaOp) else None
        if found is None:
            continue
        chain = [found.op]
        while chain[-1].name != f"edge.{QUANTIZE}":
            (use,) = chain[-1].results[0].uses
            assert isinstance(use.operation, SchemaOp)
            chain.append(use.operation)
        yield _layer(edge, found, chain)


def _layer(edge: ModuleOp, found: IntegerOperands, chain: list[SchemaOp]) -> Layer:
    op, last = found.op, chain[-1]
    result = tensor_type(op.results[0]).get_shape()
    if op.name == "edge.convolution":
        window = window_of(op)
        sizes = "×".join(map(str, found.weights.shape[2:]))
        depthwise = int(op.arg("groups")) > 1
        kind = "depthwise" if depthwise else "convolution"
        name = f"{kind} {sizes}, {tensor_type(op.operands[0]).get_shape()[1]} → {result[1]}, {result[2]}×{result[3]}"
        macs = found.weights.size * result[2] * result[3]
    else:
        window = Window(1, 1, result[0], 1, result[0], 1, 1, 1, 1, 0, 0)
        name = f"linear, {found.weights.shape[1]} → {found.weights.shape[0]}"
        macs = found.weights.size * result[0]
    zero_point = int(last.arg("zero_point"))
    least = int(last.arg("quant_min"))
    if any(one.name == "edge.relu" for one in chain):
        least = max(least, zero_point)
    return Layer(
        name, _alone(edge, found, chain), window, found, float(last.arg("scale")), zero_point, least, macs
    )


def _alone(edge: ModuleOp, found: IntegerOperands, chain: list[SchemaOp]) -> ModuleOp:
    """A module with a layer only, whose activations are bytes without a sign, with channels innermost."""
    start = found.activation
    shape = tensor_type(start.results[0]).get_shape()
    first = Block(arg_types=[_innermost(TensorType(ui8, shape))])
    values: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    begin = _moved(start, first.args[0])
    made.append(begin)
    values[start.results[0]] = begin.results[0]
    needed: list[Operation] = []
    pending = [value for value in chain[0].operands if value is not start.results[0]]
    while pending:
        owner = pending.pop().owner
        assert isinstance(owner, Operation)
        needed.insert(0, owner)
        pending += owner.operands
    made.extend(op.clone(values) for op in [*needed, *chain[:-1]])
    end = _moved(chain[-1], values[chain[-1].operands[0]])
    made.append(end)
    first.add_ops([*made, ReturnOp(end.results[0])])
    for op in (begin, *made[-len(chain) :]):
        Rewriter.replace_value_with_new_type(op.results[0], _innermost(tensor_type(op.results[0])))
    types = FunctionType.from_lists([first.args[0].type], [end.results[0].type])
    used = {op.symbol.string_value() for op in needed if isinstance(op, GetOp)}
    symbols = [op.clone() for op in edge.body.block.ops if isinstance(op, GlobalOp) and op.key in used]
    return ModuleOp([*symbols, FuncOp("forward", types, Region(first))])


def _innermost(type: TensorType[Any]) -> TensorType[Any]:
    return with_dim_order(type, NHWC) if type.get_num_dims() == len(NHWC) else type


def _numbers(op: SchemaOp) -> list[Any]:
    return [op.arg("scale"), *(op.arg(name) + OFFSET for name in ("zero_point", "quant_min", "quant_max"))]


def _moved(op: SchemaOp, operand: SSAValue) -> SchemaOp:
    """A quantization, or its inverse, of bytes without a sign."""
    return OP_BY_NAME[op.name.removeprefix("edge.")].make(operand, *_numbers(op), U8)


# -- the reference


def reference_source(layer: Layer, method: Interface) -> str:
    """The layer in C, as a function that is called as ours is."""
    window, weights = layer.window, layer.operands.weights
    channels = weights.shape[0] if layer.kind == "depthwise" else weights.shape[1]
    if weights.ndim == 4:
        weights = (
            weights[:, 0].transpose(1, 2, 0) if layer.kind == "depthwise" else weights.transpose(0, 2, 3, 1)
        )
    multipliers = (layer.operands.scales * (1.0 / layer.scale)).astype(np.float32)
    quantization = layer.operands.quantization
    assert quantization is not None
    fields = {
        "in_height": window.in_height,
        "in_width": window.in_width,
        "channels": channels,
        "out_height": window.out_height,
        "out_width": window.out_width,
        "filters": layer.operands.weights.shape[0],
        "height": window.height,
        "width": window.width,
        "step_y": window.step_y,
        "step_x": window.step_x,
        "border_y": window.border_y,
        "border_x": window.border_x,
        "offset": -quantization.zero_point,
        "zero_point": layer.zero_point,
        "least": layer.least,
        "most": 127,
    }
    return "\n".join(
        (
            f'#include "{SOURCE}"',
            f"static const int8_t weights[] = {{{','.join(map(str, weights.reshape(-1)))}}};",
            f"static const int32_t bias[] = {{{','.join(str(int(one)) for one in layer.operands.bias)}}};",
            f"static const float multipliers[] = {{{','.join(f'{float(one).hex()}f' for one in multipliers)}}};",
            f"int {method.function}(const int8_t *const *inputs, int8_t *const *outputs, void *arena) {{",
            "  static const layer numbers = {",
            *(f"    .{name} = {number}," for name, number in fields.items()),
            "    .weights = weights, .bias = bias, .multipliers = multipliers};",
            f"  {layer.kind}(&numbers, inputs[0], outputs[0], arena);",
            "  return 0;",
            "}",
        )
    )


def reference_object(layer: Layer, ours: FreestandingObject, folder: Path) -> FreestandingObject:
    """The layer in C as an object with the interface of ours."""
    method = Interface(
        ours.interface.prefix,
        ours.interface.method,
        ours.interface.inputs,
        ours.interface.outputs,
        # Two columns of halves.
        4 * layer.window.height * layer.window.width * int(np.prod(ours.interface.inputs[0].shape[1:2])),
        ours.interface.arena_alignment,
        0,
        (),
    )
    source, code = folder / "layer.c", folder / "layer.o"
    source.write_text(reference_source(layer, method))
    options = (
        "-std=c11",
        "-O3",
        "-ffreestanding",
        "-fno-builtin",
        "-fno-sanitize=all",
        "-fno-stack-protector",
    )
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"), "ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        *TARGETS["cortex-m4"],
        *options,
        "-c",
        source,
        "-o",
        code,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **caches})
    if done.returncode:
        raise RuntimeError(done.stderr)
    return FreestandingObject((method,), (), code.read_bytes(), "", "", 0)


@dataclass(frozen=True)
class Counts:
    """Instructions of a layer: ours, and the reference's."""

    ours: int
    reference: int


def counted(layer: Layer, folder: Path, seed: int = 0) -> Counts:
    """Run a layer in both forms, on random bytes. Raises AssertionError for results that differ."""
    ours = compile_freestanding(layer.module, FREESTANDING_TARGETS["cortex-m4"], "net")
    theirs = reference_object(layer, ours, folder)
    (tensor,) = ours.interface.inputs
    shape = [tensor.shape[dim] for dim in tensor.dim_order]
    x = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    found = machines.run("cortex-m4", folder, ours, [x])
    # Its bytes have a sign.
    expected = machines.run("cortex-m4", folder, theirs, [x ^ np.uint8(OFFSET)])
    np.testing.assert_array_equal(found.outputs[0] ^ np.uint8(OFFSET), expected.outputs[0])
    return Counts(found.instructions, expected.instructions)


def _network(name: str) -> str:
    if name not in NETWORKS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(NETWORKS)}")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=["digits", "keyword_spotting"], type=_network)
    names: list[str] = parser.parse_args().networks
    for name in names:
        make, data = NETWORKS[name]
        with quiet():
            module, inputs = make()[:2]
            calibration = [inputs] if data is None else data()
            found = list(layers_of(module, inputs, calibration))
        groups: dict[str, list[Layer]] = {}
        for layer in found:
            groups.setdefault(layer.name, []).append(layer)
        rows: list[list[str]] = []
        ours = reference = 0
        with TemporaryDirectory() as folder:
            for layers in progress(groups.values(), name):
                first, count = layers[0], len(layers)
                counts = counted(first, Path(folder))
                ours += count * counts.ours
                reference += count * counts.reference
                times = f"{count} × " if count > 1 else ""
                rows.append([times + first.name, f"{first.macs:,}", *_shown(counts.ours, counts.reference)])
        total = sum(layer.macs for layer in found)
        rows.append(["all", f"{total:,}", *_shown(ours, reference)])
        print(f"\n{name}\n")
        print_table(["layer", "multiply-adds", "ours", "reference", "ratio"], rows)


def _shown(ours: int, reference: int) -> list[str]:
    return [f"{ours:,}", f"{reference:,}", f"{ours / reference:.2f}"]


if __name__ == "__main__":
    main()
