// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-translate --pte-to-mlir %t.pte | filecheck %s
// RUN: et-translate --pte-to-mlir %t.pte -o %t.mlir
// RUN: et-translate --mlir-to-pte %t.mlir -o %t.again.pte
// RUN: cmp %t.pte %t.again.pte

// The file says where each instruction comes from: file, line, function and the text of the line; an instruction that comes
// from nowhere stays so.
// CHECK: stack_traces
// CHECK: executorch.kernel_call "aten::relu.out"{{.*}} loc(callsite(fused["act"("model.py":7:0), "return relu(x)"] at fused["forward"("model.py":3:0), "y = self.act(x)"]))
// CHECK: executorch.kernel_call "aten::neg.out"{{.*}} loc(""(unknown))
executorch.plan @forward {arenas = array<i64: 32>, stack_traces} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %r = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%r) loc("act"(callsite(fused["act"("model.py":7:0), "return relu(x)"] at fused["forward"("model.py":3:0), "y = self.act(x)"])))
  executorch.kernel_call "aten::neg.out"(%r) outs(%x) loc(""(unknown))
  executorch.return %x
}
