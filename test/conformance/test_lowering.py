"""Random programs through the passes of the executorch level, run on the VM with poisoned memory, against numpy.

Poison makes a register that is read after its memory was given away a NaN, so that a mistake in views, write-back,
in-place kernels or planning shows in a result.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import BufferOp, LoadOp, StoreOp
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble, write
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

Array = np.ndarray[Any, np.dtype[np.float32]]

SHAPE = (2, 4, 4)
PIPELINE = (
    "to-out-variant,write-back,copies-to-views,in-place,link-check,plan-memory{check=true},verify-executorch"
)


class Program:
    """A method as it grows, and the arrays that its values stand for, for two executions of it."""

    def __init__(self) -> None:
        self.block = Block(arg_types=[TensorType(f32, SHAPE)] * 2)
        rng = np.random.default_rng(0)
        self.inputs = [[rng.normal(size=SHAPE).astype(np.float32) for _ in range(2)] for _ in range(2)]
        self.state = np.zeros((2, *SHAPE), np.float32)
        self.values: list[tuple[SSAValue, list[Array]]] = [
            (argument, [run[index] for run in self.inputs]) for index, argument in enumerate(self.block.args)
        ]
        load = LoadOp("state", TensorType(f32, SHAPE))
        self.block.add_op(load)
        # What the second execution finds is what the first has stored: known at the end.
        self.values.append((load.result, [self.state[0], self.state[1]]))

    def add(self, op: Any, arrays: list[Array]) -> None:
        self.block.add_op(op)
        self.values.append((op.result, arrays))

    def tensor(self, *arrays: Array) -> TensorType[Any]:
        return TensorType(f32, arrays[0].shape)

    def pointwise(self, kind: int, first: int, second: int) -> None:
        a, left = self.values[first % len(self.values)]
        same = [value for value in self.values if value[1][0].shape == left[0].shape]
        b, right = same[second % len(same)]
        name, compute = [("AddTensorOp", np.add), ("SubTensorOp", np.subtract), ("MulTensorOp", np.multiply)][
            kind % 3
        ]
        arrays = [compute(x, y) for x, y in zip(left, right, strict=True)]
        self.add(getattr(edge, name).make(a, b, result_types=[self.tensor(*arrays)]), arrays)

    def reshape(self, kind: int, first: int, dim: int) -> None:
        a, arrays = self.values[first % len(self.values)]
        shape = arrays[0].shape
        match kind % 6:
            case 0:
                result = [x.reshape(-1) for x in arrays]
                op: Any = edge.ViewCopyOp.make(a, [-1], result_types=[self.tensor(*result)])
            case 1:
                dim %= len(shape) + 1
                result = [np.expand_dims(x, dim) for x in arrays]
                op = edge.UnsqueezeCopyOp.make(a, dim, result_types=[self.tensor(*result)])
            case 2:
                order = [(i + dim) % len(shape) for i in range(len(shape))]
                result = [np.transpose(x, order) for x in arrays]
                op = edge.PermuteCopyOp.make(a, order, result_types=[self.tensor(*result)])
            case 3:
                axis, start = dim % len(shape), dim % max(shape[dim % len(shape)], 1)
                result = [x.take(range(start, shape[axis]), axis) for x in arrays]
                op = edge.SliceCopyTensorOp.make(
                    a, axis, start, shape[axis], result_types=[self.tensor(*result)]
                )
            case 4:
                axis = dim % len(shape)
                index = dim % shape[axis]
                result = [x.take(index, axis) for x in arrays]
                op = edge.SelectCopyIntOp.make(a, axis, index, result_types=[self.tensor(*result)])
            case _:
                result = arrays
                op = edge.CloneOp.make(a, result_types=[self.tensor(*result)])
        if len(result[0].shape) in range(1, 6):
            self.add(op, [np.ascontiguousarray(x) for x in result])

    def module(self, outputs: list[int], stored: int | None) -> tuple[ModuleOp, list[SSAValue]]:
        returned = [self.values[index % len(self.values)][0] for index in outputs]
        if stored is not None:
            self.block.add_op(StoreOp("state", self.values[stored][0]))
        self.block.add_op(ReturnOp(*returned))
        function = FuncOp(
            "forward", ([a.type for a in self.block.args], [r.type for r in returned]), Region(self.block)
        )
        buffer = BufferOp.create(
            properties={
                "sym_name": StringAttr("state"),
                "type": TensorType(f32, SHAPE),
                "mutable": UnitAttr(),
            }
        )
        return ModuleOp([buffer, function]), returned


steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100)),
    min_size=1,
    max_size=14,
)


def build(program: Program, given_steps: list[tuple[bool, int, int, int]]) -> None:
    for pointwise, kind, first, second in given_steps:
        if pointwise:
            program.pointwise(kind, first, second)
        else:
            program.reshape(kind, first, second)


@settings(max_examples=60)
@given(steps, st.lists(st.integers(0, 100), min_size=1, max_size=4), st.integers(0, 100), st.booleans())
def test_random_programs(
    given_steps: list[tuple[bool, int, int, int]], outputs: list[int], stored: int, stores: bool
) -> None:
    probe = Program()
    build(probe, given_steps)
    fitting = [i for i, (_, arrays) in enumerate(probe.values) if arrays[0].shape == SHAPE]
    target = fitting[stored % len(fitting)] if stores else None
    # The second execution starts from what the first has stored.
    program = Program()
    if target is not None:
        program.state[1] = probe.values[target][1][0]
    build(program, given_steps)
    expected = [
        [program.values[index % len(program.values)][1][run] for index in outputs] for run in range(2)
    ]
    module, _ = program.module(outputs, target)
    module.verify()
    run_pipeline(module, PIPELINE)
    module.verify()
    data = _written(module)
    _check(data, program.inputs, expected)
    # What is read back from the file and planned again is the same program.
    again = disassemble(read_pte(data))
    assert _written(again) == data
    run_pipeline(
        again,
        "plan-memory{algorithm=naive check=true},copies-to-views,plan-memory{check=true},verify-executorch",
    )
    _check(_written(again), program.inputs, expected)


def _written(module: ModuleOp) -> bytes:
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


def _check(data: bytes, inputs: list[list[Array]], expected: list[list[Array]]) -> None:
    program = Runtime.get().load_program(data, poison=True)
    assert not program.core.clashes("forward")
    method = program.load_method("forward")
    for given_inputs, wanted in zip(inputs, expected, strict=True):
        results = method.execute(given_inputs)
        for result, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize(
    "caller", ["plan-inputs=false", "plan-outputs=false", "plan-inputs=false plan-outputs=false"]
)
def test_memory_that_the_caller_gives(caller: str) -> None:
    program = Program()
    build(program, [(False, 0, 0, 0), (True, 0, 3, 3), (False, 0, 1, 0), (True, 2, 4, 4), (False, 5, 5, 0)])
    expected = [[program.values[index][1][run] for index in (4, 6, 7)] for run in range(2)]
    module, _ = program.module([4, 6, 7], None)
    run_pipeline(module, PIPELINE.replace("plan-memory{", f"plan-memory{{{caller} "))
    _check(_written(module), program.inputs, expected)
