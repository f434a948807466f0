// RUN: et-opt -p form-cached-attention --split-input-file %s | filecheck %s
// RUN: et-opt -p 'form-cached-attention{consecutive=true}' --split-input-file %s | filecheck %s --check-prefix=ASSUMED

// One token: its position is the first of the call, and causal attention begins there. Groups of heads need no copies.
// CHECK: program.operator "llama::custom_sdpa(
// CHECK-LABEL: func.func @one_token
// CHECK:      %[[KEYS:.*]] = aten.index_copy %keys
// CHECK:      %[[VALUES:.*]] = aten.index_copy %values
// CHECK-NEXT: %[[Q:.*]] = aten.permute %q {dims = [0, 2, 1, 3]} : (tensor<1x4x1x8xf32>) -> tensor<1x1x4x8xf32>
// CHECK-NEXT: %[[K:.*]] = aten.permute %[[KEYS]] {dims = [0, 2, 1, 3]} : (tensor<1x2x6x8xf32>) -> tensor<1x6x2x8xf32>
// CHECK-NEXT: %[[V:.*]] = aten.permute %[[VALUES]] {dims = [0, 2, 1, 3]}
// CHECK-NEXT: %[[FIRST:.*]] = aten.select.int %at {dim = 0, index = 0}
// CHECK-NEXT: %[[BEGIN:.*]] = aten.item %[[FIRST]]
// CHECK-NEXT: %[[R:.*]] = aten.llama.custom_sdpa %[[Q]], %[[K]], %[[V]] {start_pos = %[[BEGIN]], is_causal = true, scale = 0.5}
// CHECK-NEXT: aten.permute %[[R]] {dims = [0, 2, 1, 3]} : (tensor<1x1x4x8xf32>) -> tensor<1x4x1x8xf32>
program.buffer mutable @keys : tensor<1x2x6x8xf32>
program.buffer mutable @values : tensor<1x2x6x8xf32>
func.func @one_token(%q: tensor<1x4x1x8xf32>, %k: tensor<1x2x1x8xf32>, %v: tensor<1x2x1x8xf32>, %at: tensor<1xi64>) -> tensor<1x4x1x8xf32> {
  %places = aten.arange {end = 6} : () -> tensor<6xi64>
  %column = aten.unsqueeze %at {dim = 1} : (tensor<1xi64>) -> tensor<1x1xi64>
  %seen = aten.le.Tensor %places, %column : (tensor<6xi64>, tensor<1x1xi64>) -> tensor<1x6xi1>
  %1 = aten.unsqueeze %seen {dim = 0} : (tensor<1x6xi1>) -> tensor<1x1x6xi1>
  %mask = aten.unsqueeze %1 {dim = 1} : (tensor<1x1x6xi1>) -> tensor<1x1x1x6xi1>
  %keys = program.load @keys : tensor<1x2x6x8xf32>
  %2 = aten.index_copy %keys, %at, %k {dim = 2} : (tensor<1x2x6x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %values = program.load @values : tensor<1x2x6x8xf32>
  %3 = aten.index_copy %values, %at, %v {dim = 2} : (tensor<1x2x6x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %4 = aten.unsqueeze %2 {dim = 2} : (tensor<1x2x6x8xf32>) -> tensor<1x2x1x6x8xf32>
  %5 = aten.expand %4 {size = [1, 2, 2, 6, 8]} : (tensor<1x2x1x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %6 = aten.reshape %5 {shape = [1, 4, 6, 8]} : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x6x8xf32>
  %7 = aten.unsqueeze %3 {dim = 2} : (tensor<1x2x6x8xf32>) -> tensor<1x2x1x6x8xf32>
  %8 = aten.expand %7 {size = [1, 2, 2, 6, 8]} : (tensor<1x2x1x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %9 = aten.reshape %8 {shape = [1, 4, 6, 8]} : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x6x8xf32>
  %10 = aten.scaled_dot_product_attention %q, %6, %9, %mask {scale = 0.5} : (tensor<1x4x1x8xf32>, tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>, tensor<1x1x1x6xi1>) -> tensor<1x4x1x8xf32>
  program.store @keys, %2 : tensor<1x2x6x8xf32>
  program.store @values, %3 : tensor<1x2x6x8xf32>
  func.return %10 : tensor<1x4x1x8xf32>
}

// -----

// Positions that the caller gives may be any: the mask is passed, and each row sees the place that it writes. Assumed to
// be consecutive, they need none.
// CHECK-LABEL: func.func @given_positions
// CHECK:      %[[ZERO:.*]] = aten.full {size = [], fill_value = 0.0, dtype = f32}
// CHECK:      %[[BIAS:.*]] = aten.where.self
// CHECK:      %[[ROWS:.*]] = aten.view %[[BIAS]] {size = [-1, 6]} : (tensor<1x1x3x6xf32>) -> tensor<3x6xf32>
// CHECK-NEXT: %[[R:.*]] = aten.llama.custom_sdpa {{.*}}, %[[ROWS]] {start_pos = 0}
// CHECK-NEXT: %[[O:.*]] = aten.permute %[[R]]
// CHECK-NOT:  aten.mul
// CHECK:      func.return %[[O]]
// ASSUMED-LABEL: func.func @given_positions
// ASSUMED:      %[[FIRST:.*]] = aten.select.int %at {dim = 0, index = 0}
// ASSUMED-NEXT: %[[BEGIN:.*]] = aten.item %[[FIRST]]
// ASSUMED-NEXT: aten.llama.custom_sdpa {{.*}} {start_pos = %[[BEGIN]], is_causal = true}
program.buffer mutable @keys : tensor<1x2x6x8xf32>
program.buffer mutable @values : tensor<1x2x6x8xf32>
func.func @given_positions(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>, %at: tensor<3xi64>) -> tensor<1x2x3x8xf32> {
  %places = aten.arange {end = 6} : () -> tensor<6xi64>
  %column = aten.unsqueeze %at {dim = 1} : (tensor<3xi64>) -> tensor<3x1xi64>
  %seen = aten.ge.Tensor %column, %places : (tensor<3x1xi64>, tensor<6xi64>) -> tensor<3x6xi1>
  %1 = aten.unsqueeze %seen {dim = 0} : (tensor<3x6xi1>) -> tensor<1x3x6xi1>
  %mask = aten.unsqueeze %1 {dim = 1} : (tensor<1x3x6xi1>) -> tensor<1x1x3x6xi1>
  %keys = program.load @keys : tensor<1x2x6x8xf32>
  %2 = aten.index_copy %keys, %at, %k {dim = 2} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %values = program.load @values : tensor<1x2x6x8xf32>
  %3 = aten.index_copy %values, %at, %v {dim = 2} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %4 = aten.scaled_dot_product_attention %q, %2, %3, %mask : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x1x3x6xi1>) -> tensor<1x2x3x8xf32>
  program.store @keys, %2 : tensor<1x2x6x8xf32>
  program.store @values, %3 : tensor<1x2x6x8xf32>
  func.return %4 : tensor<1x2x3x8xf32>
}

// -----

// Consecutive positions by computation; keys of the second attention are written elsewhere than the mask says, and a mask
// of which nothing is known may exclude whole rows.
// CHECK-LABEL: func.func @counter
// CHECK:      %[[COUNT:.*]] = program.load @count
// CHECK:      %[[BEGIN:.*]] = aten.item %[[COUNT]]
// CHECK-NEXT: aten.llama.custom_sdpa {{.*}} {start_pos = %[[BEGIN]], is_causal = true}
// CHECK:      aten.llama.custom_sdpa {{.*}} {start_pos = 0}
// CHECK:      aten.mul.Tensor
// CHECK:      aten.llama.custom_sdpa {{.*}} {start_pos = 0}
// CHECK:      aten.mul.Tensor
program.buffer mutable @count : tensor<i64>
program.buffer mutable @keys : tensor<1x2x6x8xf32>
program.buffer mutable @values : tensor<1x2x6x8xf32>
func.func @counter(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>, %other: tensor<3xi64>, %any: tensor<3x6xi1>) -> (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) {
  %places = aten.arange {end = 6} : () -> tensor<6xi64>
  %count = program.load @count : tensor<i64>
  %new = aten.arange {end = 3} : () -> tensor<3xi64>
  %at = aten.add.Tensor %new, %count : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %column = aten.unsqueeze %at {dim = 1} : (tensor<3xi64>) -> tensor<3x1xi64>
  %mask = aten.le.Tensor %places, %column : (tensor<6xi64>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %keys = program.load @keys : tensor<1x2x6x8xf32>
  %values = program.load @values : tensor<1x2x6x8xf32>
  %2 = aten.index_copy %keys, %at, %k {dim = 2} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %3 = aten.index_copy %values, %at, %v {dim = 2} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %4 = aten.index_copy %keys, %other, %k {dim = 2} : (tensor<1x2x6x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x6x8xf32>
  %5 = aten.scaled_dot_product_attention %q, %2, %3, %mask : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<3x6xi1>) -> tensor<1x2x3x8xf32>
  %6 = aten.scaled_dot_product_attention %q, %4, %3, %mask : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<3x6xi1>) -> tensor<1x2x3x8xf32>
  %7 = aten.scaled_dot_product_attention %q, %2, %3, %any : (tensor<1x2x3x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<3x6xi1>) -> tensor<1x2x3x8xf32>
  func.return %5, %6, %7 : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>
}

// -----

// What the kernel does not take: keys that are not of a cache, a mask for each head, causal from the first key on.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   custom_sdpa
// CHECK:       func.return
program.buffer mutable @keys : tensor<1x2x3x8xf32>
program.buffer mutable @values : tensor<1x2x3x8xf32>
func.func @others(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>, %at: tensor<3xi64>, %m: tensor<3x3xi1>, %h: tensor<1x2x3x3xi1>) -> (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) {
  %keys = program.load @keys : tensor<1x2x3x8xf32>
  %values = program.load @values : tensor<1x2x3x8xf32>
  %2 = aten.index_copy %keys, %at, %k {dim = 2} : (tensor<1x2x3x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  %3 = aten.index_copy %values, %at, %v {dim = 2} : (tensor<1x2x3x8xf32>, tensor<3xi64>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  %4 = aten.scaled_dot_product_attention %q, %k, %v, %m : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<3x3xi1>) -> tensor<1x2x3x8xf32>
  %5 = aten.scaled_dot_product_attention %q, %2, %3, %h : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x3xi1>) -> tensor<1x2x3x8xf32>
  %6 = aten.scaled_dot_product_attention %q, %2, %3 {is_causal = true} : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  func.return %4, %5, %6 : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>
}

// -----

// Attention that is written out, over caches that `index_put` writes; groups of heads need no copies. One whose mask leaves
// some weight to what it excludes is not one of the kernel's.
// CHECK-LABEL: func.func @written_out
// CHECK:      %[[KEYS:.*]] = aten.index_put %keys
// CHECK:      %[[VALUES:.*]] = aten.index_put %values
// CHECK:      %[[Q:.*]] = aten.permute %q {dims = [0, 2, 1, 3]}
// CHECK-NEXT: %[[K:.*]] = aten.permute %[[KEYS]] {dims = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V:.*]] = aten.permute %[[VALUES]] {dims = [0, 2, 1, 3]}
// CHECK:      %[[R:.*]] = aten.llama.custom_sdpa %[[Q]], %[[K]], %[[V]] {start_pos = %{{.*}}, is_causal = true, scale = 0.5}
// CHECK-NEXT: aten.permute %[[R]] {dims = [0, 2, 1, 3]}
// CHECK-NOT:  aten.llama.custom_sdpa
// CHECK:      aten.matmul
program.buffer mutable @keys : tensor<1x2x6x8xf32>
program.buffer mutable @values : tensor<1x2x6x8xf32>
func.func @written_out(%q: tensor<1x4x1x8xf32>, %k: tensor<1x2x1x8xf32>, %v: tensor<1x2x1x8xf32>, %at: tensor<1xi64>) -> (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) {
  %places = aten.arange {end = 6} : () -> tensor<6xi64>
  %column = aten.unsqueeze %at {dim = 1} : (tensor<1xi64>) -> tensor<1x1xi64>
  %seen = aten.le.Tensor %places, %column : (tensor<6xi64>, tensor<1x1xi64>) -> tensor<1x6xi1>
  %zero = aten.zeros {size = [], dtype = f32} : () -> tensor<f32>
  %lowest = aten.scalar_tensor {s = -3.4028234663852886e+38, dtype = f32} : () -> tensor<f32>
  %low = aten.scalar_tensor {s = -4.0, dtype = f32} : () -> tensor<f32>
  %mask = aten.where.self %seen, %zero, %lowest : (tensor<1x6xi1>, tensor<f32>, tensor<f32>) -> tensor<1x6xf32>
  %soft = aten.where.self %seen, %zero, %low : (tensor<1x6xi1>, tensor<f32>, tensor<f32>) -> tensor<1x6xf32>
  %keys = program.load @keys : tensor<1x2x6x8xf32>
  %2 = aten.index_put %keys, [none, none, %at], %k : (tensor<1x2x6x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %values = program.load @values : tensor<1x2x6x8xf32>
  %3 = aten.index_put %values, [none, none, %at], %v : (tensor<1x2x6x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %4 = aten.unsqueeze %2 {dim = 2} : (tensor<1x2x6x8xf32>) -> tensor<1x2x1x6x8xf32>
  %5 = aten.expand %4 {size = [1, 2, 2, 6, 8]} : (tensor<1x2x1x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %6 = aten.reshape %5 {shape = [1, 4, 6, 8]} : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x6x8xf32>
  %7 = aten.unsqueeze %3 {dim = 2} : (tensor<1x2x6x8xf32>) -> tensor<1x2x1x6x8xf32>
  %8 = aten.expand %7 {size = [1, 2, 2, 6, 8]} : (tensor<1x2x1x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %9 = aten.reshape %8 {shape = [1, 4, 6, 8]} : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x6x8xf32>
  %10 = aten.transpose.int %6 {dim0 = 2, dim1 = 3} : (tensor<1x4x6x8xf32>) -> tensor<1x4x8x6xf32>
  %11 = aten.matmul %q, %10 : (tensor<1x4x1x8xf32>, tensor<1x4x8x6xf32>) -> tensor<1x4x1x6xf32>
  %12 = aten.mul.Scalar %11 {other = 0.5} : tensor<1x4x1x6xf32>
  %13 = aten.add.Tensor %12, %mask : (tensor<1x4x1x6xf32>, tensor<1x6xf32>) -> tensor<1x4x1x6xf32>
  %14 = aten.softmax.int %13 {dim = -1} : tensor<1x4x1x6xf32>
  %15 = aten.matmul %14, %9 : (tensor<1x4x1x6xf32>, tensor<1x4x6x8xf32>) -> tensor<1x4x1x8xf32>
  %16 = aten.add.Tensor %12, %soft : (tensor<1x4x1x6xf32>, tensor<1x6xf32>) -> tensor<1x4x1x6xf32>
  %17 = aten.softmax.int %16 {dim = -1} : tensor<1x4x1x6xf32>
  %18 = aten.matmul %17, %9 : (tensor<1x4x1x6xf32>, tensor<1x4x6x8xf32>) -> tensor<1x4x1x8xf32>
  program.store @keys, %2 : tensor<1x2x6x8xf32>
  program.store @values, %3 : tensor<1x2x6x8xf32>
  func.return %15, %18 : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>
}
