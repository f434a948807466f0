// RUN: et-opt -p convert-to-spirv %s | filecheck %s
// RUN: et-opt -p 'convert-to-spirv{halves=true}' %s | filecheck %s --check-prefix HALVES

// An invocation is an iteration, if there are as many. Sizes are pushed; what is not written is read only.
// CHECK:      spirv.shader "relu" ["Shader"] {
// CHECK-NEXT:   %x = spirv.variable binding 0 read_only : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
// CHECK-NEXT:   %y = spirv.variable binding 1 : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
// CHECK-NEXT:   %words = spirv.variable : !spirv.ptr<"PushConstant", !spirv.struct<[i32, i32]>>
// CHECK:        spirv.entry_point 64 {
// CHECK:          %[[C:.*]] = spirv.instruction "SLessThan"
// CHECK-NEXT:     spirv.selection_branch %[[C]], ^[[THEN:.*]], ^[[AFTER:.*]] merge ^[[AFTER]]
// CHECK-NEXT:   ^[[THEN]]:
// CHECK:          spirv.load %{{.*}} : (!spirv.ptr<"StorageBuffer", f32>) -> f32
// CHECK:          spirv.instruction "FOrdGreaterThan"
// CHECK-NEXT:     spirv.instruction "Select"
// CHECK:          spirv.store
// CHECK-NEXT:     spirv.branch ^[[AFTER]]
// CHECK-NEXT:   ^[[AFTER]]:
// CHECK-NEXT:     spirv.return
// With halves, what is read is widened, and what is written is rounded.
// HALVES:      spirv.shader "relu" ["Shader", "StorageBuffer16BitAccess"] {
// HALVES-NEXT:   %x = spirv.variable binding 0 read_only : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f16>]>>
// HALVES:          %[[H:.*]] = spirv.load %{{.*}} : (!spirv.ptr<"StorageBuffer", f16>) -> f16
// HALVES-NEXT:     spirv.instruction "FConvert" %[[H]] : (f16) -> f32
// HALVES:          %[[N:.*]] = spirv.instruction "FConvert" %{{.*}} : (f32) -> f16
// HALVES:          spirv.store %{{.*}}, %[[N]]
func.func private @relu(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = vector.load %x[%i] : memref<?xf32>, vector<1xf32>
    %m = native.compare "ogt", %v, %zero : vector<1xf32>, vector<1xf32> -> vector<1xi1>
    %r = native.select %m, %v, %zero : vector<1xi1>, vector<1xf32>
    vector.store %r, %y[%i] : memref<?xf32>, vector<1xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Loops have a header, with the values of an iteration, and a block that goes back. Bytes need capabilities.
// CHECK:      spirv.shader "sum" ["Shader", "Int8", "StorageBuffer8BitAccess"] {
// CHECK:          spirv.branch ^[[HEADER:.*]](%{{.*}}, %{{.*}} : i32, f32)
// CHECK-NEXT:   ^[[HEADER]](%[[K:.*]]: i32, %[[T:.*]]: f32):
// CHECK-NEXT:     %[[MORE:.*]] = spirv.instruction "SLessThan" %[[K]]
// CHECK-NEXT:     spirv.loop_branch %[[MORE]], ^[[BODY:.*]] merge ^[[AFTER:.*]] continue ^[[NEXT:.*]]
// CHECK-NEXT:   ^[[BODY]]:
// CHECK:          %[[S:.*]] = spirv.instruction "FAdd" %[[T]]
// CHECK-NEXT:     spirv.branch ^[[NEXT]](%[[S]] : f32)
// CHECK-NEXT:   ^[[NEXT]](%[[N:.*]]: f32):
// CHECK-NEXT:     %[[I:.*]] = spirv.instruction "IAdd" %[[K]]
// CHECK-NEXT:     spirv.branch ^[[HEADER]](%[[I]], %[[N]] : i32, f32)
// CHECK-NEXT:   ^[[AFTER]]:
// CHECK:          spirv.store %{{.*}}, %[[T]]
func.func private @sum(%x: memref<4x8xi8>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %total = scf.for %k = %c0 to %c8 step %c1 iter_args(%t = %zero) -> (f32) {
      %b = memref.load %x[%i, %k] : memref<4x8xi8>
      %f = arith.sitofp %b : i8 to f32
      %s = arith.addf %t, %f : f32
      scf.yield %s : f32
    }
    memref.store %total, %y[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A call says how many invocations there are.
// CHECK:      func.func @forward(%a: memref<300xf32>, %b: memref<300xf32>, %c: memref<4x8xi8>, %d: memref<4xf32>) {
// CHECK:        spirv.dispatch "relu"(%{{.*}}, %{{.*}}) words [300, 300] invocations 300 steps 0
// CHECK:        spirv.dispatch "sum"(%c, %d) words [] invocations 4 steps 8
// CHECK-NEXT:   func.return
func.func @forward(%a: memref<300xf32>, %b: memref<300xf32>, %c: memref<4x8xi8>, %d: memref<4xf32>) {
  %n = arith.constant 300 : index
  %x = "memref.reinterpret_cast"(%a, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}> : (memref<300xf32>, index) -> memref<?xf32>
  %y = "memref.reinterpret_cast"(%b, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}> : (memref<300xf32>, index) -> memref<?xf32>
  func.call @relu(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
  func.call @sum(%c, %d) : (memref<4x8xi8>, memref<4xf32>) -> ()
  func.return
}
