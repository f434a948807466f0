"""Linking: a kernel for each kernel call of a method, and the call checked against the kernel's signature.

Of calls that are alike (`et_vm.run.alike`), one has to be linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from et_ops.conventions import is_in_place
from et_schema.errors import FIRST, Error, ExecutorchError, InvalidFile, MissingOperator, Problems
from et_schema.program import Tensor
from et_schema.wording import worded
from et_vm.kernels.registry import parameters_of
from et_vm.load.instructions import call_outputs
from et_vm.platform import LogLevel
from et_vm.verify.flow import REGISTER_LISTS

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.kernels.registry import KernelKey, KernelRegistry, Param, Prepare
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.verify.flow import Flow


def link(
    plan: ExecutionPlan,
    calls: Sequence[Instruction],
    flow: Flow,
    kernels: KernelRegistry,
    platform: Platform,
) -> dict[int, Prepare]:
    """The kernels of calls by the index of their instruction. Prims are no kernel calls.

    Raises MissingOperator with every operator that has no kernel, and InvalidFile for a call that does not
    fit the signature of its kernel, whatever path leads to it.
    """
    try:
        return resolve_calls(plan, calls, flow, kernels)
    except MissingOperator as error:
        for name in error.operators:
            platform.log(LogLevel.INFO, f"no kernel for {name} in method {plan.name!r}")
        raise


def kernel_calls(instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions that call a kernel."""
    return [instruction for instruction in instructions if is_kernel_call(instruction)]


def is_kernel_call(instruction: Instruction) -> bool:
    """Whether an instruction calls a kernel, and no primitive operator."""
    return instruction.opcode.mnemonic == "call" and instruction.prim is None


def resolve_calls(
    plan: ExecutionPlan,
    calls: Sequence[Instruction],
    flow: Flow,
    kernels: KernelRegistry,
    problems: Problems = FIRST,
) -> dict[int, Prepare]:
    """The kernel of each of `calls` by the index of its instruction, once it fits the kernel's signature.

    Reports MissingOperator with every operator that has no kernel, InvalidFile for each call that does not fit the
    signature of its kernel, and ExecutorchError where a user wrote that kernel: the file may be right.
    """
    found, missing = _resolve(calls, plan, kernels)
    if missing:
        problems.add(MissingOperator(missing, where=plan.name, hint=_missing_hint(missing)))
    signature = cache(parameters_of)

    def params_of(instruction: Instruction) -> Sequence[Param] | None:
        prepare = found.get(instruction.index)
        return None if prepare is None else signature(prepare)

    origins = kernels.origins
    fitting: set[int] = set()
    for instruction in calls:
        fault = _arity_fault(instruction, params_of(instruction), plan, origins.get(instruction.name))
        if fault is None:
            fitting.add(instruction.index)
        else:
            problems.add(fault)

    def checked(instruction: Instruction) -> Sequence[Param] | None:
        # What does not have the arguments has none to compare with the parameters.
        fits = instruction.index in fitting and instruction.name not in origins
        return params_of(instruction) if fits else None

    flow.check_calls(calls, checked, problems)
    if origins:
        own = _OwnKernels(problems, origins)

        def checked_own(instruction: Instruction) -> Sequence[Param] | None:
            own.name = instruction.name
            fits = instruction.index in fitting and instruction.name in origins
            return params_of(instruction) if fits else None

        flow.check_calls(calls, checked_own, own)
    return found


def _resolve(
    instructions: Sequence[Instruction], plan: ExecutionPlan, registry: KernelRegistry
) -> tuple[dict[int, Prepare], list[str]]:
    """The kernel of each kernel call by instruction index, and the operators for which there is none."""
    found: dict[int, Prepare] = {}
    missing: dict[str, None] = {}
    for instruction in instructions:
        key: KernelKey = ()
        if registry.is_keyed(instruction.name):
            key = _kernel_key([plan.values[register].val for register in instruction.args[:-1]])
        prepare = registry.lookup(instruction.name, key)
        if prepare is None:
            missing[instruction.name] = None
        else:
            found[instruction.index] = prepare
    return found, list(missing)


def _kernel_key(args: Sequence[object]) -> KernelKey:
    """Element type and dim order of each argument that is a tensor."""
    return tuple([(arg.scalar_type, tuple(arg.dim_order)) for arg in args if isinstance(arg, Tensor)])


class _OwnKernels(Problems):
    """Tells of calls that do not fit a kernel which a user wrote; `name` is the operator that is looked at."""

    __slots__ = ("_origins", "_problems", "name")

    def __init__(self, problems: Problems, origins: Mapping[str, str]) -> None:
        super().__init__()
        self._problems = problems
        self._origins = origins
        self.name = ""

    def add(self, problem: ExecutorchError) -> None:
        hint = f"{self._origins[self.name]}: annotate parameters with the types of the operator's out variant"
        self._problems.add(ExecutorchError(problem.code, problem.message, where=problem.where, hint=hint))


_NAMESPACES = frozenset(
    {"aten", "dim_order_ops", "executorch_prim", "grouped", "integer", "quantized_decomposed"}
)
"""Namespaces of operators that come with runtimes; others are of libraries of users."""


def _missing_hint(operators: Sequence[str]) -> str | None:
    custom = [name for name in operators if name.partition("::")[0] not in _NAMESPACES]
    if not custom:
        return None
    loaded = worded(
        python="Runtime(…).add_kernels(et_vm.load_kernels(FILE))", command="et-vm run --load FILE"
    )
    return f"write the kernel in Python with @et_vm.kernel({custom[0]!r}), and load it: {loaded}"


def _arity_fault(
    instruction: Instruction, params: Sequence[Param] | None, plan: ExecutionPlan, origin: str | None
) -> ExecutorchError | None:
    """The error for a call whose registers are not the arguments of the operator's schema and its outputs again:
    InvalidFile, or ExecutorchError(InvalidArgument) when the kernel is one that a user wrote, at `origin`.
    """
    args = instruction.args
    if params is not None and origin is not None and len(args) != len(params) + 1:
        return ExecutorchError(
            Error.InvalidArgument,
            f"the kernel of {instruction.name} takes {len(params)} arguments "
            f"({', '.join(param.name for param in params)}), the call has {len(args) - 1}",
            where=f"{instruction.where}.args",
            hint=f"{origin}: declare the parameters of the operator's out variant, in order",
        )
    if params is not None and len(args) != len(params) + 1:
        return InvalidFile(
            f"{instruction.name} takes {len(params)} arguments and its outputs again, got {len(args)}",
            where=f"{instruction.where}.args",
        )
    outputs = call_outputs(instruction, plan)
    # The outputs are the last arguments of an operator: several tensors, or one list of them. One in place returns its
    # first.
    last = [plan.values[register].val for register in args[-2:-1]]
    repeated = (
        args[:-1][-len(outputs) :] == outputs
        or any(isinstance(value, REGISTER_LISTS) and tuple(value.items) == outputs for value in last)
        or (is_in_place(instruction.name) and args[0] == args[-1])
    )
    if repeated:
        return None
    return InvalidFile(
        f"the last argument of {instruction.name} does not repeat its outputs",
        where=f"{instruction.where}.args[{len(args) - 1}]",
    )
