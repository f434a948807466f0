"""Say in the kernels' terms what a target's kernels would refuse or compute otherwise.

```mlir
%1 = edge.cumsum %x {dim = 0} : tensor<f32>                                                   // before

%2 = edge.view_copy %x {size = [1]} : (tensor<f32>) -> tensor<1xf32>                          // after
%3 = edge.cumsum %2 {dim = 0} : tensor<1xf32>
%1 = edge.view_copy %3 {size = []} : (tensor<1xf32>) -> tensor<f32>
```

For the stock runtime, whose kernels take less than torch's do. Each rewrite gives what torch gives, and nothing that
the kernels compute rightly is touched; for other targets the pass does nothing. The families of patterns:

| what kernels refuse, or compute otherwise | what is said instead |
|---|---|
| reductions and scans of a tensor without dimensions | a view of one dimension in front, and one behind |
| results without elements; `mm` and `bmm` over no elements, whose results stay as they were | `full` |
| indices of i32 in `gather` and `scatter` | a conversion to i64 |
| a number or a truth value added to i1 | added in the type of the result; `bitwise_or` |
| `logit` and variances of f16 and bf16 | in f32, as torch does |
| `_log_softmax` of f64 | `x - max - log(sum(exp(x - max)))` |
| `add` with a factor where the first operand has one element: multiplies that | the operand expanded |
| a factor of another type than the elements, or negative for ui8 | the same factor in theirs |
| negative padding | `slice_copy` in front |
| `narrow_copy` along a negative dimension | `slice_copy` |
| `remainder`, which may have the sign of the dividend | `fmod`, corrected |
| remainders of i64, and quotients of i64 rounded toward zero, computed in f64 | from the quotient rounded down |
| `sum.dim_IntList` of f64 over one dimension, added up in f32 | the same over that and one of one element |
| functions without a kernel (`erfc`, `erfinv`, `lgamma`, `digamma`, `i0`, Bessel functions) | formulas in f64 |
| `scatter_reduce`, which there is no kernel for | `scatter_add`, divided by how many were added; a sort and a scan |
| `cummax`, `cummin`, `logcumsumexp` | scans by doubling |
| `sort` that is stable or of booleans, `mode` | `topk`, twice |
| embedding bags | rows, scattered to their bags |
| `gcd` | steps of Euclid's, as many as the type can need |
| `avg_pool3d`; `_adaptive_avg_pool2d` of f64, computed in f32 | sums over windows, divided |
| normalisations of f64, computed in f32 | their formula, in f64 |
| powers of integers with a known exponent, computed in f64 | products |
| `max_pool2d_with_indices_backward`, which adds to what was in its result | `scatter_add` to zeros |
| `mul` of complex tensors that may have one element, taken for a real number | of twice as many |
| complex tensors, in most kernels; the whole of a Fourier transform | the same of real and imaginary parts |
| `convolution` in three dimensions, transposed or not | one in two, with planes for images and channels |
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.passes.to_executorch.fit_kernels import (
    arguments,
    bags,
    complex_numbers,
    divisors,
    empty,
    normalizations,
    pools,
    powers,
    quotients,
    ranks,
    remainder,
    scans,
    scatters,
    sorts,
    special_functions,
    sums,
    types,
    volumes,
)
from et_ir.rewriting import rewrite
from et_ir.targets.manifest import STOCK

__all__ = ["FAMILIES", "FitKernelsPass"]

FAMILIES = (
    empty,
    complex_numbers,
    special_functions,
    bags,
    scatters,
    scans,
    sorts,
    pools,
    normalizations,
    powers,
    divisors,
    arguments,
    types,
    quotients,
    remainder,
    volumes,
    ranks,
    sums,
)
"""The modules with patterns, in the order they are tried in: what is left of a tensor may be empty."""


@dataclass(frozen=True)
class FitKernelsPass(ModulePass):
    """Avoid what the target's kernels refuse."""

    name = "fit-kernels"

    target: str = STOCK
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.target.startswith("stock"):
            return
        for family in FAMILIES:
            rewrite(op, [pattern() for pattern in family.PATTERNS])
