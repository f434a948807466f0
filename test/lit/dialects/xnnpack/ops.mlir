// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// CHECK:      xnnpack.graph @mixed version "0" specs [#backend.compile_spec<"k", "v">] align 64 debug_handles {"1" = array<i64: 3>} debug_orders {"1" = array<i64: 1, 0>} table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 8 : i64}, {key = "bias", size = 8 : i64}] constants #program.data<ui8, [1, 2, 3, 4, 5, 6, 7, 8]> {
// CHECK-NEXT:   %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [1, 4]>
// CHECK-NEXT:   %1 = xnnpack.constant 1 id 2 : !xnnpack.value<qcint8, [2, 4], {by = "PerChannelQuant", scale = [5.000000e-01 : f32, 2.500000e-01 : f32]}>
// CHECK-NEXT:   %2 = xnnpack.constant 2 id 3 : !xnnpack.value<fp32, [2]>
// CHECK-NEXT:   %3 = xnnpack.convert(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [1, 4]>) -> !xnnpack.value<qdint8, [1, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>
// CHECK-NEXT:   %4 = xnnpack.fully_connected(%3, %1, %2) ids array<i64: 4> {debug_handle = 7 : i64, output_min = 0.000000e+00 : f32, output_max = 0x7f800000 : f32}
// CHECK-NEXT:   %5 = xnnpack.elu(%4) ids array<i64: 5> {alpha = 1.000000e+00 : f32}
// CHECK-NEXT:   xnnpack.output %5 arguments array<i64: 1> : !xnnpack.value<fp32, [1, 2]>
// CHECK-NEXT: }
xnnpack.graph @mixed version "0" specs [#backend.compile_spec<"k", "v">] align 64 debug_handles {"1" = array<i64: 3>} debug_orders {"1" = array<i64: 1, 0>} table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 8 : i64}, {key = "bias", size = 8 : i64}] constants #program.data<ui8, [1, 2, 3, 4, 5, 6, 7, 8]> {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [1, 4]>
  %1 = xnnpack.constant 1 id 2 : !xnnpack.value<qcint8, [2, 4], {by = "PerChannelQuant", scale = [5.000000e-01 : f32, 2.500000e-01 : f32]}>
  %2 = xnnpack.constant 2 id 3 : !xnnpack.value<fp32, [2]>
  %3 = xnnpack.convert(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [1, 4]>) -> !xnnpack.value<qdint8, [1, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>
  %4 = xnnpack.fully_connected(%3, %1, %2) ids array<i64: 4> {debug_handle = 7 : i64, output_min = 0.000000e+00 : f32, output_max = 0x7f800000 : f32} : (!xnnpack.value<qdint8, [1, 4], {by = "PerTokenDynamicQuant", num_nonbatch_dims = 1 : i64}>, !xnnpack.value<qcint8, [2, 4], {by = "PerChannelQuant", scale = [5.000000e-01 : f32, 2.500000e-01 : f32]}>, !xnnpack.value<fp32, [2]>) -> !xnnpack.value<fp32, [1, 2]>
  %5 = xnnpack.elu(%4) ids array<i64: 5> {alpha = 1.000000e+00 : f32} : (!xnnpack.value<fp32, [1, 2]>) -> !xnnpack.value<fp32, [1, 2]>
  xnnpack.output %5 arguments array<i64: 1> : !xnnpack.value<fp32, [1, 2]>
}
