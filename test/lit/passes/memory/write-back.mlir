// RUN: et-opt -p write-back --split-input-file %s | filecheck %s

// CHECK-LABEL: executorch.plan @plain
// CHECK:       executorch.kernel_call "aten::add.out"(%s, %x, 1) outs(%new)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%s, %new, false) returns(%s)
// CHECK-NEXT:  executorch.return %new
program.buffer mutable @s : tensor<4xf32>
executorch.plan @plain {
  %x = executorch.input : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  %new = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%s, %x, 1) outs(%new)
  program.store @s, %new : tensor<4xf32>
  executorch.return %new
}

// -----

// A state that is only written is declared.
// CHECK-LABEL: executorch.plan @write_only
// CHECK-NEXT:  %[[S:[a-z0-9]+]] = executorch.state @s : tensor<4xf32>
// CHECK-NEXT:  %x = executorch.input : tensor<4xf32>
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%[[S]], %x, false) returns(%[[S]])
// CHECK-NEXT:  executorch.return
program.buffer mutable @s : tensor<4xf32>
executorch.plan @write_only {
  %x = executorch.input : tensor<4xf32>
  program.store @s, %x : tensor<4xf32>
  executorch.return
}

// -----

// An output that is the old state, and a view of it, are copied aside.
// CHECK-LABEL: executorch.plan @old
// CHECK:       %[[OLD:s_[0-9]+]] = executorch.alloc : tensor<4xf32>
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%s, false, [0]) outs(%[[OLD]])
// CHECK-NEXT:  %[[VIEW:v_[0-9]+]] = executorch.alloc : tensor<2x2xf32>
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%v, false, [0, 1]) outs(%[[VIEW]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%s, %x, false) returns(%s)
// CHECK-NEXT:  executorch.return %[[OLD]], %[[VIEW]], %x
program.buffer mutable @s : tensor<4xf32>
executorch.plan @old {
  %x = executorch.input : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  %v = executorch.view %s : tensor<2x2xf32>
  program.store @s, %x : tensor<4xf32>
  executorch.return %s, %v, %x
}

// -----

// Two buffers that swap.
// CHECK-LABEL: executorch.plan @swap
// CHECK:       executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%a, false, ints []) outs(%[[A:a_[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%a, %b, false) returns(%a)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%b, %[[A]], false) returns(%b)
// CHECK-NEXT:  executorch.return
program.buffer mutable @a : tensor<f32>
program.buffer mutable @b : tensor<f32>
executorch.plan @swap {
  %a = executorch.state @a : tensor<f32>
  %b = executorch.state @b : tensor<f32>
  program.store @a, %b : tensor<f32>
  program.store @b, %a : tensor<f32>
  executorch.return
}

// -----

// Does not fire: what is stored is what the state holds.
// CHECK-LABEL: executorch.plan @same
// CHECK-NEXT:  %a = executorch.state @a : tensor<f32>
// CHECK-NEXT:  executorch.return %a
program.buffer mutable @a : tensor<f32>
executorch.plan @same {
  %a = executorch.state @a : tensor<f32>
  program.store @a, %a : tensor<f32>
  executorch.return %a
}

// -----

// An input that is written is the caller's own tensor.
// CHECK-LABEL: executorch.plan @input
// CHECK-NEXT:  %x = executorch.input aliased : tensor<4xf32>
// CHECK-NEXT:  %y = executorch.input : tensor<4xf32>
// CHECK:       executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%new)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%x, %new, false) returns(%x)
// CHECK-NEXT:  executorch.return %new
executorch.plan @input {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input : tensor<4xf32>
  %new = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%new)
  program.overwrite %x, %new : tensor<4xf32>
  executorch.return %new
}

// -----

// What an input held is copied aside where it is needed later: two inputs that swap, and an output.
// CHECK-LABEL: executorch.plan @swap_inputs
// CHECK:       executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0]) outs(%[[X:x_[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%x, %y, false) returns(%x)
// CHECK:       executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%y, false, [0]) outs(%[[Y:y_[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%y, %[[X]], false) returns(%y)
// CHECK-NEXT:  executorch.return %[[X]], %[[Y]]
executorch.plan @swap_inputs {
  %x = executorch.input : tensor<4xf32>
  %y = executorch.input : tensor<4xf32>
  program.overwrite %x, %y : tensor<4xf32>
  program.overwrite %y, %x : tensor<4xf32>
  executorch.return %x, %y
}

// -----

// State and inputs may be written together.
// CHECK-LABEL: executorch.plan @both
// CHECK:       executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%s, false, [0]) outs(%[[OLD:s_[0-9]+]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%s, %x, false) returns(%s)
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%x, %[[OLD]], false) returns(%x)
program.buffer mutable @s : tensor<4xf32>
executorch.plan @both {
  %x = executorch.input : tensor<4xf32>
  %s = executorch.state @s : tensor<4xf32>
  program.store @s, %x : tensor<4xf32>
  program.overwrite %x, %s : tensor<4xf32>
  executorch.return
}

// -----

// Does not fire: an input that is given back as it came.
// CHECK-LABEL: executorch.plan @same_input
// CHECK-NEXT:  %x = executorch.input : tensor<4xf32>
// CHECK-NEXT:  executorch.return %x
executorch.plan @same_input {
  %x = executorch.input : tensor<4xf32>
  program.overwrite %x, %x : tensor<4xf32>
  executorch.return %x
}

// -----

// Where there are several blocks, the register for what a state held is declared in the first.
// CHECK-LABEL: executorch.plan @behind_a_branch
// CHECK-NEXT:  %[[OLD:s[_0-9]*]] = executorch.alloc : tensor<4xf32>
// CHECK:       %[[S:s[_0-9]*]] = executorch.state
// CHECK:       ^end:
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%[[S]], false, [0]) outs(%[[OLD]])
// CHECK-NEXT:  executorch.kernel_call "aten::copy_"(%[[S]], %x, false) returns(%[[S]])
// CHECK-NEXT:  executorch.return %[[OLD]]
program.buffer mutable @s : tensor<4xf32>
executorch.plan @behind_a_branch {
  %x = executorch.input : tensor<4xf32>
  %p = executorch.input : tensor<i1>
  %s = executorch.state @s : tensor<4xf32>
  executorch.jump_false %p, ^end, ^then
^then:
  executorch.kernel_call "aten::neg.out"(%x) outs(%x)
  executorch.jump ^end
^end:
  program.store @s, %x : tensor<4xf32>
  executorch.return %s
}

// -----

// What an input held is of its sizes.
// CHECK-LABEL: executorch.plan @sizes_known_at_run_time
// CHECK:       %[[OLD:x[_0-9]*]] = executorch.alloc bound : tensor<4x3xf32>
// CHECK-NEXT:  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0, 1]) outs(%[[OLD]])
executorch.plan @sizes_known_at_run_time {
  %x = executorch.input bound : tensor<4x3xf32>
  %y = executorch.alloc bound : tensor<4x3xf32>
  executorch.kernel_call "aten::neg.out"(%x) outs(%y)
  program.overwrite %x, %y : tensor<4x3xf32>
  executorch.return %x
}
