"""Loaded ML programs: one prepared kernel per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, cast

import numpy as np

from et_backends.coreml.format.blob import CoremlModel
from et_backends.coreml.format.mil import MilOperation, MilType, MilTypeName
from et_backends.coreml.runtime import movement, pointwise, windows
from et_backends.coreml.runtime.sites import DTYPES, Kernel, Maker, Site, array_of, itemsize
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_vm.backends.accounting import Accountant
from et_vm.values import Array

__all__ = ["MAKERS", "CoremlProgram", "Step"]

MAKERS: Final[dict[str, Maker]] = {**pointwise.MAKERS, **movement.MAKERS, **windows.MAKERS}
"""Function that prepares the kernel of each operation."""


class Step(NamedTuple):
    """An operation: its kernel, the numbers of the values that it reads and writes, and of those dead after it."""

    op: MilOperation
    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...]
    results: int
    """Bytes of the results, in the widest type that numpy may make them in."""
    temporaries: int
    """Bytes that the kernel takes meanwhile, at most."""
    work: int
    """Units of work."""


class CoremlProgram:
    """A loaded program.

    Raises `InvalidFile(DelegateInvalidCompatibility)` for an operation or a parameter that is not supported, and for
    results of other sizes than an operation makes of its operands.
    """

    def __init__(self, model: CoremlModel, accountant: Accountant | None = None) -> None:
        self.accountant = accountant or Accountant()
        """Counts what a run takes."""
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
        kept = {number for number, _ in self.outputs} | set(self._constants)
        prepared: list[tuple[MilOperation, Kernel, tuple[int, ...], tuple[int, int, int]]] = []
        for at, op in enumerate(program.operations):
            if op.value is not None:
                continue
            _check_numbers(op.outputs, f"main.operations[{at}]")
            try:
                kernel, operands, needs = self._prepared(op, types, values)
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                raise InvalidFile(
                    f"{op.type}: {error}",
                    code=Error.DelegateInvalidCompatibility,
                    where=f"main.operations[{at}]",
                ) from error
            prepared.append((op, kernel, tuple(numbers[name] for name in operands), needs))
        last = {number: at for at, (_, _, inputs, _) in enumerate(prepared) for number in inputs}
        for at, (op, kernel, inputs, needs) in enumerate(prepared):
            dead = tuple({one for one in inputs if last[one] == at and one not in kept})
            outputs = tuple(numbers[name] for name, _ in op.outputs)
            self.steps.append(Step(op, kernel, inputs, outputs, dead, *needs))
        self.work = sum(step.work for step in self.steps)
        """Units of work of a run."""

    def _prepared(
        self, op: MilOperation, types: Any, values: Any
    ) -> tuple[Kernel, tuple[str, ...], tuple[int, int, int]]:
        maker = MAKERS.get(op.type)
        if maker is None:
            raise ValueError("the operation is not supported")
        site = Site(op, types, values)
        made = maker(site)
        site.check()
        for name in made.operands:
            if types[name].name is MilTypeName.STRING:
                raise ValueError(f"{name!r} is text")
        return made.kernel, made.operands, _needs(site, [types[name] for name in made.operands])

    def run(
        self, inputs: Sequence[Array], observe: Callable[[Step, Callable[[], Any]], Any] | None = None
    ) -> list[Array]:
        """The outputs for the inputs, whose types are the program's. `observe` is called with each step and what runs
        it, and returns what that returns.

        Raises ExecutorchError: InvalidArgument for an index that is out of range, DelegateInvalidCompatibility for an
        operation whose result is not of the type that the program says, and what the accountant raises before a step.
        """
        evaluate = self.accountant.evaluate
        self.accountant.spend(self.work)
        values: dict[int, Array] = dict(self._constants)
        values.update(zip((number for number, _ in self.inputs), inputs, strict=True))
        with np.errstate(all="ignore"):
            for step in self.steps:
                arrays = [values[one] for one in step.inputs]

                def run(step: Step = step, arrays: list[Array] = arrays) -> Any:
                    return evaluate(step.kernel, arrays, step.results, step.temporaries)

                try:
                    made = run() if observe is None else observe(step, run)
                except ExecutorchError as error:
                    message = f"{step.op.type}: {error.message}"
                    raise ExecutorchError(error.code, message, hint=error.hint) from error
                except (ValueError, TypeError, IndexError, ArithmeticError) as error:
                    raise _mismatch(step.op, str(error)) from error
                values.update(zip(step.outputs, _checked(step.op, made), strict=True))
                for number in step.dead:
                    del values[number]
                del arrays, run, made
        return [values[number] for number, _ in self.outputs]


def _checked(op: MilOperation, made: object) -> list[Array]:
    """The results that a kernel has made, if they are of the types that the program says."""
    results = cast("list[Array]", made if isinstance(made, list) else [made])
    for (name, type), one in zip(op.outputs, results, strict=True):
        if one.shape != type.shape or one.dtype != DTYPES[type.name]:
            raise _mismatch(op, f"{name} is {one.dtype}{list(one.shape)}, not {type}")
    return results


def _check_numbers(values: Iterable[tuple[str, MilType]], where: str) -> None:
    """Whether values are no text, which only constants are."""
    for name, type in values:
        if type.name is MilTypeName.STRING:
            raise InvalidFile(f"{name!r} is text", code=Error.DelegateInvalidCompatibility, where=where)


def _mismatch(op: MilOperation, reason: str) -> ExecutorchError:
    return ExecutorchError(Error.DelegateInvalidCompatibility, f"{op.type}: {reason}")


def _needs(site: Site, operands: Sequence[MilType]) -> tuple[int, int, int]:
    """Bytes of the results and of temporaries, and units of work."""
    visited = site.elements + sum(prod(one.shape) for one in operands)
    item = itemsize(operands)
    temporaries = site.needs.nbytes + site.elements * item
    if any(one.name is MilTypeName.FLOAT16 for one in operands):
        # Operands and results in float32.
        temporaries += visited * item
    return site.elements * item, temporaries, site.needs.work + visited
