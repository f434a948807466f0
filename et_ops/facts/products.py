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
declare("linear integer.linear", addend="bias")
declare("addmm baddbmm", addend="self")
declare(
    """
    _convolution.deprecated _convolution_mode conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding
    conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution integer.convolution slow_conv3d
    thnn_conv2d
    """,
    convolves="weight",
    addend="bias",
)
declare("convolution max_pool2d_with_indices", shares_layout=True)
declare("integer.convolution integer.max_pool2d", shares_layout=True)
declare("integer.linear", contracts="input")
