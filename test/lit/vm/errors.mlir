// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-vm validate %t.pte --no-kernels
// RUN: sh -c 'et-vm validate %t.pte; test $? = 3' 2>&1 | filecheck %s --check-prefix=LINK
// RUN: not et-vm run %t.pte --method wide 2>&1 | filecheck %s --check-prefix=TRAP
// RUN: not et-vm run %t.pte --method missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not et-vm run %t.pte --method other 2>&1 | filecheck %s --check-prefix=METHOD
// RUN: not et-vm run %t.pte --method wide --input ones --input ones --input ones 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: head -c 300 %t.pte > %t.cut.pte && not et-vm validate %t.cut.pte 2>&1 | filecheck %s --check-prefix=CUT
// RUN: not et-vm info %t.none 2>&1 | filecheck %s --check-prefix=FILE

// TRAP:      et-vm: error: {{.*}}.pte: InvalidArgument (0x12): {{.*}}broadcast
// TRAP-NEXT: in instruction 0: aten::add.out
// TRAP-NEXT: from model.py:12
executorch.plan @wide {arenas = array<i64: 48>, in_spec = "", out_spec = "", stack_traces} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %y = executorch.input {memory_id = 1, offset = 16} : tensor<3xf32>
  %out = executorch.alloc {memory_id = 1, offset = 32} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%out) loc("forward"("model.py":12:0))
  executorch.return %out
}

// MISSING: et-vm: error: {{.*}}.pte: OperatorMissing (0x14): no kernels for 2 operators: acme::a.out, acme::b.out
executorch.plan @missing {arenas = array<i64: 32>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %out = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "acme::a.out"(%x) outs(%out)
  executorch.kernel_call "acme::b.out"(%x) outs(%out)
  executorch.return %out
}

// LINK:      et-vm: error: {{.*}}.pte: InvalidType (0x13): aten::add.out: argument 'other': expected Tensor, got Int at execution_plan[0].chains[0].instructions[0].instr_args.args[1], byte 0x{{[0-9a-f]+}}
// LINK-NEXT: et-vm: error: {{.*}}.pte: InvalidType (0x13): aten::relu.out: argument 'self': expected Tensor, got Double at execution_plan[0].chains[0].instructions[1].instr_args.args[0], byte 0x{{[0-9a-f]+}}
// LINK-NEXT: et-vm: error: {{.*}}.pte: OperatorMissing (0x14): no kernels for 2 operators: acme::a.out, acme::b.out at missing; {{.*}}--no-kernels checks the file alone
// LINK-NOT:  error:
executorch.plan @kinds {arenas = array<i64: 32>, in_spec = "", out_spec = ""} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %out = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, 2, 1) outs(%out)
  executorch.kernel_call "aten::relu.out"(1.5) outs(%out)
  executorch.return %out
}

// METHOD: et-vm: error: no method 'other'; the methods are
// COUNT:  et-vm: error: wide takes 2 inputs, got 3
// CUT:    et-vm: error: {{.*}}.cut.pte: InvalidProgram (0x23): {{.*}} byte 0x{{[0-9a-f]+}}
// FILE:   et-vm: error: {{.*}}No such file
