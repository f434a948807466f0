"""Programs of one kernel call, on shapes of the models, and their executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.targets.lookup import find_target
from et_schema import program as schema
from et_schema.pte import read_pte, serialize_pte

Shape = tuple[int, ...]
PLAN = "to-out-variant,write-back,plan-memory,verify-executorch"


@dataclass(frozen=True)
class MeasuredCall:
    """An operator in a function of its own, whose arguments are its operands."""

    op: EdgeOp
    function: FuncOp

    @property
    def shapes(self) -> str:
        return " ".join(_text(value) for value in self.op.operands) + " → " + _text(self.op.results[0])


def _text(value: SSAValue) -> str:
    type = value.type
    assert isinstance(type, TensorType)
    return "×".join(map(str, type.get_shape())) or "()"


def call(op: type[EdgeOp], shapes: list[Shape], *arguments: Any, listed: bool = False) -> MeasuredCall:
    """An operator of f32 tensors of these shapes, a list of them if `listed`, and arguments."""
    types = [TensorType(f32, shape) for shape in shapes]
    block = Block(arg_types=types)
    operands: list[Any] = [list(block.args)] if listed else list(block.args)
    made = op.make(*operands, *arguments)
    results = [result.type for result in made.results]
    block.add_ops([made, ReturnOp(*made.results)])
    return MeasuredCall(made, FuncOp("forward", FunctionType.from_lists(types, results), Region(block)))


def calls(target: str) -> Iterator[MeasuredCall]:
    """The calls that a table is measured by. Stock's convolutions take so long that theirs are small."""
    products = (
        (64, 576, 3136),
        (96, 16, 12544),
        (24, 144, 3136),
        (160, 960, 49),
        (512, 2304, 49),
        (128, 576, 784),
    )
    rows = (
        (2, 4, 3),
        (64, 256, 256),
        (64, 256, 1024),
        (64, 1024, 256),
        (1, 512, 1000),
        (1, 1280, 1000),
        (128, 384, 1536),
    )
    for m, k, n in (*products, *rows):
        yield call(edge.MmOp, [(m, k), (k, n)])
        yield call(edge.LinearOp, [(m, k), (n, k)])
        yield call(edge.AddmmOp, [(n,), (m, k), (k, n)])
        yield call(edge.LinearOp, [(m, k), (n, k), (n,)])
    for b, m, k, n in (
        (1, 2, 4, 3),
        (4, 64, 64, 64),
        (2, 64, 1024, 256),
        (12, 128, 64, 128),
        (4, 128, 512, 32),
        (8, 128, 32, 128),
        (8, 1, 16, 64),
        (8, 64, 16, 1),
        (96, 1, 9, 3136),
        (192, 1, 9, 784),
    ):
        yield call(edge.BmmOp, [(b, m, k), (b, k, n)])
    for inputs, outputs, size, taps, stride in (
        (1, 1, 2, 1, 1),
        (16, 96, 28, 1, 1),
        (64, 64, 14, 1, 1),
        (3, 16, 56, 7, 2),
        (16, 16, 28, 3, 1),
        (64, 64, 14, 3, 1),
        (32, 64, 28, 3, 2),
    ):
        yield _convolution(inputs, outputs, size, taps, stride)
    for channels, size, stride in (
        (8, 8, 1),
        (32, 28, 1),
        (32, 56, 1),
        (96, 56, 2),
        (144, 28, 1),
        (384, 14, 1),
        (960, 7, 1),
    ):
        yield _convolution(channels, channels, size, 3, stride, channels)
    yield from _copies()
    yield from _elementwise()


def _convolution(
    inputs: int, outputs: int, size: int, taps: int, stride: int, groups: int = 1
) -> MeasuredCall:
    pad = taps // 2
    arguments = ([stride, stride], [pad, pad], [1, 1], False, [0, 0], groups)
    shapes = [(1, inputs, size, size), (outputs, inputs // groups, taps, taps), (outputs,)]
    return call(edge.ConvolutionOp, shapes, *arguments)


def _copies() -> Iterator[MeasuredCall]:
    """Calls of operators that change layout."""
    for channels, size, taps, stride in (
        (1, 4, 3, 1),
        (32, 112, 3, 1),
        (96, 14, 3, 1),
        (960, 7, 3, 1),
        (3, 112, 7, 2),
        (64, 28, 3, 1),
        (128, 14, 3, 1),
        (96, 56, 3, 1),
        (512, 7, 3, 1),
    ):
        padded = size + 2 * (taps // 2)
        out = (padded - taps) // stride + 1
        strides = [padded * padded, padded, 1, padded * stride, stride]
        yield call(
            edge.AsStridedCopyOp, [(channels, padded, padded)], [channels, taps, taps, out, out], strides, 0
        )
    for channels, size, pad in ((1, 2, 1), (3, 224, 3), (64, 56, 1), (256, 14, 1), (512, 7, 1)):
        yield call(edge.ConstantPadNdOp, [(channels, size, size)], [pad] * 4, 0.0)
    for rows, columns, count in ((2, 2, 2), (64, 392, 8), (64, 1568, 4), (128, 196, 4), (512, 49, 2)):
        yield call(edge.CatOp, [(rows, columns)] * count, 1, listed=True)
    for channels, size, dim in ((2, 2, 1), (64, 56, 1), (64, 56, 2), (16, 112, 2), (3, 230, 2), (256, 14, 1)):
        sliced = channels if dim == 1 else size
        yield call(edge.SliceCopyTensorOp, [(1, channels, size, size)], dim, 0, sliced // 2, 1)
    for rows, columns in ((2, 4), (64, 256), (256, 256), (1024, 256), (64, 3136)):
        yield call(edge.PermuteCopyOp, [(rows, columns)], [1, 0])
        yield call(edge.TransposeCopyIntOp, [(rows, columns)], 0, 1)
    for shape in ((64, 4, 64), (64, 4, 8), (128, 12, 32)):
        yield call(edge.PermuteCopyOp, [shape], [1, 0, 2])
        yield call(edge.TransposeCopyIntOp, [shape], 0, 1)
    for b, m, n in ((4, 64, 64), (8, 64, 16), (12, 128, 32)):
        yield call(edge.PermuteCopyOp, [(b, m, n)], [0, 2, 1])
        yield call(edge.TransposeCopyIntOp, [(b, m, n)], 1, 2)


def _elementwise() -> Iterator[MeasuredCall]:
    for shape in ((2, 4), (64, 256), (64, 3136), (96, 12544), (512, 49)):
        yield call(edge.AddTensorOp, [shape, shape])
        yield call(edge.AddTensorOp, [shape, (shape[0], 1)])
        yield call(edge.AddTensorOp, [shape, (shape[1],)])
        yield call(edge.MulTensorOp, [shape, shape])
        yield call(edge.MulTensorOp, [shape, (shape[0], 1)])
        yield call(edge.ReluOp, [shape])
        yield call(edge.HardtanhOp, [shape], 0.0, 6.0)
        yield call(edge.MaximumOp, [shape, shape])
    for channels, size in ((1, 4), (64, 56), (64, 28), (128, 14)):
        yield call(
            edge.MaxPool2dWithIndicesOp, [(1, channels, size, size)], [3, 3], [2, 2], [1, 1], [1, 1], False
        )


def program_of(call: MeasuredCall) -> bytes:
    """The program that makes a call, with no other kernel in it."""
    from et_ir.driver.stages import run_pipeline
    from et_ir.emit import EmitOptions, write

    module = ModuleOp([call.function])
    run_pipeline(module, PLAN)
    stream = BytesIO()
    write(module, stream, EmitOptions())
    return stream.getvalue()


def runner(target: str, program: bytes) -> Callable[[int], float]:
    """Executes a program with its instructions repeated so many times; returns the processor time in seconds."""
    pte = read_pte(program)
    chain = pte.program.execution_plan[0].chains[0]
    instructions = list(chain.instructions)
    methods: dict[int, Callable[[], object]] = {}

    def run(count: int) -> float:
        if count not in methods:
            chain.instructions = instructions * count
            data = bytes(serialize_pte(pte.program, [[segment] for segment in pte.segments]))
            methods[count] = _loaded(target, data, pte.program.execution_plan[0])
        execute = methods[count]
        start = time.process_time()
        execute()
        return time.process_time() - start

    return run


def _loaded(target: str, data: bytes, plan: schema.ExecutionPlan) -> Callable[[], object]:
    """Executes a program on the runtime of a target, with inputs of ones: products of zeros may be faster."""
    tensors = [value for index in plan.inputs if isinstance(value := plan.values[index].val, schema.Tensor)]
    kernels = find_target(target).vm_kernels
    if kernels is None:
        import torch
        from executorch.runtime import Runtime as Stock

        from bench.subjects import quiet

        inputs: list[Any] = [torch.ones(list(tensor.sizes)) for tensor in tensors]
        with quiet():
            program: Any = Stock.get().load_program(data)
            method = program.load_method("forward")
        return lambda: (program, method.execute(inputs))
    import numpy as np

    from et_vm.runtime import Runtime

    arrays = [np.ones(list(tensor.sizes), np.float32) for tensor in tensors]
    loaded = Runtime.get().load_program(data, kernels=kernels).load_method("forward")
    return lambda: loaded.execute(arrays)
