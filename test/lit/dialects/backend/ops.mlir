// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// CHECK:      backend.lowered @lowered_0 "demo" specs [#backend.compile_spec<"text", "f16">, #backend.compile_spec<"bytes", "\00\FF">] = #program.data<ui8, [1, 2]>
// CHECK-NEXT: backend.lowered @lowered_1 "demo" align 4096 debug_handles {"1" = [loc("model.py":3:0), loc("fc"("model.py":4:0)), loc(unknown)], conv = []} = #program.data<ui8, []>
// CHECK-NEXT: backend.lowered @lowered_2 "demo" updates array<i64: 0, 1, 1, 0> = #program.data<ui8, [3]>
// CHECK-NEXT: backend.lowered @lowered_3 "demo" debug_handles {a = [loc(unknown)], b = []} debug_orders {a = array<i64: 0, 2, 1>, b = array<i64>} = #program.data<ui8, []>
// CHECK-NEXT: backend.named_data "a/b" align 64 = #program.data<ui8, [1, 2]>
backend.lowered @lowered_0 "demo" specs [#backend.compile_spec<"text", "f16">, #backend.compile_spec<"bytes", "\00\FF">] = #program.data<ui8, [1, 2]>
backend.lowered @lowered_1 "demo" align 4096 debug_handles {"1" = [loc("model.py":3:0), loc("fc"("model.py":4:0)), loc(unknown)], conv = []} = #program.data<ui8, []>
backend.lowered @lowered_2 "demo" updates array<i64: 0, 1, 1, 0> = #program.data<ui8, [3]>
backend.lowered @lowered_3 "demo" debug_handles {a = [loc(unknown)], b = []} debug_orders {a = array<i64: 0, 2, 1>, b = array<i64>} = #program.data<ui8, []>
backend.named_data "a/b" align 64 = #program.data<ui8, [1, 2]>
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %0 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: backend.call @lowered_1() : () -> ()
  backend.call @lowered_1() : () -> ()
  // CHECK-NEXT: %1 = backend.partition "demo" specs [#backend.compile_spec<"k", "v">](%0) : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ^{{.*}}(%a: tensor<4xf32>):
  // CHECK-NEXT:   %w = program.get @w : tensor<4xf32>
  // CHECK-NEXT:   %b = edge.add.Tensor %a, %w : tensor<4xf32>
  // CHECK-NEXT:   backend.yield %b : tensor<4xf32>
  %1 = backend.partition "demo" specs [#backend.compile_spec<"k", "v">](%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %w = program.get @w : tensor<4xf32>
    %b = edge.add.Tensor %a, %w : tensor<4xf32>
    backend.yield %b : tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
