"""Check that a target's kernels take what a program gives them.

```mlir
%1 = edge.sin %x : tensor<4xcomplex<f32>>
// error: the kernel 'aten::sin.out' of 'stock-1.5' takes no complex<f32> for 'self'
```

The element types that a target's kernels refuse are `Target.refused_types`, what else they do not take
`Target.limits`, such as a convolution in three dimensions; a target without either takes what edge operators take. All
operations that the runtime would stop at are reported at once. Runs after `legalize`, which avoids some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import diagnose
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of
from et_ir.targets.target import Target

__all__ = ["KernelLimitsPass"]

_FIX = "convert its operands to another type, delegate it, or compile for et-vm"


@dataclass(frozen=True)
class KernelLimitsPass(ModulePass):
    """Check that kernels take what they are given."""

    name = "kernel-limits"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(self)
        findings = [
            diagnose(one, message, _FIX)
            for one in op.walk()
            if isinstance(one, EdgeOp)
            for message in _problems(one, target)
        ]
        MissingKernels.raise_if(f"operations that '{self.target}' does not support", findings)


def _problems(op: EdgeOp, target: Target) -> Iterator[str]:
    kernel = op.operator.kernel
    refused = _refused_type(op, target.refused_types.get(kernel, {}))
    if refused is not None:
        yield f"the kernel '{kernel}' of '{target}' {refused}"
    if target.limits is not None:
        for limit in target.limits(op):
            yield f"the kernel '{kernel}' of '{target}' {limit}"


def _refused_type(op: EdgeOp, refused: Mapping[str, frozenset[str]]) -> str | None:
    """The first element type that a kernel refuses, and of which argument."""
    for arg, types in refused.items():
        for _, value in operands_of(op, arg):
            if is_tensor(value.type):
                name = element_type_name(value.type.element_type)
                if name in types:
                    return f"takes no {name} for '{arg}'"
    return None
