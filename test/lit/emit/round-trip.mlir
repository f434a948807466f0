// RUN: et-translate --mlir-to-pte %s -o %t.pte
// RUN: et-translate --pte-to-mlir %t.pte --no-debuginfo | filecheck %s
// RUN: et-translate --pte-to-mlir %t.pte -o %t.mlir
// RUN: et-translate --mlir-to-pte %t.mlir -o %t.again.pte
// RUN: cmp %t.pte %t.again.pte
// RUN: et-opt -p verify-executorch %t.mlir -o %t.checked.mlir

// Everything that a file has a table for, once each: what is read back is the same program, and writes the same file.

// CHECK-DAG:  program.parameter @fc.weight : tensor<2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
// CHECK-DAG:  program.constant @constant_1 : tensor<2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
// CHECK-DAG:  program.buffer mutable @cache : tensor<2x2xf32> = #program.data<f32, [0.5, 0.5, 0.5, 0.5]>
// CHECK-DAG:  program.buffer mutable @zeros : tensor<2x2xf32>
// CHECK-DAG:  program.parameter @elsewhere : tensor<2x2xf32>
// CHECK-DAG:  program.constant @constant_2 : tensor<2xui8> = #program.data<ui8, [1, 2]>
// CHECK-DAG:  backend.lowered @lowered_0 "demo" specs [#backend.compile_spec<"k", "v\00">] align 4096 = #program.data<ui8, [1, 2, 3]>
// CHECK-DAG:  backend.named_data "a/b" align 256 = #program.data<ui8, [4]>

// CHECK-LABEL: executorch.plan @forward {arenas = array<i64: 80, 32>, devices = [#executorch.arena_device<2, "cuda:1">], in_spec = "in", out_spec = "out"} {
// CHECK:       executorch.input bound {memory_id = 1, offset = 0} : tensor<2x2xf32>
// CHECK-NEXT:  executorch.input 3 : i64
// CHECK-NEXT:  executorch.input 0.5 : f64
// CHECK-NEXT:  executorch.input true : i1
// CHECK-NEXT:  executorch.input "text" : !program.string
// CHECK-NEXT:  executorch.input none : none
// CHECK-NEXT:  executorch.constant @fc.weight : tensor<2x2xf32>
// CHECK-NEXT:  executorch.constant anonymous requires_grad @constant_1 : tensor<2x2xf32>
// CHECK-NEXT:  executorch.constant external @elsewhere : tensor<2x2xf32>
// CHECK-NEXT:  executorch.constant anonymous @constant_2 : tensor<2x!executorch.element<"qint8">>
// CHECK-NEXT:  executorch.state @cache {memory_id = 1, offset = 16} : tensor<2x2xf32>
// CHECK-NEXT:  executorch.state @zeros {memory_id = 1, offset = 32} : tensor<2x2xf32>
// CHECK:       executorch.alloc {memory_id = 2, offset = 0, device = "cuda:1"} : tensor<1x2x2x1xf32, #edge.dim_order<0, 2, 3, 1>>
// CHECK:       executorch.kernel_call "aten::split_copy.Tensor_out"({{.*}}, 1, 0) outs([%{{.*}}, %{{.*}}])
// CHECK:       executorch.kernel_call "aten::sym_size.int"(%{{.*}}, 0) returns(%{{.*}})
// CHECK:       executorch.jump_false %{{.*}}, ^{{.*}}, ^{{.*}}
// CHECK:       executorch.kernel_call "my::all.out"(%{{.*}}, 1, -1, 1.0e-05, -inf, nan, -0.0, 0.0, true, false, 1.0, "s", none, [1, %{{.*}}, 2], ints [], [1.0], [true], [%{{.*}}], [%{{.*}}, none], optional [%{{.*}}]) outs(%{{.*}}, %{{.*}})
// CHECK:       executorch.return %{{.*}}, %{{.*}}, 3, 2.5, none, "text", false
program.parameter @"fc.weight" : tensor<2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.constant @lifted : tensor<2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.constant @codes : tensor<2xui8> = #program.data<ui8, [1, 2]>
program.parameter @elsewhere : tensor<2x2xf32>
program.buffer mutable @cache : tensor<2x2xf32> = #program.data<f32, [0.5, 0.5, 0.5, 0.5]>
program.buffer mutable @zeros : tensor<2x2xf32>
backend.lowered @compiled "demo" specs [#backend.compile_spec<"k", "v\00">] align 4096 = #program.data<ui8, [1, 2, 3]>
backend.named_data "a/b" align 256 = #program.data<ui8, [4]>
executorch.plan @forward {arenas = array<i64: 80, 32>, devices = [#executorch.arena_device<2, "cuda:1">], in_spec = "in", out_spec = "out"} {
  %x = executorch.input bound {memory_id = 1, offset = 0} : tensor<2x2xf32>
  %n = executorch.input 3 : i64
  %f = executorch.input 0.5 : f64
  %c = executorch.input true : i1
  %t = executorch.input "text" : !program.string
  %o = executorch.input none : none
  %w = executorch.constant @"fc.weight" : tensor<2x2xf32>
  %l = executorch.constant anonymous requires_grad @lifted : tensor<2x2xf32>
  %e = executorch.constant external @elsewhere : tensor<2x2xf32>
  %q = executorch.constant anonymous @codes : tensor<2x!executorch.element<"qint8">>
  %s = executorch.state @cache {memory_id = 1, offset = 16} : tensor<2x2xf32>
  %z = executorch.state @zeros {memory_id = 1, offset = 32} : tensor<2x2xf32>
  %a = executorch.alloc {memory_id = 1, offset = 48} : tensor<2x2xf32>
  %v = executorch.view %a : tensor<4xf32>
  %b = executorch.alloc {memory_id = 1, offset = 64} : tensor<1x2xf32>
  %d = executorch.alloc {memory_id = 1, offset = 72} : tensor<1x2xf32>
  %g = executorch.alloc {memory_id = 2, offset = 0, device = "cuda:1"} : tensor<1x2x2x1xf32, #edge.dim_order<0, 2, 3, 1>>
  %u = executorch.alloc unbound : tensor<4xf32>
  %r = executorch.reference : tensor<2x2xf32>
  %i = executorch.value 0 : i64
  executorch.kernel_call "aten::add.out"(%w, %l, 1) outs(%a)
  executorch.kernel_call "my::use"(%v, %e, %q, %z)
  executorch.kernel_call "aten::split_copy.Tensor_out"(%a, 1, 0) outs([%b, %d])
  executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%i)
  executorch.kernel_call "aten::copy_"(%s, %a, false) returns(%s)
  executorch.jump_false %c, ^else, ^then
^then:
  executorch.move %a to %r
  executorch.jump ^end
^else:
  executorch.move %s to %r
  executorch.kernel_call "aten::relu.out"(%r) outs(%u)
  executorch.free %u
  executorch.jump ^end
^end:
  executorch.delegate_call @compiled(%r, %n) outs(%g)
  executorch.kernel_call "my::all.out"(%a, 1, -1, 1.0e-05, -inf, nan, -0.0, 0.0, true, false, 1.0, "s", none, [1, %i, 2], ints [], [1.0], [true], [%a], [%a, none], optional [%a]) outs(%b, %d)
  executorch.return %a, %g, 3, 2.5, none, "text", false
}
