// RUN: et-opt -p 'plan-memory{memory="sram:id=1,size=48;dram:id=2" check=true}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'plan-memory{memory="dram:id=2,speed=1;sram:id=1,size=48,speed=8" check=true}' --split-input-file %s | filecheck %s
// RUN: et-opt -p 'plan-memory{memory="sram:id=1,size=64;dram:id=2" check=true}' --split-input-file %s | filecheck %s --check-prefix=LARGER

// All are needed at once, and one of 16 bytes has to leave the fast bank: %x, which is used three times, the caller's
// writing it included, and not %a, which is used four times. %big would cost more.
// CHECK-LABEL: executorch.plan @chain {arenas = array<i64: 48, 16>} {
// CHECK-NEXT:  %x = executorch.input {memory_id = 2, offset = 0} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
// CHECK:       %big = executorch.alloc {memory_id = 1, offset = 0} : tensor<8xf32>
// LARGER-LABEL: executorch.plan @chain {arenas = array<i64: 64>} {
executorch.plan @chain {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %big = executorch.alloc : tensor<8xf32>
  executorch.kernel_call "aten::relu_"(%a) returns(%a)
  executorch.kernel_call "aten::cat.out"([%x, %a], 0) outs(%big)
  executorch.return %a, %big
}

// -----

// Pinned by an attribute, whatever it costs; an alignment of its own.
// CHECK-LABEL: executorch.plan @pinned {arenas = array<i64: 16, 32>} {
// CHECK-NEXT:  %x = executorch.input {memory_id = 2, offset = 16} attributes {executorch.bank = "dram"} : tensor<4xf32>
// CHECK-NEXT:  %a = executorch.alloc {memory_id = 2, offset = 0} attributes {executorch.alignment = 64 : i64, executorch.bank = "dram"} : tensor<4xf32>
// CHECK-NEXT:  %b = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
executorch.plan @pinned {
  %x = executorch.input attributes {executorch.bank = "dram"} : tensor<4xf32>
  %a = executorch.alloc attributes {executorch.alignment = 64 : i64, executorch.bank = "dram"} : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  executorch.kernel_call "aten::add.out"(%x, %a, 1) outs(%b)
  executorch.return %b
}

// -----

// State of several methods lies at the start of the slowest bank, or of the one it is pinned to, and nothing else there.
// CHECK-LABEL: executorch.plan @decode {arenas = array<i64: 32, 16>} {
// CHECK:       %x = executorch.input {memory_id = 1, offset = 16}
// CHECK:       executorch.state @b {memory_id = 2, offset = 0}
// CHECK-LABEL: executorch.plan @look {arenas = array<i64: 32>} {
// CHECK:       executorch.state @a {memory_id = 1, offset = 0}
// CHECK:       %x = executorch.input {memory_id = 1, offset = 16}
program.buffer mutable @a : tensor<4xf32>
program.buffer mutable @b : tensor<4xf32>
executorch.plan @decode {
  %x = executorch.input : tensor<4xf32>
  %b = executorch.state @b : tensor<4xf32>
  executorch.kernel_call "aten::copy_"(%b, %x, false) returns(%b)
  executorch.return
}
executorch.plan @look {
  %a = executorch.state @a attributes {executorch.bank = "sram"} : tensor<4xf32>
  %x = executorch.input : tensor<4xf32>
  executorch.kernel_call "aten::copy_"(%a, %x, false) returns(%a)
  executorch.return
}
