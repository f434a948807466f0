// RUN: et-opt -p 'plan-memory{memory="sram:id=1;dram:id=2" pin="one.inputs.0=dram","one.modules.net.*=dram","one.modules.net.last=sram","one.state.cache.*=dram"}' %s | filecheck %s
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="one.inputs.0=dram"}' %s 2>&1 | filecheck %s --check-prefix=BANK
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="one.inputs.2=sram"}' %s 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="one.state.caches=sram"}' %s 2>&1 | filecheck %s --check-prefix=STATE
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="one.modules.nets=sram"}' %s 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="x=sram"}' %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" pin="one.inputs"}' %s 2>&1 | filecheck %s --check-prefix=EQUALS
// RUN: not et-opt -p 'plan-memory{memory="sram:id=1" plan-inputs=false pin="one.inputs=sram"}' %s 2>&1 | filecheck %s --check-prefix=CALLER
// RUN: not et-opt -p 'plan-memory{caller="one.modules.net"}' %s 2>&1 | filecheck %s --check-prefix=KIND

// BANK: plan.bank: no bank named "dram"
// BANK: the banks of plan-memory are: sram
// MANY: plan-memory: pin: 'one.inputs.2': one has 2 inputs
// STATE: plan-memory: pin: 'one.state.caches': one has no state of that name; there are cache.keys
// MODULE: plan-memory: pin: 'one.modules.nets': one has no modules of that name; there are net.last, net.first
// NONE: plan-memory: pin: 'x' is not a selector such as one.inputs.0, one.outputs, one.state.NAME or one.modules.NAME
// EQUALS: plan-memory: pin: 'one.inputs': expected the form forward.inputs.0=sram
// CALLER: plan.bank: its memory is not planned
// KIND: plan-memory: caller: 'one.modules.net': only inputs and outputs can be caller-owned

// Inputs, state, and what modules compute, the last that says it of a value; what is not pinned comes where it costs least.
// CHECK-LABEL: executorch.plan @one
// CHECK:  %x = executorch.input {memory_id = 2, offset = {{[0-9]+}}} attributes {plan.bank = "dram"}
// CHECK:  %y = executorch.input {memory_id = 1, offset = {{[0-9]+}}} :
// CHECK:  executorch.state @cache.keys {memory_id = 2, offset = {{[0-9]+}}} attributes {plan.bank = "dram"}
// CHECK:  %a = executorch.alloc {memory_id = 2, offset = {{[0-9]+}}} attributes {plan.bank = "dram"}
// CHECK:  %b = executorch.alloc {memory_id = 1, offset = {{[0-9]+}}} attributes {plan.bank = "sram"}
// CHECK:  %c = executorch.alloc {memory_id = 1, offset = {{[0-9]+}}} :
program.buffer mutable @cache.keys : tensor<4xf32>
executorch.plan @one {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input : tensor<4xf32>
  %k = executorch.state @cache.keys : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  %b = executorch.alloc : tensor<4xf32>
  %c = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %k, 1) outs(%a) loc("net.first"("net.py":3:0))
  executorch.kernel_call "aten::add.out"(%a, %y, 1) outs(%b) loc("net.last"("net.py":4:0))
  executorch.kernel_call "aten::relu.out"(%b) outs(%c)
  executorch.kernel_call "aten::copy_"(%k, %c, false) returns(%k)
  executorch.return %c
}
