// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

// Sizes that are known at run time only.

// A window is a copy: torch's decomposition addresses memory by strides, which are numbers.
func.func @forward(%x: tensor<?x9xf32>) -> tensor<?x4x3xf32> {
  %0 = aten.unfold %x {dimension = 1, size = 3, step = 2} : (tensor<?x9xf32>) -> tensor<?x4x3xf32>
  func.return %0 : tensor<?x4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNFOLD_COPY:.*]] = aten.unfold_copy %x {dimension = 1, size = 3, step = 2}
// CHECK-NEXT: func.return %[[UNFOLD_COPY]]

// -----

// Of sizes that are known, torch's decomposition is taken.
func.func @forward(%x: tensor<2x9xf32>) -> tensor<2x4x3xf32> {
  %0 = aten.unfold %x {dimension = 1, size = 3, step = 2} : (tensor<2x9xf32>) -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNFOLD:.*]] = aten.unfold %x {dimension = 1, size = 3, step = 2}
// CHECK-NEXT: func.return %[[UNFOLD]]

// -----

func.func @forward(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
  %rows = aten.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
  %0 = aten.empty.memory_format {size = [%rows, 3]} : (i64) -> tensor<?x3xf32>
  func.return %0 : tensor<?x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SYM_SIZE:.*]] = aten.sym_size.int %x {dim = 0}
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [%[[SYM_SIZE]], 3], fill_value = 0, dtype = f32}
// CHECK-NEXT: func.return %[[FULL]]

// -----

func.func @forward() -> tensor<2x3xf32> {
  %0 = aten.empty.memory_format {size = [2, 3]} : () -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EMPTY:.*]] = aten.empty.memory_format {size = [2, 3]}
// CHECK-NEXT: func.return %[[EMPTY]]

// -----

// One is less than once around, whatever the size is.
func.func @forward(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = aten.roll %x {shifts = [1, -5], dims = [0, 1]} : tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SLICE:.*]] = aten.slice.Tensor %x {start = -1}
// CHECK-NEXT: %[[SLICE2:.*]] = aten.slice.Tensor %x {start = 0, end = -1}
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%[[SLICE]], %[[SLICE2]]]
// CHECK-NEXT: %[[SLICE3:.*]] = aten.slice.Tensor %[[CAT]] {dim = 1, start = -3}
// CHECK-NEXT: %[[SLICE4:.*]] = aten.slice.Tensor %[[CAT]] {dim = 1, start = 0, end = -3}
// CHECK-NEXT: %[[CAT2:.*]] = aten.cat [%[[SLICE3]], %[[SLICE4]]] {dim = 1}
// CHECK-NEXT: func.return %[[CAT2]]

// -----

// Two may be more.
func.func @forward(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = aten.roll %x {shifts = [2], dims = [0]} : tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ROLL:.*]] = aten.roll %x {shifts = [2], dims = [0]}
// CHECK-NEXT: func.return %[[ROLL]]

// -----

func.func @forward(%t: tensor<2x3xf32>, %x: tensor<?x2x4xf32>, %y: tensor<?x4x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.addbmm %t, %x, %y : (tensor<2x3xf32>, tensor<?x2x4xf32>, tensor<?x4x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %x, %y
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[BMM]] {dim = [0], dtype = f32}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %t, %[[SUM]]
// CHECK-NEXT: func.return %[[ADD]]

// -----

// Attention of a sequence.
func.func @forward(%q: tensor<2x?x4xf32>, %k: tensor<2x?x4xf32>, %v: tensor<2x?x4xf32>) -> tensor<2x?x4xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, none : (tensor<2x?x4xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  func.return %0 : tensor<2x?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %q {other = 0.5}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 2, 1]}
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[MUL]], %[[PERMUTE]]
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[BMM]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[SOFTMAX]], %v
// CHECK-NEXT: func.return %[[BMM2]]

// -----

// Rows of queries that share keys are made out by the view.
func.func @forward(%q: tensor<2x4x?x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x?x8xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, none {enable_gqa = true} : (tensor<2x4x?x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x?x8xf32>
  func.return %0 : tensor<2x4x?x8xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SYM_SIZE:.*]] = aten.sym_size.int %q {dim = 2}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %q {size = [2, 2, -1, 8]}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[VIEW]] {other = 0.35355339059327373}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %k {dims = [0, 1, 3, 2]}
// CHECK-NEXT: %[[SYM_SIZE2:.*]] = aten.sym_size.int %[[MUL]] {dim = 2}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MUL]] {size = [4, %[[SYM_SIZE2]], 8]}
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[PERMUTE]] {size = [4, 8, 5]}
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW2]], %[[VIEW3]]
// CHECK-NEXT: %[[SYM_SIZE3:.*]] = aten.sym_size.int %[[MUL]] {dim = 2}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %[[BMM]] {size = [2, 2, %[[SYM_SIZE3]], 5]}
// CHECK-NEXT: %[[SOFTMAX:.*]] = aten._softmax %[[VIEW4]] {dim = -1, half_to_float = false}
// CHECK-NEXT: %[[SYM_SIZE4:.*]] = aten.sym_size.int %[[SOFTMAX]] {dim = 2}
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %[[SOFTMAX]] {size = [4, %[[SYM_SIZE4]], 5]}
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %v {size = [4, 5, 8]}
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %[[VIEW5]], %[[VIEW6]]
// CHECK-NEXT: %[[SYM_SIZE5:.*]] = aten.sym_size.int %[[SOFTMAX]] {dim = 2}
// CHECK-NEXT: %[[VIEW7:.*]] = aten.view %[[BMM2]] {size = [2, 2, %[[SYM_SIZE5]], 8]}
// CHECK-NEXT: %[[VIEW8:.*]] = aten.view %[[VIEW7]] {size = [2, 4, %[[SYM_SIZE]], 8]}
// CHECK-NEXT: func.return %[[VIEW8]]

// -----

// The scale is a number.
func.func @forward(%q: tensor<2x5x?xf32>, %k: tensor<2x5x?xf32>, %v: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  %0 = aten.scaled_dot_product_attention %q, %k, %v, none : (tensor<2x5x?xf32>, tensor<2x5x?xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  func.return %0 : tensor<2x5x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SCALED_DOT_PRODUCT_ATTENTION:.*]] = aten.scaled_dot_product_attention %q, %k, %v
// CHECK-NEXT: func.return %[[SCALED_DOT_PRODUCT_ATTENTION]]

// -----

// Of blocks of any height.
func.func @forward(%x: tensor<2x?x4xf32>) -> tensor<8x?x2xf32> {
  %0 = aten.pixel_unshuffle %x {downscale_factor = 2} : (tensor<2x?x4xf32>) -> tensor<8x?x2xf32>
  func.return %0 : tensor<8x?x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SIZE:.*]] = aten.sym_size.int %x {dim = 1}
// CHECK-NEXT: %[[TWO:.*]] = program.literal 2 : i64
// CHECK-NEXT: %[[ROWS:.*]] = program.compute "floordiv" %[[SIZE]], %[[TWO]]
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [2, %[[ROWS]], 2, 2, 2]}
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %[[VIEW]] {dims = [0, 2, 4, 1, 3]}
// CHECK-NEXT: aten.view %[[PERMUTE]] {size = [8, %[[ROWS]], 2]}

// -----

// Windows are copies here too; a shorter one stands in the middle.
func.func @forward(%x: tensor<?x32xf32>, %w: tensor<6xf32>) -> tensor<?x5x9xcomplex<f32>> {
  %0 = aten.stft %x, %w {n_fft = 8, hop_length = 3, win_length = 6, return_complex = true} : (tensor<?x32xf32>, tensor<6xf32>) -> tensor<?x5x9xcomplex<f32>>
  func.return %0 : tensor<?x5x9xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PIECES:.*]] = aten.unfold_copy %x {dimension = -1, size = 8, step = 3}
// CHECK-NEXT: %[[WINDOW:.*]] = aten.constant_pad_nd %w {pad = [1, 1]}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Tensor %[[PIECES]], %[[WINDOW]]
// CHECK-NEXT: %[[FFT:.*]] = aten._fft_r2c %[[MUL]] {dim = [2], normalization = 0, onesided = true}
// CHECK-NEXT: aten.permute %[[FFT]] {dims = [0, 2, 1]}

// -----

// Grids of any number.
func.func @forward(%x: tensor<?x2x3xf32>) -> tensor<?x4x1x2xf32> {
  %n = aten.sym_size.int %x {dim = 0} : (tensor<?x2x3xf32>) -> i64
  %0 = aten.affine_grid_generator %x {size = [%n, 3, 4, 1], align_corners = true} : (tensor<?x2x3xf32>, i64) -> tensor<?x4x1x2xf32>
  func.return %0 : tensor<?x4x1x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: aten.full {size = [1], fill_value = 0, dtype = f32}
// CHECK:      aten.arange.start_step
// CHECK:      %[[MUL:.*]] = aten.mul.Tensor
// CHECK-NEXT: %[[SUM:.*]] = aten.sum.dim_IntList %[[MUL]] {dim = [-2]}
// CHECK-NEXT: aten.view %[[SUM]] {size = [-1, 4, 1, 2]}

// -----

// The number of elements is a product of sizes, which runtimes and viewers know.
func.func @forward(%x: tensor<?x4x?xf32>, %y: tensor<2x3xf32>, %z: tensor<f32>) -> (i64, i64, i64) {
  %0 = aten.sym_numel %x : (tensor<?x4x?xf32>) -> i64
  %1 = aten.sym_numel %y : (tensor<2x3xf32>) -> i64
  %2 = aten.sym_numel %z : (tensor<f32>) -> i64
  func.return %0, %1, %2 : i64, i64, i64
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ROWS:.*]] = aten.sym_size.int %x {dim = 0}
// CHECK-NEXT: %[[COLUMNS:.*]] = aten.sym_size.int %x {dim = 2}
// CHECK-NEXT: %[[FOUR:.*]] = program.literal 4
// CHECK-NEXT: %[[FACTOR:.*]] = program.compute "mul" %[[ROWS]], %[[FOUR]]
// CHECK-NEXT: %[[COUNT:.*]] = program.compute "mul" %[[FACTOR]], %[[COLUMNS]]
// CHECK-NEXT: %[[SIX:.*]] = program.literal 6
// CHECK-NEXT: %[[ONE:.*]] = program.literal 1
// CHECK-NEXT: func.return %[[COUNT]], %[[SIX]], %[[ONE]]

// -----

// Parts of a size that is not known are slices between numbers that are computed.
func.func @forward(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0, %1 = aten.chunk %x {chunks = 2} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  func.return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}
// CHECK:      func.func @forward
// CHECK:      %[[BOUND:.*]] = program.compute "floordiv"
// CHECK-NEXT: %[[FIRST:.*]] = aten.slice.Tensor %x {start = 0, end = %[[BOUND]]}
// CHECK-NEXT: %[[SECOND:.*]] = aten.slice.Tensor %x {start = %[[BOUND]]}
// CHECK-NEXT: func.return %[[FIRST]], %[[SECOND]]

// -----

// The lower one of two in the middle, wherever that is.
func.func @forward(%x: tensor<2x?xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %0, %1 = aten.median.dim %x {dim = 1} : (tensor<2x?xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  func.return %0, %1 : tensor<2xi64>, tensor<2xi64>
}
// CHECK:      func.func @forward
// CHECK:      %[[MIDDLE:.*]] = program.compute "floordiv"
// CHECK-NEXT: %[[VALUES:.*]], %[[PLACES:.*]] = aten.sort %x
// CHECK-NEXT: %[[VALUE:.*]] = aten.select.int %[[VALUES]] {dim = 1, index = %[[MIDDLE]]}
// CHECK-NEXT: %[[PLACE:.*]] = aten.select.int %[[PLACES]] {dim = 1, index = %[[MIDDLE]]}
// CHECK-NEXT: func.return %[[VALUE]], %[[PLACE]]

// -----

// A transform is of the elements that there are.
func.func @forward(%x: tensor<?xf32>) -> tensor<?xcomplex<f32>> {
  %0 = aten.fft_rfft %x {norm = "ortho"} : (tensor<?xf32>) -> tensor<?xcomplex<f32>>
  func.return %0 : tensor<?xcomplex<f32>>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FFT:.*]] = aten._fft_r2c %x {dim = [0], normalization = 1, onesided = true}
// CHECK-NEXT: func.return %[[FFT]]

// -----

// A part of the spectrum, where a size is given: zeros behind it, and then as much as is asked for.
func.func @forward(%x: tensor<?xcomplex<f32>>) -> (tensor<7xcomplex<f32>>, tensor<?xf32>, tensor<6xf32>) {
  %0 = aten.fft_fft %x {n = 7} : (tensor<?xcomplex<f32>>) -> tensor<7xcomplex<f32>>
  %1 = aten.fft_irfft %x : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  %2 = aten.fft_hfft %x {n = 6} : (tensor<?xcomplex<f32>>) -> tensor<6xf32>
  func.return %0, %1, %2 : tensor<7xcomplex<f32>>, tensor<?xf32>, tensor<6xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PAD:.*]] = aten.constant_pad_nd %x {pad = [0, 7]}
// CHECK-NEXT: %[[FIRST:.*]] = aten.slice.Tensor %[[PAD]] {start = 0, end = 7}
// CHECK-NEXT: %[[FFT:.*]] = aten._fft_c2c %[[FIRST]] {dim = [0], normalization = 0, forward = true}
// CHECK:      %[[SIZE:.*]] = program.compute "mul"
// CHECK-NEXT: %[[IRFFT:.*]] = aten._fft_c2r %x {dim = [0], normalization = 2, last_dim_size = %[[SIZE]]}
// CHECK:      %[[HALF:.*]] = aten.slice.Tensor %{{.*}} {start = 0, end = 4}
// CHECK-NEXT: %[[CONJ:.*]] = aten._conj_physical %[[HALF]]
// CHECK-NEXT: %[[HFFT:.*]] = aten._fft_c2r %[[CONJ]] {dim = [0], normalization = 0, last_dim_size = 6}
// CHECK-NEXT: func.return %[[FFT]], %[[IRFFT]], %[[HFFT]]

// -----

// Frames of which the first halves overlap the second halves of those before.
func.func @forward(%x: tensor<2x3x?xcomplex<f32>>) -> tensor<2x?xf32> {
  %0 = aten.istft %x {n_fft = 4, hop_length = 2, center = false} : (tensor<2x3x?xcomplex<f32>>) -> tensor<2x?xf32>
  func.return %0 : tensor<2x?xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ROWS:.*]] = aten.permute %x {dims = [0, 2, 1]}
// CHECK-NEXT: %[[FRAMES:.*]] = aten._fft_c2r %[[ROWS]] {dim = [2], normalization = 2, last_dim_size = 4}
// CHECK:      %[[MUL:.*]] = aten.mul.Tensor %[[FRAMES]], %{{.*}}
// CHECK-NEXT: %[[FIRST:.*]] = aten.slice.Tensor %[[MUL]] {dim = 2, start = 0, end = 2}
// CHECK-NEXT: %[[LINE:.*]] = aten.view %[[FIRST]] {size = [2, -1]}
// CHECK-NEXT: %[[PAD:.*]] = aten.constant_pad_nd %[[LINE]] {pad = [0, 2]}
// CHECK-NEXT: %[[SECOND:.*]] = aten.slice.Tensor %[[MUL]] {dim = 2, start = 2, end = 4}
// CHECK-NEXT: %[[LINE2:.*]] = aten.view %[[SECOND]] {size = [2, -1]}
// CHECK-NEXT: %[[PAD2:.*]] = aten.constant_pad_nd %[[LINE2]] {pad = [2, 0]}
// CHECK-NEXT: aten.add.Tensor %[[PAD]], %[[PAD2]]
// CHECK:      aten.div.Tensor
