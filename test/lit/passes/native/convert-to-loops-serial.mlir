// RUN: et-opt -p convert-to-loops %s | filecheck %s

// One thread makes calls of few elements; those of many, and products, are shared.
// CHECK:      func.func @forward(
// CHECK:        func.call @pointwise_0({{.*}}) {native.serial} : (
// CHECK:        func.call @product_0({{[^)]*}}) : (
// CHECK:        func.call @pointwise_{{[0-9]}}({{[^)]*}}) : (
func.func @forward(%x: tensor<8x16xf32>, %y: tensor<16x16xf32>, %z: tensor<500x16xf32>)
    -> (tensor<8x16xf32>, tensor<500x16xf32>) {
  %0 = native.kernel "pointwise"(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%a: tensor<8x16xf32>):
    %1 = edge.exp %a : tensor<8x16xf32>
    native.yield %1 : tensor<8x16xf32>
  }
  %2 = native.kernel "product"(%0, %y) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x16xf32>):
    %3 = edge.mm %a, %b : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    native.yield %3 : tensor<8x16xf32>
  }
  %4 = native.kernel "pointwise"(%z) : (tensor<500x16xf32>) -> tensor<500x16xf32> {
  ^bb0(%a: tensor<500x16xf32>):
    %5 = edge.exp %a : tensor<500x16xf32>
    native.yield %5 : tensor<500x16xf32>
  }
  func.return %2, %4 : tensor<8x16xf32>, tensor<500x16xf32>
}
