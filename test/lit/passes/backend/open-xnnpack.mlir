// RUN: et-opt -p 'close-xnnpack,open-xnnpack' %s | filecheck %s
// RUN: et-opt -p 'close-xnnpack' %s | filecheck %s --check-prefix=CLOSED

// CHECK:       xnnpack.graph @lowered_0 version "0" specs [#backend.compile_spec<"k", "v">] align 64 table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 16 : i64}] constants #program.data<ui8, [0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63]> {
// CHECK-NEXT:    %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
// CHECK-NEXT:    %1 = xnnpack.constant 1 id 1 : !xnnpack.value<fp32, [4]>
// CHECK-NEXT:    %2 = xnnpack.add(%0, %1) ids array<i64: 2> {output_min = 0.000000e+00 : f32, output_max = 6.000000e+00 : f32}
// CHECK-NEXT:    xnnpack.output %2 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
// CLOSED-NOT:  xnnpack.
// CLOSED:      backend.lowered @lowered_0 "XnnpackBackend" specs [#backend.compile_spec<"k", "v">] align 64 = #program.data<ui8, {{[0-9]+}}, "lowered_0"
xnnpack.graph @lowered_0 version "0" specs [#backend.compile_spec<"k", "v">] align 64 table [{offset = 0 : i64, size = 0 : i64}, {offset = 0 : i64, size = 16 : i64}] constants #program.data<ui8, [0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63]> {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.constant 1 id 1 : !xnnpack.value<fp32, [4]>
  %2 = xnnpack.add(%0, %1) ids array<i64: 2> {output_min = 0.0 : f32, output_max = 6.0 : f32} : (!xnnpack.value<fp32, [4]>, !xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %2 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// Those of other backends stay as they are.
// CHECK:       backend.lowered @lowered_1 "demo" = #program.data<ui8, [1, 2]>
// CLOSED:      backend.lowered @lowered_1 "demo" = #program.data<ui8, [1, 2]>
backend.lowered @lowered_1 "demo" = #program.data<ui8, [1, 2]>
