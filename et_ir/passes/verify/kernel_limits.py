"""Check that a target's kernels take what a program gives them.

```mlir
%1 = edge.sin %x : tensor<4xcomplex<f32>>
// error: the kernel 'aten::sin.out' of 'stock-1.5' takes no complex<f32> for 'self'
```

The element types that a target's kernels refuse are listed in `et_ir/targets/<target>-types.txt`; a target without a
list takes what edge operators take. What the stock runtime's kernels do not do with complex tensors they take is in
`fit_kernels/complex_numbers.py`. Convolutions of the stock runtime have one or two dimensions. All operations that
the runtime would stop at are reported at once. Runs after `fit-kernels`, which avoids some.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.passes.to_executorch.fit_kernels.complex_numbers import complex_limit
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.report import Finding
from et_ir.targets.manifest import STOCK, load_refused_types

__all__ = ["KernelLimitsPass"]

_FIX = "convert to another type around it, delegate it, or compile for et-vm"


@dataclass(frozen=True)
class KernelLimitsPass(ModulePass):
    """Check that kernels take what they are given."""

    name = "kernel-limits"

    target: str = STOCK

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refused = load_refused_types(self.target)
        findings = [
            Finding.at(one, message, _FIX)
            for one in op.walk()
            if isinstance(one, EdgeOp)
            for message in (
                *_types(one, refused, self.target),
                *_ranks(one, self.target),
                *_complex_numbers(one, self.target),
            )
        ]
        MissingKernels.raise_if(f"operations that kernels of '{self.target}' refuse", findings)


def _types(op: EdgeOp, refused: dict[str, dict[str, frozenset[str]]], target: str) -> Iterator[str]:
    kernel = op.operator.kernel
    for arg, types in refused.get(kernel, {}).items():
        for _, value in operands_of(op, arg):
            if is_tensor(value.type) and element_type_name(value.type.element_type) in types:
                name = element_type_name(value.type.element_type)
                yield f"the kernel '{kernel}' of '{target}' takes no {name} for '{arg}'"
                return


def _ranks(op: EdgeOp, target: str) -> Iterator[str]:
    if not target.startswith("stock") or not isinstance(op, edge.ConvolutionOp):
        return
    rank = tensor_type(op.operands[0]).get_num_dims()
    if rank > 4:
        yield f"the kernel 'aten::convolution.out' of '{target}' takes 3 or 4 dimensions for 'input', not {rank}"


def _complex_numbers(op: EdgeOp, target: str) -> Iterator[str]:
    limit = complex_limit(op) if target.startswith("stock") else None
    if limit is not None:
        yield f"the kernel '{op.operator.kernel}' of '{target}' {limit}"
