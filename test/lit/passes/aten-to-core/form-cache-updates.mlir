// RUN: et-opt -p form-cache-updates --split-input-file %s | filecheck %s
// RUN: et-opt -p 'form-cache-updates{consecutive=true}' --split-input-file %s | filecheck %s --check-prefix=ASSUMED

// Places counted from a number in state, which is the first of them.
// CHECK-LABEL: func.func @counted
// CHECK:      %[[COUNT:.*]] = program.load @count
// CHECK-NOT:  arange
// CHECK:      %[[BEGIN:.*]] = aten.item %[[COUNT]] : (tensor<i64>) -> i64
// CHECK:      %[[END:.*]] = program.compute {{.*}}%[[BEGIN]]
// CHECK-NEXT: %[[R:.*]] = aten.slice_scatter %keys, %k {dim = 1, start = %[[BEGIN]], end = %[[END]]}
// CHECK:      program.store @keys, %[[R]]
program.buffer mutable @count : tensor<i64>
program.buffer mutable @keys : tensor<1x6x2x8xf32>
func.func @counted(%k: tensor<1x3x2x8xf32>) {
  %count = program.load @count : tensor<i64>
  %new = aten.arange {end = 3} : () -> tensor<3xi64>
  %at = aten.add.Tensor %new, %count : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %keys = program.load @keys : tensor<1x6x2x8xf32>
  %1 = aten.index_copy %keys, %at, %k {dim = 1} : (tensor<1x6x2x8xf32>, tensor<3xi64>, tensor<1x3x2x8xf32>) -> tensor<1x6x2x8xf32>
  program.store @keys, %1 : tensor<1x6x2x8xf32>
  func.return
}

// -----

// A single place is consecutive.
// CHECK-LABEL: func.func @one
// CHECK:      %[[FIRST:.*]] = aten.select.int %at {dim = 0, index = 0}
// CHECK-NEXT: %[[BEGIN:.*]] = aten.item %[[FIRST]]
// CHECK:      aten.slice_scatter %keys, %k {dim = 1, start = %[[BEGIN]]
program.buffer mutable @keys : tensor<1x6x2x8xf32>
func.func @one(%k: tensor<1x1x2x8xf32>, %at: tensor<1xi64>) {
  %keys = program.load @keys : tensor<1x6x2x8xf32>
  %1 = aten.index_copy %keys, %at, %k {dim = 1} : (tensor<1x6x2x8xf32>, tensor<1xi64>, tensor<1x1x2x8xf32>) -> tensor<1x6x2x8xf32>
  program.store @keys, %1 : tensor<1x6x2x8xf32>
  func.return
}

// -----

// Places of which nothing is known, unless the caller vouches for them; another dimension; what is no state.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   slice_scatter
// CHECK:       func.return
// ASSUMED-LABEL: func.func @others
// ASSUMED:       aten.slice_scatter %keys, %k {dim = 1
// ASSUMED:       aten.index_copy
// ASSUMED:       aten.index_copy
program.buffer mutable @keys : tensor<1x6x6x8xf32>
func.func @others(%k: tensor<1x3x6x8xf32>, %h: tensor<1x6x3x8xf32>, %x: tensor<1x6x6x8xf32>, %at: tensor<3xi64>) -> (tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>) {
  %keys = program.load @keys : tensor<1x6x6x8xf32>
  %1 = aten.index_copy %keys, %at, %k {dim = 1} : (tensor<1x6x6x8xf32>, tensor<3xi64>, tensor<1x3x6x8xf32>) -> tensor<1x6x6x8xf32>
  %2 = aten.index_copy %keys, %at, %h {dim = 2} : (tensor<1x6x6x8xf32>, tensor<3xi64>, tensor<1x6x3x8xf32>) -> tensor<1x6x6x8xf32>
  %3 = aten.index_copy %x, %at, %k {dim = 1} : (tensor<1x6x6x8xf32>, tensor<3xi64>, tensor<1x3x6x8xf32>) -> tensor<1x6x6x8xf32>
  func.return %1, %2, %3 : tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>, tensor<1x6x6x8xf32>
}
