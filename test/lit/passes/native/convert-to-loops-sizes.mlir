// RUN: et-opt -p 'form-kernels,assign-layouts,convert-to-loops{instruction-set=x86-64-v4}' %s | filecheck %s

// Sizes of inputs are the first arguments of the function; others are computed of them, and buffers have room for the
// largest. The rows that are left after whole tiles are those of low tiles, or of single ones.

// CHECK:      func.func private @product_0
// CHECK:        -> (vector<12x32xf32>)
// CHECK:        -> (vector<4x32xf32>)
// CHECK:        -> (vector<1x32xf32>)
// CHECK:      func.func @forward(%w0: index, %w1: index, %x: memref<192xf32>, %w: memref<40xf32>, %0: memref<120xf32>) {
// CHECK:        %[[ROOM:.*]] = memref.alloc() : memref<192xf32>
// CHECK-NEXT:   %[[PART:.*]] = arith.muli %{{.*}}, %w0 : index
// CHECK-NEXT:   %[[COUNT:.*]] = arith.muli %[[PART]], %w1 : index
// CHECK-NEXT:   memref.reinterpret_cast %x to offset: [0], sizes: [%[[COUNT]]], strides: [1] : memref<192xf32> to memref<?xf32>
// CHECK:        func.call @pointwise_0
// CHECK:        %[[ROWS:.*]] = arith.muli %w0, %w1 : index
// CHECK-NEXT:   memref.reinterpret_cast %[[ROOM]] to offset: [0], sizes: [%[[ROWS]], %{{.*}}], strides: [8, 1]
// CHECK:        func.call @product_0
// CHECK:        func.call @softmax_0
func.func @forward(%x: tensor<?x?x8xf32, #program.sizes<s0, s1>>, %w: tensor<8x5xf32>) ->
    tensor<?x5xf32, #program.sizes<s0*s1>>
    attributes {program.ranges = #program.ranges<s0 from 1 to 4, s1 from 2 to 6>} {
  %0 = edge.view_copy %x {size = [-1, 8]} : (tensor<?x?x8xf32, #program.sizes<s0, s1>>)
    -> tensor<?x8xf32, #program.sizes<s0*s1>>
  %1 = edge.exp %0 : tensor<?x8xf32, #program.sizes<s0*s1>>
  %2 = edge.mm %1, %w : (tensor<?x8xf32, #program.sizes<s0*s1>>, tensor<8x5xf32>)
    -> tensor<?x5xf32, #program.sizes<s0*s1>>
  %3 = edge._softmax %2 {dim = -1, half_to_float = false} : tensor<?x5xf32, #program.sizes<s0*s1>>
  func.return %3 : tensor<?x5xf32, #program.sizes<s0*s1>>
}
