// RUN: et-opt -p fold-empty-tensors %s | filecheck %s

program.buffer mutable @nothing : tensor<0x3xf32>

// What is computed of nothing alone is constant.
// CHECK: program.constant @[[SUM:.*]] : tensor<3xf32> = #program.data<f32, [0.0, 0.0, 0.0]>
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: %[[S:.*]] = program.get @[[SUM]] : tensor<3xf32>
// CHECK-NEXT: func.return %[[S]]
func.func @sum(%x: tensor<4x3xf32>) -> tensor<3xf32> {
  %0 = edge.slice_copy.Tensor %x {dim = 0, start = 4} : (tensor<4x3xf32>) -> tensor<0x3xf32>
  %1 = edge.exp %0 : tensor<0x3xf32>
  %2 = edge.sum.dim_IntList %1 {dim = [0]} : (tensor<0x3xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// A product over nothing is zero.
// CHECK-LABEL: func.func @product
// CHECK-NOT: edge.mm
// CHECK: %[[F:.*]] = program.get @{{.*}} : tensor<2x3xf32>
// CHECK-NEXT: func.return %[[F]]
func.func @product(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.mm %x, %y : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// An update of no elements is its first operand.
// CHECK-LABEL: func.func @updates
// CHECK-NEXT: func.return %x
func.func @updates(%x: tensor<4x3xf32>, %i: tensor<0xi64>, %j: tensor<0x3xi64>) -> tensor<4x3xf32> {
  %v = edge.full {size = [], fill_value = 1.0} : () -> tensor<f32>
  %0 = edge.index_put %x, [%i], %v : (tensor<4x3xf32>, tensor<0xi64>, tensor<f32>) -> tensor<4x3xf32>
  %1 = edge.scatter.value %0, %j {dim = 0, value = 2.0} : (tensor<4x3xf32>, tensor<0x3xi64>) -> tensor<4x3xf32>
  func.return %1 : tensor<4x3xf32>
}

// State without elements is not updated, and what only the update needs is not computed.
// CHECK-LABEL: func.func @state
// CHECK-NEXT: func.return %x
func.func @state(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = edge.slice_copy.Tensor %x {dim = 0, start = 4} : (tensor<4x3xf32>) -> tensor<0x3xf32>
  program.store @nothing, %0 : tensor<0x3xf32>
  func.return %x : tensor<4x3xf32>
}

// Others stay.
// CHECK-LABEL: func.func @others
// CHECK-NEXT: edge.exp
// CHECK-NEXT: func.return
func.func @others(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = edge.exp %x : tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}

// A write of no elements to an input is none; its target stays the input.
// CHECK-LABEL: func.func @written
// CHECK-NEXT: func.return %y
func.func @written(%x: tensor<0x3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge.exp %x : tensor<0x3xf32>
  program.overwrite %x, %0 : tensor<0x3xf32>
  func.return %y : tensor<3xf32>
}
