// RUN: et-opt -p legalize --split-input-file %s | filecheck %s
// RUN: et-opt -p 'legalize{target=et-vm}' --split-input-file %s | filecheck %s --check-prefix KERNEL

// CHECK-LABEL: func.func @rows
// KERNEL:      edge.view_copy.dtype %x {dtype = ui8}
func.func @rows(%x: tensor<?x3xf32, #program.sizes<n, 3>>) -> tensor<?x12xui8, #program.sizes<n, 12>> attributes {program.ranges = #program.ranges<n from 0 to 5>} {
  // CHECK: %[[FLAT:.*]] = edge.view_copy %x {size = [-1]}
  // CHECK: %[[COUNT:.*]] = edge.sym_size.int %[[FLAT]] {dim = 0}
  // CHECK: %[[MOST:.*]] = program.literal 15
  // CHECK: %[[MISSING:.*]] = program.compute "sub" %[[MOST]], %[[COUNT]]
  // CHECK: %[[WHOLE:.*]] = edge.constant_pad_nd %[[FLAT]] {pad = [0, %[[MISSING]]]}
  // CHECK-SAME: tensor<15xf32>
  // CHECK: edge.view_copy.dtype %[[WHOLE]] {dtype = ui8} : (tensor<15xf32>) -> tensor<60xui8>
  %0 = edge.view_copy.dtype %x {dtype = ui8} : (tensor<?x3xf32, #program.sizes<n, 3>>) -> tensor<?x12xui8, #program.sizes<n, 12>>
  func.return %0 : tensor<?x12xui8, #program.sizes<n, 12>>
}

// -----

// Does not fire: known sizes, and one without a bound.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<2x3xf32>, %y: tensor<?x4xf32>) -> (tensor<2x3xi32>, tensor<?x4xi32>) {
  // CHECK-NEXT: edge.view_copy.dtype %x
  %0 = edge.view_copy.dtype %x {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  // CHECK-NEXT: edge.view_copy.dtype %y
  %1 = edge.view_copy.dtype %y {dtype = i32} : (tensor<?x4xf32>) -> tensor<?x4xi32>
  func.return %0, %1 : tensor<2x3xi32>, tensor<?x4xi32>
}

// -----

// Complex numbers are shown as such where no operator is on their parts.
// CHECK-LABEL: func.func @complex
// KERNEL:      edge.view_as_complex_copy %x
func.func @complex(%x: tensor<?x2xf32, #program.sizes<n, 2>>) -> tensor<?xcomplex<f32>, #program.sizes<n>> attributes {program.ranges = #program.ranges<n from 0 to 5>} {
  // CHECK: %[[WHOLE:.*]] = edge.constant_pad_nd
  // CHECK-SAME: tensor<10xf32>
  // CHECK: edge.view_copy.dtype %[[WHOLE]] {dtype = complex<f32>} : (tensor<10xf32>) -> tensor<5xcomplex<f32>>
  %0 = edge.view_as_complex_copy %x : (tensor<?x2xf32, #program.sizes<n, 2>>) -> tensor<?xcomplex<f32>, #program.sizes<n>>
  func.return %0 : tensor<?xcomplex<f32>, #program.sizes<n>>
}
