// RUN: et-compile %s --backend xnnpack -o %t.pte -q
// RUN: et-vm profile %t.pte --input ones --repeat 2 --warmup 0 --write-etdump %t.etdp --debug-buffer %t.bin | filecheck %s --check-prefix=TABLE
// RUN: et-vm profile --etdump %t.etdp --debug-buffer %t.bin | filecheck %s
// RUN: not et-vm profile --etdump %t.pte 2>&1 | filecheck %s --check-prefix=PROGRAM
// RUN: not et-vm profile --etdump %t.etdp --debug-buffer %t.pte 2>&1 | filecheck %s --check-prefix=BUFFER
// RUN: not et-vm profile --etdump %t.etdp --by module 2>&1 | filecheck %s --check-prefix=BY
// RUN: not et-vm profile %t.pte --debug-buffer %t.bin 2>&1 | filecheck %s --check-prefix=ALONE

// TABLE:      forward: 2 executions, portable kernels
// CHECK:      block {{.*}} event
// CHECK-NEXT: Default {{.*}} Method::init
// CHECK-NEXT: Default {{.*}} Program::load_method
// CHECK-NEXT: Execute {{.*}} {{[0-9]+}} Sigmoid
// CHECK-NEXT: Execute {{.*}} DELEGATE_CALL
// CHECK-NEXT: Execute {{.*}} Method::execute
// PROGRAM: a compiled program (.pte), not a recorded run (ETDump)
// BUFFER: is not in the debug buffer
// BY: --by does not apply to --etdump
// ALONE: --debug-buffer applies to --write-etdump or --etdump

func.func @forward(%x: tensor<2000x3xf32>) -> tensor<2000x3xf32> {
  %0 = aten.sigmoid %x : tensor<2000x3xf32>
  func.return %0 : tensor<2000x3xf32>
}
