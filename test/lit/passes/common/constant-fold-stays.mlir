// RUN: et-opt -p constant-fold --split-input-file %s | filecheck %s
// RUN: et-opt -p 'constant-fold{limit=0}' --split-input-file %s | filecheck %s --check-prefixes=CHECK,SMALL

// Not folded: what depends on inputs, on state, on random numbers; memory without a value; bytes that are not there.
program.buffer mutable @state : tensor<2xf32>
program.parameter @absent : tensor<100xf32> = #program.data<f32, 100, "absent", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef">
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2xf32>, %n: i64) -> (tensor<2xf32>, tensor<?xf32>, tensor<100xf32>) {
  // CHECK: aten.relu
  %0 = aten.relu %x : tensor<2xf32>
  // CHECK: aten.neg
  %s = program.load @state : tensor<2xf32>
  %1 = aten.neg %s : tensor<2xf32>
  // CHECK: aten.rand
  %2 = aten.rand {size = [2]} : () -> tensor<2xf32>
  // CHECK: aten.empty.memory_format
  %3 = aten.empty.memory_format {size = [2]} : () -> tensor<2xf32>
  // CHECK: aten.full
  %4 = aten.full {size = [%n], fill_value = 0.0} : (i64) -> tensor<?xf32>
  // CHECK: aten.neg
  %5 = program.get @absent : tensor<100xf32>
  %6 = aten.neg %5 : tensor<100xf32>
  %7 = aten.add.Tensor %0, %1 : tensor<2xf32>
  %8 = aten.add.Tensor %7, %2 : tensor<2xf32>
  %9 = aten.add.Tensor %8, %3 : tensor<2xf32>
  func.return %9, %4, %6 : tensor<2xf32>, tensor<?xf32>, tensor<100xf32>
}

// -----

// A result above the limit of 64 KiB that is larger than its operands stays; the operands are folded.
// CHECK-LABEL: func.func @grows
func.func @grows(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  // CHECK: %[[F:.*]] = {{program.get @full|aten.full}}
  %0 = aten.full {size = [1, 1], fill_value = 1.0} : () -> tensor<1x1xf32>
  // CHECK: aten.expand %[[F]]
  %1 = aten.expand %0 {size = [256, 256]} : (tensor<1x1xf32>) -> tensor<256x256xf32>
  %2 = aten.add.Tensor %x, %1 : tensor<256x256xf32>
  func.return %2 : tensor<256x256xf32>
}

// -----

// The transpose would be a second copy of a constant that is needed as it is: not above the limit.
program.parameter @w : tensor<2x3xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
// SMALL-LABEL: func.func @tied
func.func @tied(%i: tensor<4xi64>, %x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x2xf32>) {
  %w = program.get @w : tensor<2x3xf32>
  %0 = aten.embedding %w, %i : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  // SMALL: aten.permute
  %1 = aten.permute %w {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = aten.mm %x, %1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %0, %2 : tensor<4x3xf32>, tensor<4x2xf32>
}
