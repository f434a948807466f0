// RUN: et-opt -p decompose,dce --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x2xi64>, %s: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.scatter.reduce %x, %i, %s {dim = 0, reduce = "add"} : (tensor<3x4xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SCATTER_ADD:.*]] = aten.scatter_add %x, %i, %s {dim = 0}
// CHECK-NEXT: func.return %[[SCATTER_ADD]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2x2xi64>) -> tensor<3x4xf32> {
  %0 = aten.scatter.value_reduce %x, %i {dim = 0, value = 2.5, reduce = "multiply"} : (tensor<3x4xf32>, tensor<2x2xi64>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [2, 2], fill_value = 2.5, dtype = f32}
// CHECK-NEXT: %[[SCATTER_REDUCE:.*]] = aten.scatter_reduce.two %x, %i, %[[FULL]] {dim = 0, reduce = "prod"}
// CHECK-NEXT: func.return %[[SCATTER_REDUCE]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<3xi64>, %s: tensor<3x3xf32>) -> tensor<3x4xf32> {
  %0 = aten.index_reduce %x, %i, %s {dim = 1, reduce = "amax"} : (tensor<3x4xf32>, tensor<3xi64>, tensor<3x3xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %i {size = [1, 3]}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[VIEW]] {size = [3, 3]}
// CHECK-NEXT: %[[SCATTER_REDUCE:.*]] = aten.scatter_reduce.two %x, %[[EXPAND]], %s {dim = 1, reduce = "amax"}
// CHECK-NEXT: func.return %[[SCATTER_REDUCE]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %s: tensor<2xf32>) -> tensor<3x4xf32> {
  %0 = aten.put %x, %i, %s : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [12]}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %[[VIEW]], [%i], %s
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[INDEX_PUT]] {size = [3, 4]}
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %s: tensor<2xf32>) -> tensor<3x4xf32> {
  %0 = aten.diagonal_scatter %x, %s {offset = -1} : (tensor<3x4xf32>, tensor<2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 1, end = 3, dtype = i64}
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %x, [%[[ARANGE]], %[[ARANGE2]]], %s
// CHECK-NEXT: func.return %[[INDEX_PUT]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %s: tensor<2x2xf32>) -> tensor<3x4xf32> {
  %0 = aten.as_strided_scatter %x, %s {size = [2, 2], stride = [4, 2], storage_offset = 1} : (tensor<3x4xf32>, tensor<2x2xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[FULL:.*]] = aten.full {size = [], fill_value = 1, dtype = i64}
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[ARANGE]] {size = [2, 1]}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[VIEW]] {other = 4}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[FULL]], %[[MUL]]
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 2, dtype = i64}
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[ARANGE2]] {size = [1, 2]}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[VIEW2]] {other = 2}
// CHECK-NEXT: %[[ADD2:.*]] = aten.add.Tensor %[[ADD]], %[[MUL2]]
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[ADD2]] {size = [4]}
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %s {size = [4]}
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %x {size = [12]}
// CHECK-NEXT: %[[INDEX_PUT:.*]] = aten.index_put %[[VIEW5]], [%[[VIEW3]]], %[[VIEW4]]
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[INDEX_PUT]] {size = [3, 4]}
// CHECK-NEXT: func.return %[[VIEW6]]

// -----

func.func @forward(%x: tensor<3x4xf32>, %y: tensor<6x2xf32>) -> tensor<6x2xf32> {
  %0 = aten.resize_as %x, %y : (tensor<3x4xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  func.return %0 : tensor<6x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [6, 2]}
// CHECK-NEXT: func.return %[[VIEW]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0, %1 = aten.nonzero_numpy %x : (tensor<3x4xf32>) -> (tensor<?xi64>, tensor<?xi64>)
  func.return %0, %1 : tensor<?xi64>, tensor<?xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NONZERO:.*]] = aten.nonzero %x
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %[[NONZERO]] {dim = 1, index = 0}
// CHECK-NEXT: %[[SELECT2:.*]] = aten.select.int %[[NONZERO]] {dim = 1, index = 1}
// CHECK-NEXT: func.return %[[SELECT]], %[[SELECT2]]

// -----

func.func @forward(%x: tensor<3x4xf32>) -> tensor<?x2xi64> {
  %0 = aten.argwhere %x : (tensor<3x4xf32>) -> tensor<?x2xi64>
  func.return %0 : tensor<?x2xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[NONZERO:.*]] = aten.nonzero %x
// CHECK-NEXT: func.return %[[NONZERO]]

// -----

func.func @forward(%x: tensor<18x8xi8>, %y: tensor<8x16xi8>) -> tensor<18x16xi32> {
  %0 = aten._int_mm %x, %y : (tensor<18x8xi8>, tensor<8x16xi8>) -> tensor<18x16xi32>
  func.return %0 : tensor<18x16xi32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[TO_COPY:.*]] = aten._to_copy %x {dtype = i32}
// CHECK-NEXT: %[[TO_COPY2:.*]] = aten._to_copy %y {dtype = i32}
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[TO_COPY]], %[[TO_COPY2]]
// CHECK-NEXT: func.return %[[MM]]

// -----

// Windows of several sizes are gathered.
func.func @forward(%x: tensor<2x3x8xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi64>) {
  %0, %1 = aten.adaptive_max_pool1d %x {output_size = [3]} : (tensor<2x3x8xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi64>)
  func.return %0, %1 : tensor<2x3x3xf32>, tensor<2x3x3xi64>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ARANGE:.*]] = aten.arange.start_step {start = 0, end = 3, dtype = i64}
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %[[ARANGE]] {other = 8}
// CHECK-NEXT: %[[DIV:.*]] = aten.div.Scalar_mode %[[MUL]] {other = 3, rounding_mode = "floor"}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Scalar %[[ARANGE]] {other = 1}
// CHECK-NEXT: %[[MUL2:.*]] = aten.mul.Scalar %[[ADD]] {other = 8}
// CHECK-NEXT: %[[ADD2:.*]] = aten.add.Scalar %[[MUL2]] {other = -1}
// CHECK-NEXT: %[[DIV2:.*]] = aten.div.Scalar_mode %[[ADD2]] {other = 3, rounding_mode = "floor"}
// CHECK-NEXT: %[[ARANGE2:.*]] = aten.arange.start_step {start = 0, end = 4, dtype = i64}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[DIV]] {size = [3, 1]}
// CHECK-NEXT: %[[ADD3:.*]] = aten.add.Tensor %[[VIEW]], %[[ARANGE2]]
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[DIV2]] {size = [3, 1]}
// CHECK-NEXT: %[[MINIMUM:.*]] = aten.minimum %[[ADD3]], %[[VIEW2]]
// CHECK-NEXT: %[[INDEX:.*]] = aten.index.Tensor %x, [none, none, %[[MINIMUM]]]
// CHECK-NEXT: %[[MAX:.*]], %[[MAX2:.*]] = aten.max.dim %[[INDEX]] {dim = -1}
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %[[MINIMUM]] {size = [2, 3, 3, 4]}
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %[[MAX2]] {dim = -1}
// CHECK-NEXT: %[[GATHER:.*]] = aten.gather %[[EXPAND]], %[[UNSQUEEZE]] {dim = -1}
// CHECK-NEXT: %[[SQUEEZE:.*]] = aten.squeeze.dims %[[GATHER]] {dim = [-1]}
// CHECK-NEXT: func.return %[[MAX]], %[[SQUEEZE]]
