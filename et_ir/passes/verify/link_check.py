"""Check that a target has the kernels and backends of a program.

```mlir
executorch.kernel_call "aten::cumprod.out"(%x, 0) outs(%r)
// error: no kernel of 'stock-1.5' implements 'aten::cumprod.out'
executorch.delegate_call @lowered_0(%x) outs(%r)    // of "NestedProgramBackend"
// error: 'stock-1.5' has no backend NestedProgramBackend
```

Nor do all runtimes find memory for `unbound` tensors while they run (`Target.allocates`).

The operators and backends of a target are `Target.kernels` and `Target.backends`; `extra` and `backends` are those
that a user adds. Everything that is missing is reported at once: of a backend, its first call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import AllocOp, DelegateCallOp, InputOp, KernelCallOp
from et_ir.passes.plans import plans_of
from et_ir.targets.lookup import DEFAULT, TARGETS, find_target, missing_backend
from et_ir.targets.rewriting import target_of
from et_ir.targets.target import Target
from et_ops.library import operator_of_kernel
from et_schema.program import TensorShapeDynamism
from et_schema.wording import worded

__all__ = ["LinkCheckPass", "MissingKernels"]


class MissingKernels(PassReport):
    """Operators that the target has no kernel for, and backends that it does not have."""

    exit_code: ClassVar[int] = 4


class UnboundTensors(PassReport):
    """Tensors that the target has no memory for."""


@dataclass(frozen=True)
class LinkCheckPass(ModulePass):
    """Check that the target has each kernel and backend."""

    name = "link-check"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    extra: tuple[str, ...] = ()
    """Operators that the runtime has beside those of the target, as `mylib::foo.out`."""
    backends: tuple[str, ...] = ()
    """Backends that the runtime has beside those of the target, by their ids in files."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(self)
        plans_of(op, self)
        kernels = target.kernels | frozenset(self.extra)
        backends = target.backends | frozenset(self.backends)
        ops = list(op.walk())
        findings = [
            diagnose(call, *_missing(call.key, target, kernels), subject=call.key)
            for call in ops
            if isinstance(call, KernelCallOp) and call.key not in kernels
        ]
        if not target.allocates:
            UnboundTensors.raise_if(f"tensors without an upper bound, for '{target}'", _unbound(ops, target))
        delegates = _missing_backends(ops, target, backends)
        parts = [f"operators without a kernel in '{target}'"] if findings else []
        parts += [f"backends that '{target}' does not have"] if delegates else []
        MissingKernels.raise_if(" and ".join(parts), [*delegates, *findings])


def _unbound(ops: Sequence[Operation], target: Target) -> list[Diagnostic]:
    """Tensors that get memory at run time."""
    message = f"it has no upper bound, and {target.runtime} allocates no tensors at run time"
    bound = worded(python="EdgeCompileConfig(default_bounds=…)", command="--default-bound")
    other = worded(python='ExecutorchBackendConfig(target="et-vm")', command="--target et-vm")
    fix = f"bound the sizes (Dim(max=N), {bound}, torch._check), or compile with {other}"
    unbound = {
        op.result: op
        for op in ops
        if isinstance(op, (AllocOp, InputOp)) and op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
    }
    # What is computed from another such tensor is no finding of its own.
    follows = {
        written
        for op in ops
        if unbound and isinstance(op, KernelCallOp) and any(read in unbound for read in op.reads)
        for written in op.writes
    }
    return [diagnose(op, message, fix) for register, op in unbound.items() if register not in follows]


def _missing_backends(ops: Sequence[Operation], target: Target, backends: frozenset[str]) -> list[Diagnostic]:
    """The first call of each backend that is not among `backends`."""
    ids = {op.key: op.backend.data for op in ops if isinstance(op, LoweredOp)}
    calls: dict[str, list[DelegateCallOp]] = {}
    for op in ops:
        if isinstance(op, DelegateCallOp):
            backend = ids.get(op.callee.string_value())
            if backend is not None and backend not in backends:
                calls.setdefault(backend, []).append(op)
    findings: list[Diagnostic] = []
    for backend, delegated in calls.items():
        count = "1 call" if len(delegated) == 1 else f"{len(delegated)} calls"
        message, fix = missing_backend(backend, target, backends)
        findings.append(diagnose(delegated[0], f"{message} ({count})", fix))
    return findings


@cache
def _namespaces() -> frozenset[str]:
    """The namespaces that some target has kernels of."""
    return frozenset(name.partition("::")[0] for target in TARGETS for name in find_target(target).kernels)


def _missing(operator: str, target: Target, kernels: frozenset[str]) -> tuple[str, str]:
    """The problem of a call of an operator without a kernel on a target, and suggested fixes."""
    namespace = operator.partition("::")[0]
    if namespace in _namespaces():
        return f"'{target}' has no kernel for it", _fix(operator, kernels)
    said = sorted(name for name in kernels if name.partition("::")[0] == namespace)
    also = f" (what is added of '{namespace}' is {', '.join(said)})" if said else ""
    declared = worded(
        python=f"ExecutorchBackendConfig(extra_operators=[{operator!r}])",
        command=f"--extra-operators {operator}",
    )
    if target.vm_kernels is None:
        vm = worded(python='ExecutorchBackendConfig(target="et-vm")', command="--target et-vm --load FILE")
        kernel = f"if your runtime has a kernel for it, declare it with {declared}; et-vm takes kernels in Python: {vm}"
    else:
        kernel = worded(
            python=f"declare its kernel with {declared}",
            command="load its kernel with --load FILE, as for et-vm run",
        )
    return (
        f"it is a custom operator, for which {target.runtime} has no kernel{also}",
        kernel,
    )


def _fix(operator: str, kernels: frozenset[str]) -> str:
    """Suggested fixes: another overload, another target, else a decomposition or a user kernel."""
    fixes: list[str] = []
    packet = operator.partition(".")[0]
    overloads = sorted(
        name for name in kernels if name.partition(".")[0] == packet and _takes_the_same(operator, name)
    )
    if overloads:
        fixes.append(f"the target has {', '.join(overloads)}: lower to that overload")
    targets = [target for target in TARGETS if operator in find_target(target).kernels]
    if targets:
        fixes.append(f"compile for a target that has a kernel for it: {' or '.join(targets)}")
    if fixes:
        return "; or ".join(fixes)
    close = get_close_matches(operator, kernels, n=1, cutoff=0.85)
    hint = f", or use {close[0]}" if close else ""
    return f"decompose the operator into others, or delegate it: no known target has a kernel for it{hint}"


def _takes_the_same(operator: str, other: str) -> bool:
    """Whether an overload may take the place of another one: arguments of the same names, perhaps of other types.

    That of `view_copy.dtype_out` is an element type, which `view_copy.out` does not take.
    """
    records = (operator_of_kernel(operator), operator_of_kernel(other))
    names = [None if one is None else [arg.name for arg in one.called.in_args] for one in records]
    return None in names or names[0] == names[1]
