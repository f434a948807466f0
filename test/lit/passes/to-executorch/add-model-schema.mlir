// RUN: et-opt -p add-model-schema --split-input-file %s | filecheck %s

// The range of s1 is what its guard leaves; the second size of %x is even.
// CHECK:      func.func @get_model_schema() -> !program.string
// CHECK-NEXT: program.literal "{\22forward\22: {\22inputs\22: [{\22kind\22: \22Tensor\22, \22dtype\22: \22float32\22, \22shape\22: [{\22kind\22: \22range\22, \22range\22: {\22min\22: 2, \22max\22: 8, \22step\22: 1}}, {\22kind\22: \22range\22, \22range\22: {\22min\22: 4, \22max\22: 16, \22step\22: 2}}, {\22kind\22: \22constant\22, \22value\22: 3}]}, {\22kind\22: \22Int\22}, {\22kind\22: \22Double\22}, {\22kind\22: \22Bool\22}], \22outputs\22: [{\22kind\22: \22Tensor\22, \22dtype\22: \22float32\22, \22shape\22: [{\22kind\22: \22range\22, \22range\22: {\22min\22: 2, \22max\22: 8, \22step\22: 1}}, {\22kind\22: \22range\22, \22range\22: {\22min\22: 4, \22max\22: 16, \22step\22: 2}}, {\22kind\22: \22constant\22, \22value\22: 3}]}, {\22kind\22: \22Int\22}, {\22kind\22: \22None\22}], \22runtimeConstraints\22: [{\22kind\22: \22equality\22, \22dims\22: [{\22paramSide\22: \22input\22, \22tensorIdx\22: 0, \22dimIdx\22: 0}, {\22paramSide\22: \22output\22, \22tensorIdx\22: 0, \22dimIdx\22: 0}]}, {\22kind\22: \22equality\22, \22dims\22: [{\22paramSide\22: \22input\22, \22tensorIdx\22: 0, \22dimIdx\22: 1}, {\22paramSide\22: \22output\22, \22tensorIdx\22: 0, \22dimIdx\22: 1}]}]}}"
func.func @forward(%x: tensor<?x?x3xf32, #program.sizes<s0, 2*s1>>, %k: i64, %f: f64, %b: i1) -> (tensor<?x?x3xf32, #program.sizes<s0, 2*s1>>, i64, none) attributes {program.guards = #program.guards<(x, k, f, b), "2 <= x.shape[0] <= 8", "4 <= x.shape[1]">, program.ranges = #program.ranges<s0 from 0 to 8, s1 from 0 to 8>} {
  %0 = edge.relu %x : tensor<?x?x3xf32, #program.sizes<s0, 2*s1>>
  %1 = program.literal none
  func.return %0, %k, %1 : tensor<?x?x3xf32, #program.sizes<s0, 2*s1>>, i64, none
}

// -----

// A size that is linear in another one; constant methods are not described.
// CHECK:      program.literal "{\22forward\22: {{.*}}\22runtimeConstraints\22: [{\22kind\22: \22linear\22, \22dimLhs\22: {\22paramSide\22: \22output\22, \22tensorIdx\22: 0, \22dimIdx\22: 0}, \22dimRhs\22: {\22paramSide\22: \22input\22, \22tensorIdx\22: 0, \22dimIdx\22: 0}, \22coefficients\22: [2, 1]}]}}"
func.func @forward(%x: tensor<?xf32, #program.sizes<s0>>) -> tensor<?xf32, #program.sizes<2*s0 + 1>> attributes {program.ranges = #program.ranges<s0 from 1 to 8>} {
  %0 = "test.op"(%x) : (tensor<?xf32, #program.sizes<s0>>) -> tensor<?xf32, #program.sizes<2*s0 + 1>>
  func.return %0 : tensor<?xf32, #program.sizes<2*s0 + 1>>
}
func.func @get_n() -> i64 {
  %0 = program.literal 3 : i64
  func.return %0 : i64
}
