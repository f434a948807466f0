// RUN: et-opt -p to-out-variant{unbounded=runtime} %s | filecheck %s
// RUN: et-opt -p to-out-variant{unbounded=runtime},link-check{target=et-vm},plan-memory,free-unbounded,verify-executorch %s | filecheck %s --check-prefix=PLANNED
// RUN: not et-opt -p to-out-variant{unbounded=runtime},link-check %s 2>&1 | filecheck %s --check-prefix=STOCK

// Without a largest size, tensors grow at run time; what has one has its place.
// CHECK-LABEL: executorch.plan @forward
// CHECK-NEXT:  executorch.input unbound : tensor<0x4xf32>
// CHECK-NEXT:  executorch.alloc unbound : tensor<0x4xf32>
// CHECK:       executorch.alloc unbound : tensor<0x2xi64>
// CHECK:       executorch.alloc : tensor<2xi64>

// PLANNED:      executorch.plan @forward {arenas = array<i64: 16>}
// PLANNED-NEXT: executorch.input unbound : tensor<0x4xf32>
// PLANNED:      executorch.free
// PLANNED:      executorch.alloc {memory_id = 1, offset = 0} : tensor<2xi64>

// STOCK: 'executorch.input': it has no upper bound, and the runtime of the executorch wheel finds no memory
// STOCK-NOT: executorch.alloc
func.func @forward(%x: tensor<?x4xf32>) -> tensor<2xi64> {
  %0 = edge.relu %x : tensor<?x4xf32>
  %1 = edge.nonzero %0 : (tensor<?x4xf32>) -> tensor<?x2xi64>
  %2 = edge.sum.dim_IntList %1 {dim = [0]} : (tensor<?x2xi64>) -> tensor<2xi64>
  func.return %2 : tensor<2xi64>
}
