// RUN: et-opt -p reorder --split-input-file %s | filecheck %s

// Each large result is reduced before the next is computed; reads of constants come before their first use.
// CHECK-LABEL: func.func @forward
// CHECK:       %a = edge.exp %x
// CHECK-NEXT:  %w = program.get @w
// CHECK-NEXT:  %c = edge.mul.Tensor %a, %w
// CHECK-NEXT:  %e = edge.amax %c
// CHECK-NEXT:  %b = edge.sin %x
// CHECK-NEXT:  %d = edge.mul.Tensor %b, %w
// CHECK-NEXT:  %f = edge.amax %d
// CHECK-NEXT:  return %e, %f
program.constant @w : tensor<8xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
func.func @forward(%x : tensor<8x8xf32> {program.name = "x"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %w = program.get @w : tensor<8xf32>
  %a = edge.exp %x : tensor<8x8xf32>
  %b = edge.sin %x : tensor<8x8xf32>
  %c = edge.mul.Tensor %a, %w : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %d = edge.mul.Tensor %b, %w : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %e = edge.amax %c {dim = [0]} : (tensor<8x8xf32>) -> tensor<8xf32>
  %f = edge.amax %d {dim = [0]} : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %e, %f : tensor<8xf32>, tensor<8xf32>
}

// -----

// No other order needs less: what is given stays.
// CHECK-LABEL: func.func @chain
// CHECK:       %b = edge.sin %x
// CHECK-NEXT:  %a = edge.exp %x
// CHECK-NEXT:  %c = edge.add.Tensor %a, %b
func.func @chain(%x : tensor<8xf32> {program.name = "x"}) -> (tensor<8xf32>) {
  %b = edge.sin %x : tensor<8xf32>
  %a = edge.exp %x : tensor<8xf32>
  %c = edge.add.Tensor %a, %b : tensor<8xf32>
  func.return %c : tensor<8xf32>
}

// -----

// Random ops keep their order.
// CHECK-LABEL: func.func @random
// CHECK:       %b = edge.sin %x
// CHECK-NEXT:  %d = edge.amax %b
// CHECK-NEXT:  %a = edge.rand
// CHECK-NEXT:  %c = edge.amax %a
// CHECK-NEXT:  %e = edge.rand
func.func @random(%x : tensor<8x8xf32> {program.name = "x"}) -> (tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>) {
  %a = edge.rand {size = [16, 8]} : () -> tensor<16x8xf32>
  %b = edge.sin %x : tensor<8x8xf32>
  %e = edge.rand {size = [64, 8]} : () -> tensor<64x8xf32>
  %c = edge.amax %a {dim = [0]} : (tensor<16x8xf32>) -> tensor<8xf32>
  %d = edge.amax %b {dim = [0]} : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %c, %d, %e : tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>
}
