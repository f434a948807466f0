// RUN: et-opt -p creations-to-constants,dce --split-input-file %s | filecheck %s

// Equal elements are one, and numbers the beginning of a table, which several read.
// CHECK:       program.constant @full : tensor<1x1xf32> = #program.data<f32, [2.5]>
// CHECK-NEXT:  program.constant @arange : tensor<4xi64> = #program.data<i64, [0, 1, 2, 3]>
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:  %[[E:.*]] = program.get @full : tensor<1x1xf32>
// CHECK-NEXT:  %[[Y:.*]] = edge.expand_copy %[[E]] {size = [%n, 4]} : (tensor<1x1xf32>, i64) -> tensor<?x4xf32, #program.sizes<s0>>
// CHECK-NEXT:  %[[T:.*]] = program.get @arange : tensor<4xi64>
// CHECK-NEXT:  %[[Z:.*]] = edge.slice_copy.Tensor %[[T]] {start = 0, end = %n} : (tensor<4xi64>, i64) -> tensor<?xi64, #program.sizes<s0>>
// CHECK-NEXT:  %[[U:.*]] = program.get @arange : tensor<4xi64>
// CHECK-NEXT:  %[[W:.*]] = edge.slice_copy.Tensor %[[U]] {start = 0, end = %n}
// CHECK-NEXT:  func.return %[[Y]], %[[Z]], %[[W]]
func.func @forward(%n: i64) -> (tensor<?x4xf32, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s0>>) attributes {program.ranges = #program.ranges<s0 from 0 to 4>} {
  %0 = edge.full {size = [%n, 4], fill_value = 2.5} : (i64) -> tensor<?x4xf32, #program.sizes<s0>>
  %1 = edge.arange.start_step {start = 0, end = %n} : (i64) -> tensor<?xi64, #program.sizes<s0>>
  %2 = edge.arange.start_step {start = 0, end = %n, dtype = i64} : (i64) -> tensor<?xi64, #program.sizes<s0>>
  func.return %0, %1, %2 : tensor<?x4xf32, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s0>>
}

// -----

// Odd numbers up to one that is known at run time only: the number of them is computed.
// CHECK:       program.constant @arange : tensor<3xf32> = #program.data<f32, [1.0, 3.0, 5.0]>
// CHECK-LABEL: func.func @steps
// CHECK:       %[[M:.*]] = program.compute "floordiv"
// CHECK-NEXT:  %[[T:.*]] = program.get @arange
// CHECK-NEXT:  edge.slice_copy.Tensor %[[T]] {start = 0, end = %[[M]]}
func.func @steps(%x: tensor<?xf32, #program.sizes<s0>>) -> tensor<?xf32, #program.sizes<s0>> attributes {program.ranges = #program.ranges<s0 from 0 to 3>} {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?xf32, #program.sizes<s0>>) -> i64
  %two = program.literal 2 : i64
  %end = program.compute "mul" %n, %two : (i64, i64) -> i64
  %0 = edge.arange.start_step {start = 1, end = %end, step = 2, dtype = f32} : (i64) -> tensor<?xf32, #program.sizes<s0>>
  func.return %0 : tensor<?xf32, #program.sizes<s0>>
}

// -----

// Sizes without a bound, numbers that decrease, and sizes that are known.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:  edge.arange.start_step
// CHECK-NEXT:  edge.arange.start_step
// CHECK-NEXT:  edge.full
// CHECK-NEXT:  func.return
func.func @others(%n: i64, %m: i64) -> (tensor<?xi64, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s1>>, tensor<4xf32>) attributes {program.ranges = #program.ranges<s1 from 0 to 4>} {
  %0 = edge.arange.start_step {start = 0, end = %n} : (i64) -> tensor<?xi64, #program.sizes<s0>>
  %1 = edge.arange.start_step {start = %m, end = 0, step = -1} : (i64) -> tensor<?xi64, #program.sizes<s1>>
  %2 = edge.full {size = [4], fill_value = 1.0} : () -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<?xi64, #program.sizes<s0>>, tensor<?xi64, #program.sizes<s1>>, tensor<4xf32>
}
