"""Application of passes."""

from __future__ import annotations

import warnings

from support.modules import context, parse

from et_ir.pass_application import apply_pass
from et_ir.passes.common.constant_fold import ConstantFoldPass


def test_numbers_that_numpy_warns_of() -> None:
    module = parse(
        """
program.constant @c : tensor<3xf32> = #program.data<f32, [0x7F800000, 0x7FC00000, 3.0e+38]>
func.func @forward() -> (tensor<3xf32>, tensor<3xi8>, tensor<3xf16>) {
  %c = program.get @c : tensor<3xf32>
  %0 = aten.sub.Tensor %c, %c : tensor<3xf32>
  %1 = aten._to_copy %c {dtype = i8} : (tensor<3xf32>) -> tensor<3xi8>
  %2 = aten._to_copy %c {dtype = f16} : (tensor<3xf32>) -> tensor<3xf16>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xi8>, tensor<3xf16>
}
"""
    )
    with warnings.catch_warnings(action="error"):
        apply_pass(ConstantFoldPass(), context(), module)
