"""Linking: a kernel for each kernel call of a method, and the call checked against the kernel's signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from et_ops.calls import is_in_place
from et_schema.errors import Error, ExecutorchError, InvalidFile, MissingOperator
from et_vm.kernels.registry import PrepareContext, parameters_of
from et_vm.load.instructions import call_outputs
from et_vm.platform import LogLevel
from et_vm.run.calls import Call
from et_vm.values import ListRegister, Tensor

if TYPE_CHECKING:
    from et_schema.generated.program import ExecutionPlan
    from et_vm.kernels.registry import KernelKey, KernelRegistry, Param, Prepare, Scratch
    from et_vm.load.instructions import Instruction
    from et_vm.platform import Platform
    from et_vm.verify.flow import Flow


def link(
    plan: ExecutionPlan,
    instructions: Sequence[Instruction],
    registers: list[object],
    flow: Flow,
    kernels: KernelRegistry,
    platform: Platform,
    *,
    scratch: Scratch,
    memo: dict[object, object],
) -> dict[int, Call]:
    """The kernel calls of a plan by the index of their instruction. Prims are no kernel calls.

    ``scratch`` and ``memo`` are what the kernels may take working memory from, and keep derived data in.

    Raises MissingOperator with every operator that has no kernel, and InvalidFile for a call that does not
    fit the signature of its kernel, whatever path leads to it.
    """
    calls = [
        instruction
        for instruction in instructions
        if instruction.opcode.mnemonic == "call" and instruction.prim is None
    ]
    found, missing = _resolve(calls, registers, kernels)
    if missing:
        for name in missing:
            platform.log(LogLevel.INFO, f"no kernel for {name} in method {plan.name!r}")
        raise MissingOperator(missing, where=plan.name, hint=_missing_hint(missing))
    signature = cache(parameters_of)

    def params_of(instruction: Instruction) -> Sequence[Param] | None:
        prepare = found.get(instruction.index)
        return None if prepare is None else signature(prepare)

    for instruction in calls:
        _check_arity(
            instruction, params_of(instruction), plan, registers, kernels.origins.get(instruction.name)
        )
    flow.check_calls(
        lambda instruction: None if instruction.name in kernels.origins else params_of(instruction)
    )
    if kernels.origins:
        _check_own_kernels(flow, params_of, kernels.origins)
    linked: dict[int, Call] = {}
    for instruction in calls:
        context = PrepareContext(
            instruction.name,
            instruction=instruction.position,
            frames=instruction.frames,
            scratch=scratch,
            memo=memo,
            memo_key=instruction.index,
        )
        prepare = found[instruction.index]
        linked[instruction.index] = Call(
            instruction, prepare, signature(prepare), registers, context, call_outputs(instruction, plan)
        )
    return linked


def _resolve(
    instructions: Sequence[Instruction], registers: Sequence[object], registry: KernelRegistry
) -> tuple[dict[int, Prepare], list[str]]:
    """The kernel of each kernel call by instruction index, and the operators for which there is none."""
    found: dict[int, Prepare] = {}
    missing: dict[str, None] = {}
    for instruction in instructions:
        key: KernelKey = ()
        if registry.is_keyed(instruction.name):
            key = _kernel_key([registers[register] for register in instruction.args[:-1]])
        prepare = registry.lookup(instruction.name, key)
        if prepare is None:
            missing[instruction.name] = None
        else:
            found[instruction.index] = prepare
    return found, list(missing)


def _kernel_key(args: Sequence[object]) -> KernelKey:
    """Element type and dim order of each argument that is a tensor."""
    return tuple([(arg.scalar_type, arg.dim_order) for arg in args if isinstance(arg, Tensor)])


def _check_own_kernels(
    flow: Flow, params_of: Callable[[Instruction], Sequence[Param] | None], origins: Mapping[str, str]
) -> None:
    """Raise ExecutorchError for a call that does not fit a kernel which a user wrote: the file may be right."""
    name = ""

    def params_of_own(instruction: Instruction) -> Sequence[Param] | None:
        nonlocal name
        name = instruction.name
        return params_of(instruction) if name in origins else None

    try:
        flow.check_calls(params_of_own)
    except InvalidFile as error:
        hint = f"{origins[name]}: its annotations are the types of the operator's out variant"
        raise ExecutorchError(error.code, error.message, where=error.where, hint=hint) from None


_NAMESPACES = frozenset({"aten", "dim_order_ops", "executorch_prim", "quantized_decomposed"})
"""Namespaces of operators that come with runtimes; others are of libraries of users."""


def _missing_hint(operators: Sequence[str]) -> str | None:
    custom = [name for name in operators if name.partition("::")[0] not in _NAMESPACES]
    if not custom:
        return None
    return f"write the kernel in Python, @et_vm.kernel({custom[0]!r}), and load it: et-vm run --load FILE"


def _check_arity(
    instruction: Instruction,
    params: Sequence[Param] | None,
    plan: ExecutionPlan,
    registers: Sequence[object],
    origin: str | None,
) -> None:
    """Raise InvalidFile when the call has not the arguments of the operator's schema, then its outputs once
    more; ExecutorchError(InvalidArgument) when the kernel is one that a user wrote, at ``origin``.
    """
    args = instruction.args
    if params is not None and origin is not None and len(args) != len(params) + 1:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"the kernel of {instruction.name} takes {len(params)} arguments "
            f"({', '.join(param.name for param in params)}), the call has {len(args) - 1}",
            where=f"{instruction.where}.args",
            hint=f"{origin}: its parameters are those of the operator's out variant, in order",
        )
    if params is not None and len(args) != len(params) + 1:
        raise InvalidFile(
            f"{instruction.name} takes {len(params)} arguments and its outputs again, got {len(args)}",
            where=f"{instruction.where}.args",
        )
    outputs = call_outputs(instruction, plan)
    # The outputs are the last arguments of an operator: several tensors, or one list of them. One in place returns its
    # first.
    last = [registers[register] for register in args[-2:-1]]
    repeated = (
        args[:-1][-len(outputs) :] == outputs
        or any(isinstance(value, ListRegister) and value.items == outputs for value in last)
        or (is_in_place(instruction.name) and args[0] == args[-1])
    )
    if not repeated:
        raise InvalidFile(
            f"the last argument of {instruction.name} does not repeat its outputs",
            where=f"{instruction.where}.args[{len(args) - 1}]",
        )
