"""TOSA files as steps over numbered arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np

from et_backends.tosa.format.blob import block_of, constant_data, shape_sizes, tensors_by_name
from et_backends.tosa.format.graph import DType, Op, TosaGraph
from et_backends.tosa.format.operators import ATTRIBUTES, TosaType, numpy_name
from et_backends.tosa.runtime import movement, pointwise, rescale, windows
from et_backends.tosa.runtime.sites import Kernel, Maker, Site, dtype_of
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backends.accounting import Accountant
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
    results: int
    """Bytes of its result."""
    temporaries: int
    """Bytes that the kernel takes meanwhile, at most."""
    work: int
    """Units of work."""


class TosaProgram:
    """Steps that compute the outputs of a file from its inputs. Constants are views of the file.

    `named_data` is that of the program. Raises InvalidFile(DelegateInvalidCompatibility) for element types that there
    are no kernels for and for named data that is missing, and what `accountant` raises where limits would be passed.
    """

    def __init__(
        self,
        graph: TosaGraph,
        accountant: Accountant | None = None,
        named_data: Mapping[str, memoryview] | None = None,
    ) -> None:
        self._accountant = accountant or Accountant()
        named_data = named_data or {}
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
                data = constant_data(tensors[name], named_data)
                self.constants[numbers[name]] = self._elements(data, types[name])
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
                self._accountant,
            )
            try:
                kernel = MAKERS[op.op](site)
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                raise InvalidFile(
                    f"{op.op.name}: {error}",
                    code=Error.DelegateInvalidCompatibility,
                    where=f"regions[0].blocks[0].operators[{number}]",
                ) from error
            dead = tuple({one for one in inputs if last[one] == number and one not in kept})
            self.steps.append(
                Step(number, op.op, kernel, inputs, numbers[op.outputs[0]], dead, *_needs(site))
            )
        self.work: int = sum(step.work for step in self.steps)

    def run(
        self, inputs: Sequence[Array], observe: Callable[[Step, Callable[[], Array]], Array] | None = None
    ) -> list[Array]:
        """The outputs for the inputs, whose types are the program's. `observe` is called with each step and what runs
        it, and returns what that returns.

        Raises ExecutorchError(InvalidArgument) for an index that is out of range, and before a step what the
        accountant raises.
        """
        evaluate = self._accountant.evaluate
        self._accountant.spend(self.work)
        values: dict[int, Array] = dict(self.constants)
        values.update(zip((number for number, _ in self.inputs), inputs, strict=True))
        with np.errstate(all="ignore"):
            for step in self.steps:
                arrays = [values[one] for one in step.inputs]

                def run(step: Step = step, arrays: list[Array] = arrays) -> Array:
                    return evaluate(step.kernel, arrays, step.results, step.temporaries)

                try:
                    values[step.output] = run() if observe is None else observe(step, run)
                except ExecutorchError as error:
                    raise ExecutorchError(
                        error.code, f"{step.op.name}: {error.message}", hint=error.hint
                    ) from error
                del arrays, run
                for one in step.dead:
                    del values[one]
        return [values[number] for number, _ in self.outputs]

    def _elements(self, raw: memoryview, type: TosaType) -> Array:
        try:
            dtype = np.dtype(numpy_name(type.dtype))
        except ValueError as error:
            raise InvalidFile(str(error), code=Error.DelegateInvalidCompatibility) from error
        if type.dtype is not DType.INT48:
            return np.frombuffer(raw, dtype).reshape(type.shape)

        def unpacked() -> Array:
            packed = np.frombuffer(raw, np.uint8).reshape(-1, 6)
            wide = np.zeros((len(packed), 8), np.uint8)
            wide[:, 2:] = packed
            return wide.view("<i8").reshape(type.shape) >> 16

        nbytes = 8 * prod(type.shape)
        return self._accountant.derive(nbytes, unpacked, temporaries=nbytes)


def _needs(site: Site) -> tuple[int, int, int]:
    """Bytes of the result and of temporaries, and units of work."""
    dtypes = [dtype_of(one) for one in (site.output, *site.inputs)]
    common = site.elements * max(dtype.itemsize for dtype in dtypes)
    visited = site.elements + sum(map(site.elements_of, range(len(site.inputs))))
    return site.elements * dtypes[0].itemsize, site.needs.nbytes + common, site.needs.work + visited
