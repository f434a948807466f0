// RUN: et-opt -p verify-aten,O1-core-aten,O1-edge %s | et-opt -p verify-edge | filecheck %s

// What passes make has the sizes of what it stands for, also in between, and in another memory layout.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32, #program.sizes<s0>>, %w: tensor<4x8xf32>, %b: tensor<4xf32>)
    -> tensor<?x4xf32, #program.sizes<2*s0 + 1>> attributes {program.ranges = #program.ranges<s0 from 2 to 128>} {
  %0 = aten.slice.Tensor %x {start = 0, end = 1} : (tensor<?x8xf32, #program.sizes<s0>>) -> tensor<1x8xf32>
  // CHECK: edge.cat {{.*}} -> tensor<?x8xf32, #program.sizes<2*s0 + 1>>
  %1 = aten.cat [%x, %x, %0] : (tensor<?x8xf32, #program.sizes<s0>>, tensor<?x8xf32, #program.sizes<s0>>, tensor<1x8xf32>) -> tensor<?x8xf32, #program.sizes<2*s0 + 1>>
  // CHECK: edge.{{(add)?}}mm {{.*}} -> tensor<?x4xf32, #program.sizes<2*s0 + 1>>
  %2 = aten.linear %1, %w, %b : (tensor<?x8xf32, #program.sizes<2*s0 + 1>>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32, #program.sizes<2*s0 + 1>>
  %3 = aten.gelu %2 : tensor<?x4xf32, #program.sizes<2*s0 + 1>>
  func.return %3 : tensor<?x4xf32, #program.sizes<2*s0 + 1>>
}

// CHECK-LABEL: func.func @channels_last
// CHECK: edge.convolution {{.*}} -> tensor<?x5x?x8xf32, #program.sizes<s0, s1 in #edge.dim_order<0, 2, 3, 1>>>
func.func @channels_last(%x: tensor<?x3x?x8xf32, #program.sizes<s0, s1>> {program.dim_order = array<i64: 0, 2, 3, 1>}, %w: tensor<5x3x3x3xf32>)
    -> tensor<?x5x?x8xf32, #program.sizes<s0, s1>> attributes {program.ranges = #program.ranges<s0 from 2 to 4, s1 from 2 to 16>} {
  %0 = aten.conv2d %x, %w, none {stride = [1, 1], padding = [1, 1]} : (tensor<?x3x?x8xf32, #program.sizes<s0, s1>>, tensor<5x3x3x3xf32>) -> tensor<?x5x?x8xf32, #program.sizes<s0, s1>>
  func.return %0 : tensor<?x5x?x8xf32, #program.sizes<s0, s1>>
}
