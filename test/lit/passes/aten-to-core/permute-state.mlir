// RUN: et-opt -p permute-state --split-input-file %s | filecheck %s

// Two methods, two writes in one of them.
// CHECK: program.buffer mutable @cache : tensor<3x2xf32>
// CHECK-LABEL: func.func @forward
// CHECK:      %[[C:.*]] = program.load @cache : tensor<3x2xf32>
// CHECK-NEXT: %[[X:.*]] = aten.permute %x {dims = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %[[W:.*]] = aten.index_copy %[[C]], %at, %[[X]] {dim = 0}
// CHECK-NEXT: %[[Y:.*]] = aten.permute %y {dims = [1, 0]}
// CHECK-NEXT: %[[W2:.*]] = aten.index_copy %[[W]], %at, %[[Y]] {dim = 0}
// CHECK-NEXT: program.store @cache, %[[W2]] : tensor<3x2xf32>
// CHECK-NEXT: func.return %[[W2]] : tensor<3x2xf32>
// CHECK-LABEL: func.func @read
// CHECK:      %[[C:.*]] = program.load @cache : tensor<3x2xf32>
// CHECK-NEXT: func.return %[[C]]
program.buffer mutable @cache : tensor<2x3xf32>
func.func @forward(%x: tensor<2x1xf32>, %y: tensor<2x1xf32>, %at: tensor<1xi64>) -> tensor<3x2xf32> {
  %0 = program.load @cache : tensor<2x3xf32>
  %1 = aten.index_copy %0, %at, %x {dim = -1} : (tensor<2x3xf32>, tensor<1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = aten.index_copy %1, %at, %y {dim = 1} : (tensor<2x3xf32>, tensor<1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %3 = aten.permute %2 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  program.store @cache, %2 : tensor<2x3xf32>
  func.return %3 : tensor<3x2xf32>
}
func.func @read() -> tensor<3x2xf32> {
  %0 = program.load @cache : tensor<2x3xf32>
  %1 = aten.permute %0 {dims = [1, -2]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// State that is read as it is too, that is stored by other means, and that does not start as zeros.
// CHECK: program.buffer mutable @read : tensor<2x3xf32>
// CHECK: program.buffer mutable @written : tensor<2x3xf32>
// CHECK: program.buffer mutable @started : tensor<2x1xf32>
// CHECK: program.buffer mutable @other : tensor<2x3xf32>
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-4: aten.permute
program.buffer mutable @read : tensor<2x3xf32>
program.buffer mutable @written : tensor<2x3xf32>
program.buffer mutable @started : tensor<2x1xf32> = #program.data<f32, [1.0, 2.0]>
program.buffer mutable @other : tensor<2x3xf32>
func.func @forward(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x2xf32>, tensor<3x2xf32>) {
  %0 = program.load @read : tensor<2x3xf32>
  %1 = aten.permute %0 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = aten.relu %0 : tensor<2x3xf32>
  %3 = program.load @written : tensor<2x3xf32>
  %4 = aten.permute %3 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  program.store @written, %x : tensor<2x3xf32>
  %5 = program.load @started : tensor<2x1xf32>
  %6 = aten.permute %5 {dims = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %7 = program.load @other : tensor<2x3xf32>
  %8 = aten.permute %7 {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  program.store @read, %7 : tensor<2x3xf32>
  func.return %1, %2, %4, %6, %8 : tensor<3x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x2xf32>, tensor<3x2xf32>
}

// -----

// Rows written by `index_put`, at places of one dimension; places that are added up stay.
// CHECK-LABEL: func.func @put
// CHECK:      %[[NEW:.*]] = aten.permute %k {dims = [0, 2, 1, 3]}
// CHECK-NEXT: %[[R:.*]] = aten.index_put %{{.*}}, [none, %at], %[[NEW]]
// CHECK-NOT:  aten.permute
// CHECK:      program.store @keys, %[[R]] : tensor<1x6x2x8xf32>
// CHECK:      aten.index_put %{{.*}}, [none, none, %at], %k {accumulate = true}
// CHECK-NEXT: aten.permute
program.buffer mutable @keys : tensor<1x2x6x8xf32>
program.buffer mutable @sums : tensor<1x2x6x8xf32>
func.func @put(%k: tensor<1x2x3x8xf32>, %at: tensor<3xi64>) -> (tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>) {
  %keys = program.load @keys : tensor<1x2x6x8xf32>
  %0 = aten.index_put %keys, [none, none, %at], %k : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %1 = aten.permute %0 {dims = [0, 2, 1, 3]} : (tensor<1x2x6x8xf32>) -> tensor<1x6x2x8xf32>
  program.store @keys, %0 : tensor<1x2x6x8xf32>
  %sums = program.load @sums : tensor<1x2x6x8xf32>
  %2 = aten.index_put %sums, [none, none, %at], %k {accumulate = true} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %3 = aten.permute %2 {dims = [0, 2, 1, 3]} : (tensor<1x2x6x8xf32>) -> tensor<1x6x2x8xf32>
  program.store @sums, %2 : tensor<1x2x6x8xf32>
  func.return %1, %3 : tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>
}
