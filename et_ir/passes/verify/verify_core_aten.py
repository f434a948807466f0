"""Check the contract of Core ATen: the aten level, and only operators that decomposition leaves.

| label | rule |
|---|---|
| `core_aten_c1` | an op is `core` or `view_copy` to torch, a leaf, quantized, declared by the program, or preserved |

together with all rules of `verify-aten` and those of `quantization_rules.py`. Leaves are the operators that nothing
decomposes soundly and that runtimes can have kernels for: `et_ops/leaves.txt` lists them with the reasons. Operators
of a user's own, which the program declares (`program.operator`), have kernels of the user's. Whether the target has
the kernel is for `link-check` to say.

```mlir
%1 = aten.addmm %b, %x, %w : …     // passes
%2 = aten.lgamma %x : …            // passes: a leaf
%3 = aten.linear %x, %w, %b : …    // core_aten_c1, unless run as verify-core-aten{preserve=linear}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.program import Globals
from et_ir.dialects.schema.custom import is_custom
from et_ir.dialects.schema.tensors import is_static, is_tensor
from et_ir.passes.verify.program_rules import ProgramRules
from et_ir.passes.verify.quantization_rules import quantization_findings
from et_ir.passes.verify.verify_aten import aten_findings
from et_schema.wording import worded

__all__ = ["VerifyCoreAtenPass", "is_leaf"]


def is_leaf(op: type[AtenOp]) -> bool:
    """Whether an operator stays whole though it is not core: a leaf, a runtime's own, or a user's."""
    return is_custom(op) or op.operator.is_kept_whole


_DATA_DEPENDENT: Final = {
    "repeat_interleave.Tensor": "its result size depends on data: pass output_size=",
    "repeat_interleave.self_Tensor": "its result size depends on data: pass output_size=",
    "tensor_split.tensor_indices_or_sections": "its split sizes depend on data: pass a list of ints",
}
"""Advice for operators with data-dependent result sizes."""


def _fix(op: AtenOp, preserved: frozenset[str]) -> str:
    from et_ir.dialects.edge import OP_BY_NAME
    from et_ir.frontend.decomposition import refusal
    from et_ir.passes.aten_to_core.decompose_traced import LAST_RESORT

    name = op.operator.name
    if name in _DATA_DEPENDENT:
        return _DATA_DEPENDENT[name]
    is_dynamic = any(is_tensor(v.type) and not is_static(v.type) for v in op.operands)
    refused = refusal(op, preserved, LAST_RESORT) if is_dynamic or name not in OP_BY_NAME else None
    if refused is not None and refused.assumed:
        return f"torch decomposes it where {refused.assumed} only: export with ranges of sizes that are within this"
    if name in OP_BY_NAME:
        kept = worded(
            python=f"EdgeCompileConfig(preserve_ops=[{name!r}])",
            command=f"preserve={name}, et-compile --preserve {name}",
        )
        return f"decompose it, or keep it if the target has a kernel: {kept}"
    if refused is not None:
        return f"torch's decomposition of it {refused.reason}: rewrite it with other operators"
    return "run decompose and decompose-traced; rewrite what remains with other operators"


@dataclass(frozen=True)
class VerifyCoreAtenPass(ModulePass):
    """Check that the program is Core ATen."""

    name = "verify-core-aten"

    preserve: tuple[str, ...] = ()
    """Operators that are allowed though they are not core, as `linear` or `upsample_nearest2d.vec`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        preserved = frozenset(f"aten.{name}" for name in self.preserve)

        symbols = Globals(op)

        def rule(inner: Operation) -> Iterator[Diagnostic]:
            yield from aten_findings(inner)
            yield from quantization_findings(inner, symbols)
            if isinstance(inner, AtenOp) and not (
                inner.operator.is_core or is_leaf(type(inner)) or inner.name in preserved
            ):
                yield diagnose(
                    inner, "[core_aten_c1] is not Core ATen", _fix(inner, frozenset(self.preserve))
                )

        PassReport.raise_if("the program is not Core ATen", ProgramRules(op, "aten").check(rule))
