// RUN: et-compile %s --backend xnnpack -o %t.pte -q
// RUN: et-vm profile %t.pte --input ones --repeat 2 --wide --trace %t.json --flamegraph - | filecheck %s

// The nodes of the delegate are rows beneath its call, and end the stacks that begin with it.
// CHECK:      {{^}}forward;XnnpackBackend;{{[A-Za-z ]+ [0-9]+$}}
// CHECK:      forward: 2 executions, portable kernels
// CHECK-NEXT: execution  min {{.*}} in instructions)
// CHECK-NEXT: load ms    registers {{.*}}, delegates {{.*}}, link {{.*}}, prepare
// CHECK-NEXT: memory     {{.*}}peak of the process
// CHECK-NEXT: overlap    work {{.*}} µs, span {{.*}} µs, parallelism {{.*}}; critical path: 
// CHECK-NEXT: peak       {{.*}} GFLOP/s
// CHECK-NEXT: min µs {{.*}}  of peak  name
// CHECK-NEXT: {{.*}}%  {{.*}}  0: XnnpackBackend
// CHECK-NEXT: {{.*}}%  {{.*}}    Sigmoid

func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.sigmoid %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
