"""All problems of a file in one report. Loading stops at the first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from et_schema.errors import ExecutorchError, InvalidFile, MissingOperator, Problems
from et_schema.pte import read_pte
from et_schema.reader import Locations
from et_vm.run.link import kernel_calls, resolve_calls
from et_vm.verify.chains import chain_order
from et_vm.verify.flow import Flow
from et_vm.verify.liveness import ByteLiveness, delegate_writes
from et_vm.verify.plan import Verifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.load.instructions import Instruction
    from et_vm.verify.liveness import Clash


@dataclass
class Validation:
    """Result of `validate`.

    `problems` are faults for which a file, or with kernels one of its methods, is not loaded; `clashes` are places
    where a well-formed plan lets instructions overwrite what is still needed. All have a path, and a byte where there
    is one.
    """

    methods: list[str] = field(default_factory=list[str])
    problems: list[ExecutorchError] = field(default_factory=list[ExecutorchError])
    clashes: list[InvalidFile] = field(default_factory=list[InvalidFile])


def clash_error(
    plan: ExecutionPlan, where: str, instructions: Sequence[Instruction], clash: Clash
) -> InvalidFile:
    """The error for a clash in the plan whose table path is `where`."""
    if clash.instruction < 0:
        writer = f"the caller of {plan.name}"
    else:
        writer = f"instruction {clash.instruction} ({instructions[clash.instruction].name}) of {plan.name}"
    return InvalidFile(
        f"{writer} writes value {clash.written} over live bytes of value {clash.needed}",
        where=f"{where}.values[{clash.written}].val.allocation_info",
        hint="plan its memory again (et-translate --pte-to-mlir, et-opt -p plan-memory, "
        "et-translate --mlir-to-pte)",
    )


def validate(file: memoryview, kernels: KernelRegistry | None = None) -> Validation:
    """Check a file, and with `kernels` each call against the signature of its kernel; go on after each problem. What
    could not be read, or has no meaning, is not followed further:
    a method's registers are followed from instruction to instruction only if each of them is what it should be, and
    lifetimes are only looked at where everything else is right.
    """
    result = Validation()
    problems = Problems()
    try:
        pte = read_pte(file, problems=problems)
    except InvalidFile as error:
        result.problems = [*problems.found, error]
        return result
    verifier = Verifier(pte, file.nbytes)
    verifier.verify_program(problems)
    for index, plan in enumerate(pte.program.execution_plan):
        if id(plan) in pte.malformed:
            continue
        result.methods.append(plan.name)
        known = len(problems.found)
        instructions = verifier.verify_plan(index, problems)
        if instructions is None:
            continue
        where = f"execution_plan[{index}]"
        flow = Flow(plan, instructions, where)
        flow.check(problems)
        if len(plan.chains) > 1:
            chain_order(pte, plan, instructions, where, problems)
        if kernels is not None:
            resolve_calls(plan, kernel_calls(instructions), flow, kernels, problems)
        if len(problems.found) == known:
            try:
                delegates = [delegate_writes(pte, delegate) for delegate in plan.delegates]
                clashes = ByteLiveness(plan, instructions, flow.rebound, delegates).clashes()
            except ExecutorchError as error:
                # Too large to follow: nothing is known to be wrong, nor to be right.
                error.where = where
                result.problems.append(error)
                continue
            result.clashes += [clash_error(plan, where, instructions, clash) for clash in clashes]
    result.problems = [*problems.found, *result.problems]
    locations = Locations(pte.locations or {})
    for problem in (*result.problems, *result.clashes):
        if problem.offset is None and problem.where and not isinstance(problem, MissingOperator):
            problem.offset = locations.byte_of(problem.where)
    return result
