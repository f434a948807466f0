// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{shader_c1}}
spirv.shader "s" ["Kernels"] {
  spirv.entry_point 64 {
    spirv.return
  }
}

// -----

// expected-error@+1 {{shader_c2}}
spirv.shader "s" ["Shader"] {
  %0 = spirv.constant 0 : i32
}

// -----

spirv.shader "s" ["Shader"] {
  // expected-error@+1 {{variable_c1}}
  %x = spirv.variable : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
  spirv.entry_point 64 {
    spirv.return
  }
}

// -----

spirv.shader "s" ["Shader"] {
  // expected-error@+1 {{variable_c2}}
  %x = spirv.variable builtin "Position" : !spirv.ptr<"Input", vector<3xi32>>
  spirv.entry_point 64 {
    spirv.return
  }
}

// -----

spirv.shader "s" ["Shader"] {
  // expected-error@+1 {{entry_point_c1}}
  spirv.entry_point 0 {
    spirv.return
  }
}

// -----

// expected-error@+1 {{ptr_c1}}
func.func @f(%p: !spirv.ptr<"Disk", f32>) {
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{instruction_c1}}
  %0 = spirv.instruction "FMod" %x, %x : (f32, f32) -> f32
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{instruction_c2}}
  %0 = spirv.instruction "IAdd" %x, %x : (f32, f32) -> f32
  func.return
}

// -----

func.func @f(%x: f32, %i: i32) {
  // expected-error@+1 {{instruction_c2}}
  %0 = spirv.instruction "Select" %i, %x, %x : (i32, f32, f32) -> f32
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{extended_c1}}
  %0 = spirv.extended "Erf" %x : (f32) -> f32
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{extended_c2}}
  %0 = spirv.extended "Fma" %x, %x : (f32, f32) -> f32
  func.return
}

// -----

func.func @f(%p: !spirv.ptr<"Input", vector<3xi32>>, %i: i32) {
  // expected-error@+1 {{access_chain_c1}}
  %0 = spirv.access_chain %p[%i] : (!spirv.ptr<"Input", vector<3xi32>>, i32) -> !spirv.ptr<"Input", f32>
  func.return
}

// -----

func.func @f(%p: !spirv.ptr<"StorageBuffer", f32>) {
  // expected-error@+1 {{load_c1}}
  %0 = spirv.load %p : (!spirv.ptr<"StorageBuffer", f32>) -> i32
  func.return
}

// -----

func.func @f(%p: !spirv.ptr<"StorageBuffer", f32>, %i: i32) {
  // expected-error@+1 {{store_c1}}
  spirv.store %p, %i : !spirv.ptr<"StorageBuffer", f32>, i32
  func.return
}

// -----

func.func @f(%p: !spirv.ptr<"Function", i32>, %i: i32) {
  // expected-error@+1 {{atomic_minimum_c1}}
  spirv.atomic_minimum %p, %i : !spirv.ptr<"Function", i32>, i32
  func.return
}

// -----

func.func @f(%x: memref<4xf32>) {
  // expected-error@+1 {{dispatch_c1}}
  spirv.dispatch "s"(%x) words [] invocations 0 steps 0 : memref<4xf32>
  func.return
}
