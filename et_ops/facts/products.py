"""Products of matrices, and windows that move over images."""

from __future__ import annotations

from et_ops.fact import declare

declare("mm", sizes=(("self", 0), ("mat2", 1)))
declare("addmm", sizes=(("mat1", 0), ("mat2", 1)))
declare("bmm", sizes=(("self", 0), ("self", 1), ("mat2", 2)))
declare("baddbmm", sizes=(("batch1", 0), ("batch1", 1), ("batch2", 2)))
declare("mm bmm", contracts="self")
declare("addmm", contracts="mat1")
declare("baddbmm", contracts="batch1")
declare("linear grouped.linear", contracts="input")
declare("convolution max_pool2d_with_indices", shares_layout=True)
declare("integer.convolution integer.max_pool2d", shares_layout=True)
declare("integer.linear", contracts="input")
