"""TOSA files as steps over numbered arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.tables import Bytes
from et_schema.tosa import block_of, constant_bytes, shape_sizes, tensors_by_name
from et_schema.tosa_graph import DType, Op, TosaGraph
from et_schema.tosa_ops import ATTRIBUTES, TosaType, numpy_name
from et_vm.backends.tosa import movement, pointwise, rescale, windows
from et_vm.backends.tosa.sites import Kernel, Maker, Site
from et_vm.values import Array

__all__ = ["MAKERS", "Step", "TosaProgram"]

MAKERS: Final[dict[Op, Maker]] = {
    **movement.MAKERS,
    **pointwise.MAKERS,
    **rescale.MAKERS,
    **windows.MAKERS,
}
"""Function that prepares the kernel of each operator."""


class Step(NamedTuple):
    """One operator: its kernel, the numbers of its operands and of its result, and the values that end with it."""

    number: int
    """Number of the operator in the file."""
    op: Op
    """The operator."""
    kernel: Kernel
    """Function of its operands."""
    inputs: tuple[int, ...]
    """Values that are its operands."""
    output: int
    """Value that is its result."""
    dead: tuple[int, ...]
    """Values that no later step reads."""
    work: int
    """Multiplications and elements, about."""


class TosaProgram:
    """Steps that compute the outputs of a file from its inputs. Constants are views of the file.

    Raises InvalidFile(DelegateInvalidCompatibility) for element types that there are no kernels for.
    """

    def __init__(self, graph: TosaGraph) -> None:
        block = block_of(graph)
        tensors = tensors_by_name(block)
        types = {name: TosaType(tuple(tensor.shape), tensor.type) for name, tensor in tensors.items()}
        for shape in block.shapes:
            types[shape.name] = TosaType((shape.rank,), DType.SHAPE, shape_sizes(shape))
        numbers = {name: number for number, name in enumerate(types)}
        self.inputs: list[tuple[int, TosaType]] = [(numbers[name], types[name]) for name in block.inputs]
        self.outputs: list[tuple[int, TosaType]] = [(numbers[name], types[name]) for name in block.outputs]
        self.constants: dict[int, Array] = {}
        for op in block.operators:
            if op.op is Op.CONST:
                (name,) = op.outputs
                self.constants[numbers[name]] = _elements(tensors[name].data, types[name])
            elif op.op is Op.CONST_SHAPE:
                (name,) = op.outputs
                self.constants[numbers[name]] = np.array(types[name].sizes, np.int64)
        self.steps: list[Step] = []
        last: dict[int, int] = {}
        for number, op in enumerate(block.operators):
            for name in op.inputs:
                last[numbers[name]] = number
        kept = {number for number, _ in self.outputs} | set(self.constants)
        for number, op in enumerate(block.operators):
            if op.op in (Op.CONST, Op.CONST_SHAPE):
                continue
            inputs = tuple(numbers[name] for name in op.inputs)
            site = Site(
                op.attribute or ATTRIBUTES[op.op](),
                [types[name] for name in op.inputs],
                types[op.outputs[0]],
                [self.constants.get(one) for one in inputs],
            )
            try:
                kernel = MAKERS[op.op](site)
            except (ValueError, TypeError) as error:
                raise InvalidFile(
                    f"{op.op.name}: {error}",
                    code=Error.DelegateInvalidCompatibility,
                    where=f"regions[0].blocks[0].operators[{number}]",
                ) from error
            dead = tuple({one for one in inputs if last[one] == number and one not in kept})
            self.steps.append(
                Step(number, op.op, kernel, inputs, numbers[op.outputs[0]], dead, _work(op.op, site))
            )
        self.work: int = sum(step.work for step in self.steps)

    def run(
        self, inputs: Sequence[Array], observe: Callable[[Step, Callable[[], Array]], Array] | None = None
    ) -> list[Array]:
        """The outputs for the inputs, whose types are the program's. `observe` is called with each step and what runs
        it, and returns what that returns.

        Raises ExecutorchError(InvalidArgument) for an index that is out of range.
        """
        values: dict[int, Array] = dict(self.constants)
        values.update(zip((number for number, _ in self.inputs), inputs, strict=True))
        with np.errstate(all="ignore"):
            for step in self.steps:
                arrays = [values[one] for one in step.inputs]
                try:
                    if observe is None:
                        values[step.output] = step.kernel(*arrays)
                    else:
                        values[step.output] = observe(step, lambda s=step, a=arrays: s.kernel(*a))
                except ExecutorchError as error:
                    raise ExecutorchError(error.code, f"{step.op.name}: {error}") from error
                for one in step.dead:
                    del values[one]
        return [values[number] for number, _ in self.outputs]


def _elements(data: Bytes | None, type: TosaType) -> Array:
    try:
        dtype = np.dtype(numpy_name(type.dtype))
    except ValueError as error:
        raise InvalidFile(str(error), code=Error.DelegateInvalidCompatibility) from error
    raw = memoryview(data or b"")[: constant_bytes(type)]
    if type.dtype is DType.INT48:
        packed = np.frombuffer(raw, np.uint8).reshape(-1, 6)
        wide = np.zeros((len(packed), 8), np.uint8)
        wide[:, 2:] = packed
        return (wide.view("<i8").reshape(type.shape) >> 16).astype(np.int64)
    return np.frombuffer(raw, dtype).reshape(type.shape)


def _work(op: Op, site: Site) -> int:
    made = prod(site.output.shape)
    if op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.TRANSPOSE_CONV2D):
        weight = site.inputs[1].shape
        return made * max(prod(weight) // site.output.shape[3], 1)
    if op is Op.MATMUL:
        return made * site.inputs[0].shape[2]
    return made + sum(prod(one.shape) for one in site.inputs)
