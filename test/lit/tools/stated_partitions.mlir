// Partitions of a text that their backend cannot compile: an error, as no other backend is asked for them.

// RUN: not et-compile -q %s --target et-vm --backend native -o %t.pte 2>&1 | filecheck %s
// RUN: not et-compile -q %s --target et-vm --backend xnnpack -o %t.pte 2>&1 | filecheck %s

// CHECK: stated_partitions.mlir:10:3: error: 'backend.partition': the backend 'XnnpackBackend' cannot compile it
// CHECK-SAME: XNNPACK has no node for edge.nonzero
// CHECK-NEXT: fix: compile without the backend
func.func @forward(%x: tensor<4xf32>) -> tensor<?x1xi64> {
  %0 = backend.partition "XnnpackBackend"(%x) : (tensor<4xf32>) -> tensor<?x1xi64> {
  ^bb0(%a: tensor<4xf32>):
    %1 = edge.nonzero %a : (tensor<4xf32>) -> tensor<?x1xi64>
    backend.yield %1 : tensor<?x1xi64>
  }
  func.return %0 : tensor<?x1xi64>
}
