// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// CHECK:      spirv.shader "sums" ["Shader"] {
// CHECK-NEXT:   %x = spirv.variable binding 0 read_only : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
// CHECK-NEXT:   %y = spirv.variable binding 1 : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
// CHECK-NEXT:   %status = spirv.variable binding 2 : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<i32>]>>
// CHECK-NEXT:   %words = spirv.variable : !spirv.ptr<"PushConstant", !spirv.struct<[i32]>>
// CHECK-NEXT:   %id = spirv.variable builtin "GlobalInvocationId" : !spirv.ptr<"Input", vector<3xi32>>
// CHECK-NEXT:   %zero = spirv.constant 0 : i32
// CHECK-NEXT:   %one = spirv.constant 1 : i32
// CHECK-NEXT:   %none = spirv.constant 0.000000e+00 : f32
// CHECK-NEXT:   spirv.entry_point 64 {
// CHECK-NEXT:     %p = spirv.access_chain %id[%zero] : (!spirv.ptr<"Input", vector<3xi32>>, i32) -> !spirv.ptr<"Input", i32>
// CHECK-NEXT:     %i = spirv.load %p : (!spirv.ptr<"Input", i32>) -> i32
// CHECK:          %more = spirv.instruction "SLessThan" %k, %n : (i32, i32) -> i1
// CHECK-NEXT:     spirv.loop_branch %more, ^[[BODY:.*]] merge ^[[AFTER:.*]] continue ^[[NEXT:.*]]
// CHECK:          %root = spirv.extended "Sqrt" %v : (f32) -> f32
// CHECK:          spirv.selection_branch %negative, ^[[THEN:.*]], ^[[MEET:.*]] merge ^[[MEET]]
// CHECK:          spirv.atomic_minimum %first, %one : !spirv.ptr<"StorageBuffer", i32>, i32
// CHECK:          spirv.store %r, %total : !spirv.ptr<"StorageBuffer", f32>, f32
// CHECK-NEXT:     spirv.return
spirv.shader "sums" ["Shader"] {
  %x = spirv.variable binding 0 read_only : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
  %y = spirv.variable binding 1 : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
  %status = spirv.variable binding 2 : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<i32>]>>
  %words = spirv.variable : !spirv.ptr<"PushConstant", !spirv.struct<[i32]>>
  %id = spirv.variable builtin "GlobalInvocationId" : !spirv.ptr<"Input", vector<3xi32>>
  %zero = spirv.constant 0 : i32
  %one = spirv.constant 1 : i32
  %none = spirv.constant 0.0 : f32
  spirv.entry_point 64 {
    %p = spirv.access_chain %id[%zero] : (!spirv.ptr<"Input", vector<3xi32>>, i32) -> !spirv.ptr<"Input", i32>
    %i = spirv.load %p : (!spirv.ptr<"Input", i32>) -> i32
    %w = spirv.access_chain %words[%zero] : (!spirv.ptr<"PushConstant", !spirv.struct<[i32]>>, i32) -> !spirv.ptr<"PushConstant", i32>
    %n = spirv.load %w : (!spirv.ptr<"PushConstant", i32>) -> i32
    spirv.branch ^header(%zero, %none : i32, f32)
  ^header(%k: i32, %total: f32):
    %more = spirv.instruction "SLessThan" %k, %n : (i32, i32) -> i1
    spirv.loop_branch %more, ^body merge ^after continue ^next
  ^body:
    %q = spirv.access_chain %x[%zero, %k] : (!spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>, i32, i32) -> !spirv.ptr<"StorageBuffer", f32>
    %v = spirv.load %q : (!spirv.ptr<"StorageBuffer", f32>) -> f32
    %root = spirv.extended "Sqrt" %v : (f32) -> f32
    %sum = spirv.instruction "FAdd" %total, %root : (f32, f32) -> f32
    %negative = spirv.instruction "FOrdLessThan" %v, %none : (f32, f32) -> i1
    spirv.selection_branch %negative, ^then, ^meet merge ^meet
  ^then:
    %first = spirv.access_chain %status[%zero, %zero] : (!spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<i32>]>>, i32, i32) -> !spirv.ptr<"StorageBuffer", i32>
    spirv.atomic_minimum %first, %one : !spirv.ptr<"StorageBuffer", i32>, i32
    spirv.branch ^meet
  ^meet:
    spirv.branch ^next(%sum : f32)
  ^next(%following_total: f32):
    %following = spirv.instruction "IAdd" %k, %one : (i32, i32) -> i32
    spirv.branch ^header(%following, %following_total : i32, f32)
  ^after:
    %r = spirv.access_chain %y[%zero, %i] : (!spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>, i32, i32) -> !spirv.ptr<"StorageBuffer", f32>
    spirv.store %r, %total : !spirv.ptr<"StorageBuffer", f32>, f32
    spirv.return
  }
}

// CHECK: spirv.dispatch "sums"(%a, %b) words [8] invocations 8 steps 8 : memref<8xf32>, memref<8xf32>
func.func @forward(%a: memref<8xf32>, %b: memref<8xf32>) {
  spirv.dispatch "sums"(%a, %b) words [8] invocations 8 steps 8 : memref<8xf32>, memref<8xf32>
  func.return
}
