"""Loaded ML programs: one prepared kernel per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, cast

import numpy as np

from et_schema.coreml import CoremlModel
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.mil import MilOperation, MilType, MilTypeName
from et_vm.backends.coreml import movement, pointwise, windows
from et_vm.backends.coreml.sites import DTYPES, Kernel, Maker, Site, array_of
from et_vm.values import Array

__all__ = ["CoremlProgram", "Step"]

_MAKERS: Final[dict[str, Maker]] = {**pointwise.MAKERS, **movement.MAKERS, **windows.MAKERS}


class Step(NamedTuple):
    """An operation: its kernel, the numbers of the values that it reads and writes, and of those dead after it."""

    op: MilOperation
    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...]


class CoremlProgram:
    """A loaded program.

    Raises `InvalidFile(DelegateInvalidCompatibility)` for an operation or a parameter that is not supported.
    """

    def __init__(self, model: CoremlModel) -> None:
        program = model.program
        types = program.types()
        values = {op.outputs[0][0]: op.value for op in program.operations if op.value is not None}
        numbers = {name: number for number, name in enumerate(types)}
        self.inputs = [(numbers[name], types[name]) for name in model.inputs]
        self.outputs = [(numbers[name], types[name]) for name in model.outputs]
        _check_numbers(program.inputs, "main.inputs")
        _check_numbers([(name, types[name]) for name in model.outputs], "main.outputs")
        self._constants: dict[int, Array] = {
            numbers[name]: array_of(value)
            for name, value in values.items()
            if value.type.name is not MilTypeName.STRING
        }
        self.steps: list[Step] = []
        self.work = 0
        """Units of work of a run."""
        kept = {number for number, _ in self.outputs} | set(self._constants)
        prepared: list[tuple[MilOperation, Kernel, tuple[int, ...]]] = []
        for at, op in enumerate(program.operations):
            if op.value is not None:
                continue
            _check_numbers(op.outputs, f"main.operations[{at}]")
            try:
                kernel, operands = self._prepared(op, types, values)
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                raise InvalidFile(
                    f"{op.type}: {error}",
                    code=Error.DelegateInvalidCompatibility,
                    where=f"main.operations[{at}]",
                ) from error
            prepared.append((op, kernel, tuple(numbers[name] for name in operands)))
            self.work += _work(op, [types[name] for name in operands])
        last = {number: at for at, (_, _, inputs) in enumerate(prepared) for number in inputs}
        for at, (op, kernel, inputs) in enumerate(prepared):
            dead = tuple({one for one in inputs if last[one] == at and one not in kept})
            outputs = tuple(numbers[name] for name, _ in op.outputs)
            self.steps.append(Step(op, kernel, inputs, outputs, dead))

    def _prepared(self, op: MilOperation, types: Any, values: Any) -> tuple[Kernel, tuple[str, ...]]:
        maker = _MAKERS.get(op.type)
        if maker is None:
            raise ValueError("the operation is not supported")
        site = Site(op, types, values)
        made = maker(site)
        site.check()
        for name in made.operands:
            if types[name].name is MilTypeName.STRING:
                raise ValueError(f"{name!r} is text")
        return made.kernel, made.operands

    def run(
        self, inputs: Sequence[Array], observe: Callable[[Step, Callable[[], Any]], Any] | None = None
    ) -> list[Array]:
        """The outputs for the inputs, whose types are the program's. `observe` is called with each step and what runs
        it, and returns what that returns.

        Raises ExecutorchError: InvalidArgument for an index that is out of range, DelegateInvalidCompatibility for an
        operation whose result is not of the type that the program says.
        """
        values: dict[int, Array] = dict(self._constants)
        values.update(zip((number for number, _ in self.inputs), inputs, strict=True))
        with np.errstate(all="ignore"):
            for step in self.steps:
                arrays = [values[one] for one in step.inputs]
                try:
                    made = (
                        step.kernel(*arrays)
                        if observe is None
                        else observe(step, lambda s=step, a=arrays: s.kernel(*a))
                    )
                except ExecutorchError as error:
                    raise ExecutorchError(error.code, f"{step.op.type}: {error.message}") from error
                except (ValueError, TypeError, IndexError, ArithmeticError) as error:
                    raise _mismatch(step.op, str(error)) from error
                results = cast("list[Array]", made if isinstance(made, list) else [made])
                if len(results) != len(step.outputs):
                    raise _mismatch(step.op, f"{len(results)} results, not {len(step.outputs)}")
                for number, (name, type), one in zip(step.outputs, step.op.outputs, results, strict=True):
                    if one.shape != type.shape or one.dtype != DTYPES[type.name]:
                        raise _mismatch(step.op, f"{name} is {one.dtype}{list(one.shape)}, not {type}")
                    values[number] = one
                for number in step.dead:
                    del values[number]
        return [values[number] for number, _ in self.outputs]


def _check_numbers(values: Iterable[tuple[str, MilType]], where: str) -> None:
    """Whether values are no text, which only constants are."""
    for name, type in values:
        if type.name is MilTypeName.STRING:
            raise InvalidFile(f"{name!r} is text", code=Error.DelegateInvalidCompatibility, where=where)


def _mismatch(op: MilOperation, reason: str) -> ExecutorchError:
    return ExecutorchError(Error.DelegateInvalidCompatibility, f"{op.type}: {reason}")


def _work(op: MilOperation, operands: Sequence[MilType]) -> int:
    made = sum(prod(type.shape) for _, type in op.outputs)
    if op.type in ("conv", "linear", "matmul") and operands[1].shape:
        by = operands[0].shape[-1] if op.type != "conv" else prod(operands[1].shape[1:])
        return made * max(by, 1)
    if op.type == "conv_transpose":
        return prod(operands[0].shape) * prod(operands[1].shape[1:])
    return made + sum(prod(type.shape) for type in operands)
