// RUN: et-opt %s | et-opt | filecheck %s
// RUN: et-opt --print-op-generic %s | et-opt | filecheck %s

// One operation per way in which a schema's arguments are written.

// CHECK-LABEL: func.func @operands
func.func @operands(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %b: tensor<3xf32>, %i: tensor<4xi64>) {
  // One type for all.
  // CHECK-NEXT: %{{.*}} = aten.add.Tensor %x, %y : tensor<2x3xf32>
  %0 = aten.add.Tensor %x, %y : tensor<2x3xf32>
  // CHECK-NEXT: %{{.*}} = aten.add.Tensor %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.add.Tensor %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // An absent tensor, and absent tensors at the end.
  // CHECK-NEXT: %{{.*}} = aten.layer_norm %x, none, %b {normalized_shape = [3]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = aten.layer_norm %x, none, %b {normalized_shape = [3]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %{{.*}} = aten.layer_norm %x {normalized_shape = [3]} : tensor<2x3xf32>
  %3 = aten.layer_norm %x, none, none {normalized_shape = [3]} : tensor<2x3xf32>
  // CHECK-NEXT: %{{.*}} = aten.clamp.Tensor %x, none, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %4 = aten.clamp.Tensor %x, none, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // Lists, of one, of none, and with holes.
  // CHECK-NEXT: %{{.*}} = aten.cat [%x, %y] {dim = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %5 = aten.cat [%x, %y] {dim = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %{{.*}} = aten.cat [%x] : tensor<2x3xf32>
  %6 = aten.cat [%x] : tensor<2x3xf32>
  // CHECK-NEXT: %{{.*}} = aten.index.Tensor %x, [none, %i] : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  %7 = aten.index.Tensor %x, [none, %i] : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  // CHECK-NEXT: %{{.*}} = aten.index.Tensor %x, [%i, none] : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %8 = aten.index.Tensor %x, [%i, none] : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  // A Python number in a tensor's place.
  // CHECK-NEXT: %{{.*}} = program.literal 2.000000e+00 : f64
  %two = program.literal 2.000000e+00 : f64
  // CHECK-NEXT: %{{.*}} = aten.mul.Tensor %x, %two : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  %9 = aten.mul.Tensor %x, %two : (tensor<2x3xf32>, f64) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @literals
func.func @literals(%x: tensor<2x3xf32>, %l: tensor<f32>) {
  // Those equal to the schema's default are left out.
  // CHECK-NEXT: %{{.*}} = aten.softmax.int %x {dim = -1} : tensor<2x3xf32>
  %0 = aten.softmax.int %x {dim = -1} : tensor<2x3xf32>
  // CHECK-NEXT: %{{.*}} = aten.sum.dim_IntList %x {dim = []} : (tensor<2x3xf32>) -> tensor<f32>
  %1 = aten.sum.dim_IntList %x {dim = [], keepdim = false} : (tensor<2x3xf32>) -> tensor<f32>
  // CHECK-NEXT: %{{.*}} = aten.sum.dim_IntList %x {dim = [1], keepdim = true, dtype = f64} : (tensor<2x3xf32>) -> tensor<2x1xf64>
  %2 = aten.sum.dim_IntList %x {dtype = f64, keepdim = true, dim = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf64>
  // Numbers keep their kind.
  // CHECK-NEXT: aten.add.Scalar %x {other = 2} : tensor<2x3xf32>
  %3 = aten.add.Scalar %x {other = 2, alpha = 1} : tensor<2x3xf32>
  // CHECK-NEXT: aten.add.Scalar %x {other = 2.0, alpha = 1.0} : tensor<2x3xf32>
  %4 = aten.add.Scalar %x {other = 2.0, alpha = 1.0} : tensor<2x3xf32>
  // CHECK-NEXT: aten.add.Scalar %x {other = true} : tensor<2x3xf32>
  %5 = aten.add.Scalar %x {other = true} : tensor<2x3xf32>
  // CHECK-NEXT: aten.mul.Scalar %x {other = -1.5e-07} : tensor<2x3xf32>
  %6 = aten.mul.Scalar %x {other = -1.5e-7} : tensor<2x3xf32>
  // CHECK-NEXT: aten.hardtanh %x {min_val = -inf, max_val = inf} : tensor<2x3xf32>
  %8 = aten.hardtanh %x {min_val = -inf, max_val = inf} : tensor<2x3xf32>
  // CHECK-NEXT: aten.fill.Scalar %x {value = nan} : tensor<2x3xf32>
  %9 = aten.fill.Scalar %x {value = nan} : tensor<2x3xf32>
  // CHECK-NEXT: aten.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  %10 = aten.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  // CHECK-NEXT: aten._to_copy %x {dtype = i64, memory_format = "contiguous_format"} : (tensor<2x3xf32>) -> tensor<2x3xi64>
  %11 = aten._to_copy %x {dtype = i64, memory_format = "contiguous_format"} : (tensor<2x3xf32>) -> tensor<2x3xi64>
  // CHECK-NEXT: aten._to_copy %x {dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
  %12 = aten._to_copy %x {dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
  // CHECK-NEXT: aten._to_copy %x {dtype = complex<f32>} : (tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  %13 = aten._to_copy %x {dtype = complex<f32>} : (tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
  // CHECK-NEXT: aten.unflatten.int %x {dim = 1, sizes = [3, -1]} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %14 = aten.unflatten.int %x {dim = 1, sizes = [3, -1]} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  // No tensors at all.
  // CHECK-NEXT: aten.full {size = [], fill_value = true} : () -> tensor<i1>
  %15 = aten.full {size = [], fill_value = true} : () -> tensor<i1>
  // CHECK-NEXT: aten.arange.start_step {start = 0, end = 4} : () -> tensor<4xi64>
  %16 = aten.arange.start_step {start = 0, end = 4} : () -> tensor<4xi64>
  // A default that is a list.
  // CHECK-NEXT: aten.roll %x {shifts = [1]} : tensor<2x3xf32>
  %17 = aten.roll %x {shifts = [1], dims = []} : tensor<2x3xf32>
  // Attributes that are no arguments.
  // CHECK-NEXT: aten.relu %x attributes {note = "kept"} : tensor<2x3xf32>
  %18 = aten.relu %x attributes {note = "kept"} : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @symbols
func.func @symbols(%x: tensor<?x6xf32>, %n: i64, %s: f64) {
  // CHECK-NEXT: %{{.*}} = aten.sym_size.int %x {dim = 0} : (tensor<?x6xf32>) -> i64
  %0 = aten.sym_size.int %x {dim = 0} : (tensor<?x6xf32>) -> i64
  // CHECK-NEXT: aten.view %x {size = [%0, 2, 3]} : (tensor<?x6xf32>, i64) -> tensor<?x2x3xf32>
  %1 = aten.view %x {size = [%0, 2, 3]} : (tensor<?x6xf32>, i64) -> tensor<?x2x3xf32>
  // Symbols are operands in the schema's order, whatever the order of the text.
  // CHECK-NEXT: aten.slice.Tensor %x {start = %n, end = %0} : (tensor<?x6xf32>, i64, i64) -> tensor<?x6xf32>
  %2 = aten.slice.Tensor %x {end = %0, start = %n} : (tensor<?x6xf32>, i64, i64) -> tensor<?x6xf32>
  // CHECK-NEXT: aten.full {size = [%n, %n], fill_value = %s} : (i64, i64, f64) -> tensor<?x?xf32>
  %3 = aten.full {size = [%n, %n], fill_value = %s} : (i64, i64, f64) -> tensor<?x?xf32>
  // CHECK-NEXT: aten.add.Scalar %x {other = %s} : (tensor<?x6xf32>, f64) -> tensor<?x6xf32>
  %4 = aten.add.Scalar %x {other = %s} : (tensor<?x6xf32>, f64) -> tensor<?x6xf32>
  // Beside absent tensors.
  // CHECK-NEXT: aten.constant_pad_nd %x {pad = [0, %n]} : (tensor<?x6xf32>, i64) -> tensor<?x?xf32>
  %5 = aten.constant_pad_nd %x {pad = [0, %n]} : (tensor<?x6xf32>, i64) -> tensor<?x?xf32>
  // CHECK-NEXT: aten.layer_norm %x {normalized_shape = [%n]} : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  %6 = aten.layer_norm %x {normalized_shape = [%n]} : (tensor<?x6xf32>, i64) -> tensor<?x6xf32>
  func.return
}

// CHECK-LABEL: func.func @results
func.func @results(%x: tensor<2x4xf32>, %p: tensor<i1>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = aten.max.dim %x {dim = 1} : (tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %0, %1 = aten.max.dim %x {dim = 1} : (tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  // A list of results, of any number.
  // CHECK-NEXT: %{{.*}}, %{{.*}} = aten.split_with_sizes %x {split_sizes = [1, 3], dim = 1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
  %2, %3 = aten.split_with_sizes %x {split_sizes = [1, 3], dim = 1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %{{.*}} = aten.split.Tensor %x {split_size = 2} : tensor<2x4xf32>
  %4 = aten.split.Tensor %x {split_size = 2} : tensor<2x4xf32>
  // None.
  // CHECK-NEXT: aten._assert_async.msg %p {assert_msg = "say \22no\22"} : (tensor<i1>) -> ()
  aten._assert_async.msg %p {assert_msg = "say \22no\22"} : (tensor<i1>) -> ()
  // A type may say more or less than what can be inferred.
  // CHECK-NEXT: aten.relu %x : (tensor<2x4xf32>) -> tensor<?x4xf32>
  %5 = aten.relu %x : (tensor<2x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: aten.relu %{{.*}} : (tensor<?x4xf32>) -> tensor<2x4xf32>
  %6 = aten.relu %5 : (tensor<?x4xf32>) -> tensor<2x4xf32>
  func.return
}
