// RUN: et-opt -p 'reorder{limit=6}' %s | filecheck %s
// RUN: et-opt -p 'reorder{limit=7}' %s | filecheck %s --check-prefix SEARCHED

// A block of more ops than the limit stays as it is.
// CHECK:         %a = edge.exp %x
// CHECK-NEXT:    %b = edge.sin %x
// SEARCHED:      %a = edge.exp %x
// SEARCHED-NEXT: %c = edge.amax %a
// SEARCHED-NEXT: %e = edge.relu %c
// SEARCHED-NEXT: %b = edge.sin %x
// SEARCHED-NEXT: %d = edge.amax %b
func.func @forward(%x : tensor<8x8xf32> {program.name = "x"}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = edge.exp %x : tensor<8x8xf32>
  %b = edge.sin %x : tensor<8x8xf32>
  %c = edge.amax %a {dim = [0]} : (tensor<8x8xf32>) -> tensor<8xf32>
  %d = edge.amax %b {dim = [0]} : (tensor<8x8xf32>) -> tensor<8xf32>
  %e = edge.relu %c : tensor<8xf32>
  %f = edge.relu %d : tensor<8xf32>
  func.return %e, %f, %d : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
