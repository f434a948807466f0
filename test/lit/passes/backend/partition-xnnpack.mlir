// RUN: et-opt -p 'partition{backend=xnnpack},verify-backend' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'partition{backend=xnnpack},lower-partitions,verify-backend' --split-input-file %s | filecheck %s --check-prefix=LOWERED

// What XNNPACK has a node for is one partition, constants inside.
// CHECK-LABEL: func.func @whole
// CHECK:         %d = backend.partition "XnnpackBackend"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
// CHECK:           edge.add.Tensor
// CHECK:           edge.relu
// CHECK-NEXT:      backend.yield
// CHECK:         func.return %d
// LOWERED:       backend.lowered @lowered_0 "XnnpackBackend"
// LOWERED:       backend.named_data "{{[0-9a-f]+}}" align 16 = #program.data<ui8, {{.*}}>
// LOWERED-LABEL: func.func @whole
// LOWERED-NEXT:    %d = backend.call @lowered_0(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @whole(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = program.get @w : tensor<4xf32>
  %a = edge.add.Tensor %x, %w {alpha = 1} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %d = edge.relu %a : tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}

// -----

// Integers, other operators, and a factor stay.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    edge.add.Tensor %n, %n
// CHECK-NEXT:    backend.partition "XnnpackBackend"
// CHECK:         edge.erf
// CHECK-NEXT:    edge.add.Tensor {{.*}} {alpha = 2}
func.func @parts(%x: tensor<2x4xf32>, %n: tensor<4xi64>) -> (tensor<4xi64>, tensor<2x4xf32>) {
  %m = edge.add.Tensor %n, %n : tensor<4xi64>
  %a = edge.sigmoid %x : tensor<2x4xf32>
  %b = edge.erf %a : tensor<2x4xf32>
  %c = edge.add.Tensor %b, %x {alpha = 2} : tensor<2x4xf32>
  func.return %m, %c : tensor<4xi64>, tensor<2x4xf32>
}

// -----

// Moving elements alone is not worth a call.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     backend.partition
// CHECK:         func.return
func.func @moved(%x: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %a = edge.permute_copy %x {dims = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  func.return %a : tensor<4x2xf32>
}
