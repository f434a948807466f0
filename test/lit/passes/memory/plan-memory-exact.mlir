// RUN: et-opt -p 'plan-memory{algorithm=exact check=true}' %s | filecheck %s
// RUN: et-opt -p 'plan-memory{algorithm=exact budget=0}' %s | filecheck %s
// RUN: et-opt -p 'plan-memory{algorithm=exact},plan-memory{algorithm=upstream check=true}' %s | filecheck %s --check-prefix=UPSTREAM
// RUN: et-opt -p 'plan-memory{algorithm="et_ir.planning.baselines:plan_naive"}' %s | filecheck %s --check-prefix=OWN

// With its certificate, which a plan of another algorithm takes away.
// CHECK:         executorch.plan @chain {arenas = array<i64: 32>, bounds = array<i64: 32>} {
// UPSTREAM:      executorch.plan @chain {arenas = array<i64: 32>} {
// OWN:           executorch.plan @chain {arenas = array<i64: 48>} {
executorch.plan @chain {
  %x = executorch.input : tensor<4xf32>
  %a = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%a)
  %b = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%a) outs(%b)
  executorch.return %b
}
