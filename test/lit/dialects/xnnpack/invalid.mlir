// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{[value_c1] the format does not support element type fp8}}
"test.op"() {type = !xnnpack.value<fp8, [4]>} : () -> ()

// -----

// expected-error@+1 {{[value_c2] values are quantized by one of}}
"test.op"() {type = !xnnpack.value<qint8, [4], {by = "PerRow"}>} : () -> ()

// -----

// expected-error@+1 {{[value_c2] PerTensorQuant has no speed}}
"test.op"() {type = !xnnpack.value<qint8, [4], {by = "PerTensorQuant", speed = 1 : i64}>} : () -> ()

// -----

xnnpack.graph @node_c1 version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[node_c1] 1 to 1 operands and 1 results, not 2 and 1}}
  %1 = xnnpack.abs(%0, %0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>, !xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

xnnpack.graph @node_c2 version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[node_c2] XNNAbs has no alpha}}
  %1 = xnnpack.abs(%0) ids array<i64: 1> {alpha = 1 : i64} : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

xnnpack.graph @node_c3 version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[node_c3] only one of the two limits is given}}
  %1 = xnnpack.abs(%0) ids array<i64: 1> {output_min = 1.0 : f32} : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

xnnpack.graph @node_c4 version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[node_c4] each result has an id}}
  %1 = xnnpack.abs(%0) ids array<i64: 1, 2> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

xnnpack.graph @output_c1 version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[output_c1] each output is an argument}}
  xnnpack.output %1 arguments array<i64> : !xnnpack.value<fp32, [4]>
}

// -----

// expected-error@+1 {{[graph_c1] two values have the id 0}}
xnnpack.graph @two_of_an_id version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 0> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

// expected-error@+1 {{constant 1 where there are 1}}
xnnpack.graph @a_constant_that_is_not_there version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.constant 1 id 1 : !xnnpack.value<fp32, [4]>
  %2 = xnnpack.add(%0, %1) ids array<i64: 2> : (!xnnpack.value<fp32, [4]>, !xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %2 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

xnnpack.graph @id_below_zero version "0" table [] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  // expected-error@+1 {{[node_c4] each result has an id, from 0 to 4294967294}}
  %1 = xnnpack.abs(%0) ids array<i64: -1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}

// -----

// expected-error@+1 {{[graph_c1] InvalidArgument (0x12): XNode.debug_handle cannot be -1}}
xnnpack.graph @number_that_does_not_fit version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> {debug_handle = -1 : i64} : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
