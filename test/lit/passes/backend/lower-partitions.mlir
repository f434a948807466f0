// RUN: et-opt -p lower-partitions,verify-backend --split-input-file %s | filecheck %s
// RUN: et-opt -p lower-partitions,to-out-variant,write-back,copies-to-views,plan-memory,verify-executorch --split-input-file %s | filecheck %s --check-prefix=DOWN

// A symbol for what the backend made, and a call. A constant that only partitions read is no longer the program's;
// the one that both read is stored once, under its content.
// CHECK-LABEL: builtin.module
// CHECK-NOT:     program.parameter
// CHECK:         backend.lowered @lowered_0 "NestedProgramBackend" specs [#backend.compile_spec<"target", "et-vm">] debug_handles {"0" = [loc({{.*}})]} = #program.data<ui8,
// CHECK-NEXT:    backend.lowered @lowered_1 "NestedProgramBackend"
// CHECK-NEXT:    backend.named_data "sha256:{{[0-9a-f]+}}" align 64 = #program.data<ui8, [0, 0, 128, 63,
// CHECK-NOT:     backend.named_data
// CHECK:         func.func @forward
// CHECK-NEXT:      %a = backend.call @lowered_0(%x) : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:      %b = edge.neg %a : tensor<16xf32>
// CHECK-NEXT:      %c = backend.call @lowered_1(%b) : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:      func.return %c : tensor<16xf32>
// DOWN: executorch.delegate_call @lowered_0(%x) outs(%a)
// DOWN: executorch.delegate_call @lowered_1(%b) outs(%c)
program.parameter @w : tensor<16xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]>
program.parameter @v : tensor<16xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]>
func.func @forward(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = backend.partition "NestedProgramBackend" specs [#backend.compile_spec<"target", "et-vm">](%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%y: tensor<16xf32>):
    %w = program.get @w : tensor<16xf32>
    %z = edge.add.Tensor %y, %w : tensor<16xf32>
    backend.yield %z : tensor<16xf32>
  }
  %b = edge.neg %a : tensor<16xf32>
  %c = backend.partition "NestedProgramBackend" specs [#backend.compile_spec<"target", "et-vm">](%b) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%y: tensor<16xf32>):
    %v = program.get @v : tensor<16xf32>
    %z = edge.mul.Tensor %y, %v : tensor<16xf32>
    backend.yield %z : tensor<16xf32>
  }
  func.return %c : tensor<16xf32>
}

// -----

// How large results get is known behind the call, too.
// CHECK-LABEL: func.func @bounds
// CHECK:         %a = backend.call @lowered_0(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    [[SIZE:%.*]] = edge.sym_size.int %a {dim = 0}
// CHECK-NEXT:    program.range [[SIZE]] from 0 to 8
// DOWN-LABEL: executorch.plan @bounds
// DOWN:         executorch.delegate_call @lowered_0(%x) outs(%a)
func.func @bounds(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = edge.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
  program.range %n from 0 to 8
  %a = backend.partition "NestedProgramBackend"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%y: tensor<?x4xf32>):
    %z = edge.neg %y : tensor<?x4xf32>
    backend.yield %z : tensor<?x4xf32>
  }
  func.return %a : tensor<?x4xf32>
}

// -----

// A buffer that a partition owns goes with it.
// CHECK-LABEL: builtin.module
// CHECK-NOT:     program.buffer
// CHECK:         backend.call @lowered_0() : () -> tensor<4xf32>
// DOWN-LABEL: executorch.plan @state
// DOWN-NOT:     executorch.state
program.buffer mutable @count : tensor<4xf32>
func.func @state() -> tensor<4xf32> {
  %a = backend.partition "NestedProgramBackend"() : () -> tensor<4xf32> {
    %c = program.load @count : tensor<4xf32>
    %z = edge.neg %c : tensor<4xf32>
    program.store @count, %z : tensor<4xf32>
    backend.yield %z : tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}

// -----

// Without partitions nothing changes.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    edge.neg
// DOWN-LABEL: executorch.plan @nothing
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.neg %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
