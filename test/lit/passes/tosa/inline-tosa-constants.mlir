// RUN: et-opt -p legalize-to-tosa,inline-tosa-constants %s | filecheck %s

// CHECK:      func.func @scaled(%x: tensor<1xf32>) -> tensor<1xf32> {
// CHECK-NEXT:   %0 = "tosa.const"() <{values = dense<5.000000e-01> : tensor<1xf32>}> : () -> tensor<1xf32>
// CHECK-NOT:    program
func.func @scaled(%x: tensor<1xf32> {program.name = "x"}) -> tensor<1xf32> {
  %0 = edge.mul.Scalar %x {other = 0.5} : tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
