"""Legalization: rewrite what a target's kernels refuse, or compute otherwise than torch.

```mlir
%1 = edge.cumsum %x {dim = 0} : tensor<f32>                                                   // before

%2 = edge.view_copy %x {size = [1]} : (tensor<f32>) -> tensor<1xf32>                          // after
%3 = edge.cumsum %2 {dim = 0} : tensor<1xf32>
%1 = edge.view_copy %3 {size = []} : (tensor<1xf32>) -> tensor<f32>
```

`Target.legalizations` says which families of patterns a runtime needs: the stock runtime, whose kernels take less than
torch's do, all of them, et-vm none. Each rewrite gives what torch gives, and nothing that the kernels compute rightly
is touched. What is here, exported models, quantized programs or trained networks need, or the kernel would give a wrong
result without a word; operators that are rarer stay without a kernel, and `link-check` names them. The patterns:

| what kernels refuse, or compute otherwise | what is said instead |
|---|---|
| reductions and scans of a tensor without dimensions | a view of one dimension in front, and one behind |
| results without elements; `mm` and `bmm` over no elements, whose results stay as they were | `full` |
| indices of i32 in `gather` and `scatter` | a conversion to i64 |
| a float added to integers; a number or a truth value added to i1 | added in the type of the result; `bitwise_or` |
| `logit`, `leaky_relu` and variances of f16 and bf16 | in f32, as torch does |
| `_log_softmax` of f64 | `x - max - log(sum(exp(x - max)))` |
| `add` with a factor where the first operand has one element: multiplies that | the operand expanded |
| a factor of another type than the elements, or negative for ui8 | the same factor in theirs |
| negative padding | `slice_copy` in front |
| factors of resizes that torch does not go by, as it keeps or doubles a size | the ratio of the sizes |
| `narrow_copy` along a negative dimension | `slice_copy` |
| `remainder`, which may have the sign of the dividend | `fmod`, corrected |
| remainders of i64, and quotients of i64 rounded toward zero, computed in f64 | from the quotient rounded down |
| `sum.dim_IntList` of f64 over one dimension, added up in f32 | the same over that and one of one element |
| `scatter_reduce`, which there is no kernel for | `scatter_add`, divided by how many were added; a sort and a scan |
| `cummax`, `cummin` | scans by doubling |
| `sort` that is stable or of booleans | `topk`, twice |
| embedding bags | rows, scattered to their bags |
| `torchvision.nms` | a matrix of which boxes overlap, a loop over its rows |
| `col2im` | `index_put` that accumulates; a permutation of blocks side by side |
| `avg_pool3d`; `_adaptive_avg_pool2d` of f64, computed in f32 | sums over windows, divided |
| normalizations of f64, computed in f32 | their formula, in f64 |
| powers of integers with a known exponent, computed in f64 | products |
| shifts by less than 0, or the width of the type or more | shifts by the last bits, where there are no others |
| `max_pool2d_with_indices_backward`, which adds to what was in its result | `scatter_add` to zeros |
| `mul` of complex tensors that may have one element, taken for a real number | of twice as many |
| complex tensors of Fourier and rotary models; two-sided Fourier transforms | the same of both parts |
| `view_copy.dtype`, `view_as_complex` of dynamic sizes | padded to the largest, shown as the other type, and sliced |
| `convolution` in three dimensions, transposed or not | one in two, with planes for images and channels |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import PassFailedException

from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import TargetPattern, target_of
from et_ir.targets.target import Target

__all__ = ["FAMILIES", "LegalizePass", "made", "patterns_of"]

FAMILIES: Final = frozenset(
    [
        "arguments",
        "bags",
        "boxes",
        "complex_numbers",
        "empty",
        "folds",
        "normalizations",
        "pools",
        "powers",
        "quotients",
        "ranks",
        "reinterpretations",
        "remainder",
        "scans",
        "scatters",
        "shifts",
        "sorts",
        "sums",
        "types",
        "volumes",
    ]
)
"""The modules with patterns, `PATTERNS`, by the names that `Target.legalizations` has."""


@dataclass(frozen=True)
class LegalizePass(ModulePass):
    """Rewrite what the target's kernels refuse."""

    name = "legalize"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(self)
        for one in target.legalizations:
            classes = patterns_of(one, target) if isinstance(one, str) else (one,)
            rewrite(op, [made(cls, target) for cls in classes])


def patterns_of(family: str, target: Target) -> Sequence[type[RewritePattern]]:
    """The patterns of a family that a target requests. Raises `PassFailedException` for an unknown name."""
    if family not in FAMILIES:
        raise PassFailedException(
            f"legalize: '{target}' requests unknown legalization '{family}', expected one of "
            f"{', '.join(sorted(FAMILIES))}"
        )
    return import_module(f"{__name__}.{family}").PATTERNS


def made(cls: type[RewritePattern], target: Target) -> RewritePattern:
    """A pattern for a target."""
    return cls(target) if issubclass(cls, TargetPattern) else cls()
