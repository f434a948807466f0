// RUN: et-opt -p add-training-methods --split-input-file %s | filecheck %s

// The methods of ExecuTorch's TrainingModule; those of an older program are replaced.
// CHECK-LABEL: func.func @step
// CHECK:       func.func @__et_training_gradients_index_step() -> i64
// CHECK-NEXT:    program.literal 2
// CHECK:       func.func @__et_training_parameters_index_step() -> i64
// CHECK-NEXT:    program.literal 4
// CHECK:       func.func @__et_training_fqn_step() -> (!program.string, !program.string) attributes {program.in_spec = #program.tree<"((), {})">, program.out_spec = #program.tree<"[*, *]">}
// CHECK-NEXT:    program.literal "w"
// CHECK-NEXT:    program.literal "b"
// CHECK-NOT:   @__et_training
program.buffer mutable @w : tensor<f32>
program.buffer mutable @b : tensor<f32>
func.func @step(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) attributes {program.roles = #program.roles<output, loss, gradient "w", gradient "b", parameter "w", parameter "b">} {
  %0 = program.load @w : tensor<f32>
  %1 = program.load @b : tensor<f32>
  func.return %x, %x, %x, %x, %0, %1 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
func.func @__et_training_gradients_index_step() -> i64 {
  %0 = program.literal 7
  func.return %0 : i64
}

// -----

// Methods without roles stay alone.
// CHECK-LABEL: func.func @forward
// CHECK-NOT:   @__et_training
func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
