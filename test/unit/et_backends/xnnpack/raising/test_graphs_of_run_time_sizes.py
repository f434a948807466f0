"""Graphs for XNNPACK with sizes known at run time, or rows quantized then: raised, and compiled for each runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_backends.xnnpack.raising.rows import quantized_rows
from et_ir import raise_program
from et_ir.data import Blob
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.sizes import RANGES, RangesAttr
from et_ir.dialects.schema.tensors import Size, sized_tensor
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import EdgeProgramManager
from et_ops.intervals import Interval
from et_ops.sizes import Expression
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

Array = np.ndarray[Any, Any]
CONFIG = ExecutorchBackendConfig(target="et-vm")
BEST = next(name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags))
SEQUENCE = Expression.of("s0")
MOST = 8


class Method:
    """A method of edge ops under construction, with one input."""

    def __init__(self, *sizes: Size) -> None:
        self.module, self.block = ModuleOp([]), Block()
        self.function = FuncOp("forward", ([], []), Region(self.block))
        if any(isinstance(size, Expression) for size in sizes):
            self.function.attributes[RANGES] = RangesAttr.of({"s0": Interval(2, MOST)})
        self.module.body.block.add_op(self.function)
        self.x = self.block.insert_arg(sized_tensor(f32, sizes), 0)

    def op(self, name: str, *args: Any, **kwargs: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, **kwargs)
        self.block.add_op(made)
        return made.results[0]

    def constant(self, array: Array, element: Attribute = f32) -> SSAValue:
        blob = Blob.of("c", np.ascontiguousarray(array).tobytes())
        made = Globals(self.module).add_constant("c", sized_tensor(element, array.shape), blob)
        get = GetOp(made.key, made.type)
        self.block.add_op(get)
        return get.result

    def finish(self, result: SSAValue) -> EdgeProgramManager:
        self.block.add_op(ReturnOp(result))
        self.function.function_type = FunctionType.from_lists([self.x.type], [result.type])
        return EdgeProgramManager(self.module)


def layer_of_rows(rows: Size, group: int) -> EdgeProgramManager:
    """A layer of rows that are quantized by themselves, with weights by channel, or of 4 bits in groups."""
    rng, columns, outputs = np.random.default_rng(0), 64, 5
    made = Method(rows, columns)
    x = quantized_rows(made.op, made.x)
    name = "quantized_decomposed.dequantize_per_channel"
    if group:
        weight = made.constant(rng.integers(-8, 8, (outputs, columns)).astype(np.int8), i8)
        # Of few bits, as bf16 holds them.
        scales = made.constant(rng.integers(1, 128, (outputs, columns // group)).astype(np.float32) / 512)
        restored = made.op(f"{name}_group", weight, scales, None, -8, 7, i8, group, f32)
    else:
        weight = made.constant(rng.integers(-127, 128, (outputs, columns)).astype(np.int8), i8)
        scales = made.constant(rng.random(outputs).astype(np.float32) + 0.1)
        restored = made.op(name, weight, scales, None, 0, -127, 127, i8)
    bias = made.constant(rng.random(outputs).astype(np.float32))
    return made.finish(made.op("linear", x, restored, bias))


def scores() -> EdgeProgramManager:
    """Products of a sequence with itself, of a layer of each of its rows."""
    rng = np.random.default_rng(0)
    made = Method(2, SEQUENCE, 6)
    weight, bias = made.constant(rng.random((4, 6)).astype(np.float32)), made.constant(np.ones(4, np.float32))
    y = made.op("relu", made.op("linear", made.x, weight, bias))
    product = made.op("bmm", y, made.op("permute_copy", y, [0, 2, 1]))
    return made.finish(made.op("_softmax", product, -1, False))


def outputs(file: bytes, x: Array) -> Array:
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    return np.array(method.execute([x])[0])


CASES: dict[str, tuple[Callable[[], EdgeProgramManager], Callable[[int], tuple[int, ...]], bool]] = {
    "rows": (lambda: layer_of_rows(5, 0), lambda _: (5, 64), False),
    "rows, groups": (lambda: layer_of_rows(5, 32), lambda _: (5, 64), False),
    "rows of any number": (lambda: layer_of_rows(SEQUENCE, 0), lambda n: (n, 64), True),
    "rows of any number, groups": (lambda: layer_of_rows(SEQUENCE, 32), lambda n: (n, 64), True),
    "scores": (scores, lambda n: (2, n, 6), True),
}
"""What makes a program, the shape of its input for a size, and whether sizes vary."""


@pytest.mark.parametrize("name", CASES)
def test_graphs_that_are_raised(name: str) -> None:
    build, shape, varies = CASES[name]
    edge = build().to_backend(XnnpackPartitioner())
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    file = edge.to_executorch(CONFIG).buffer
    raised = raise_program(file)
    assert "backend.call" not in {op.name for op in raised.module.walk()}
    delegated = raised.to_backend(XnnpackPartitioner())
    assert delegated.to_executorch(CONFIG).buffer == file
    native = raised.to_backend(NativePartitioner(instruction_sets=[BEST]))
    assert not [op.name for op in native.module.walk() if op.name.startswith("edge.")]
    rng = np.random.default_rng(1)
    for size in (2, 5, MOST) if varies else (0,):
        x = rng.standard_normal(shape(size)).astype(np.float32)
        expected = outputs(file, x)
        for again in (raised, native):
            found = outputs(again.to_executorch(CONFIG).buffer, x)
            # An integer that is at a tie would be 1 % of the result off.
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
