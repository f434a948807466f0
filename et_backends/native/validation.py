"""Validation of machine code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_backends.codegen.format import CALL, ENTRY, PREPARE, SERVE
from et_backends.native.format import read_native
from et_schema.errors import InvalidFile
from et_vm.backends.elf import link_object, machine_of
from et_vm.run.validation import validate

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["errors"]


def errors(
    blob: memoryview, kernels: KernelRegistry | None, named: Mapping[str, memoryview]
) -> Iterator[ExecutorchError]:
    """The errors of objects, each of which is linked for its machine and none is run, and of the portable program,
    which runs with `kernels`.
    """
    del named
    program = read_native(blob)
    functions = (ENTRY, CALL, SERVE, PREPARE) if program.derived else (ENTRY, CALL, SERVE)
    for index, one in enumerate(program.objects):
        try:
            code = memoryview(one.code)
            image = link_object(code, machine_of(code))
            for function in functions:
                image.place(function)
        except InvalidFile as error:
            error.nest(f"objects[{index}]")
            yield error
    if program.fallback:
        found = validate(memoryview(program.fallback), kernels)
        for problem in (*found.problems, *found.clashes):
            problem.where = f"fallback, {problem.where}" if problem.where else "fallback"
            yield problem
