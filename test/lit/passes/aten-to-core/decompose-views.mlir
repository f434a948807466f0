// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = aten.flatten.using_ints %x {start_dim = 1} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %1 = aten.unflatten.int %0 {dim = -1, sizes = [4, -1]} : (tensor<2x12xf32>) -> tensor<2x4x3xf32>
  %2 = aten.reshape %1 {shape = [2, 4, 3]} : tensor<2x4x3xf32>
  func.return %2 : tensor<2x4x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [2, 12]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[VIEW]] {size = [2, 4, 3]} : (tensor<2x12xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

func.func @forward(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = aten.transpose.int %x {dim0 = 1, dim1 = -1} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = aten.movedim.int %0 {source = 1, destination = 0} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  func.return %1 : tensor<4x2x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %x {dims = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[PERMUTE2:.*]] = aten.permute %[[PERMUTE]] {dims = [1, 0, 2]} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT: func.return %[[PERMUTE2]]

// -----

// A split of any kind is one op; a split into one part is the operand.
func.func @forward(%x: tensor<7x2xf32>) -> (tensor<3x2xf32>, tensor<1x2xf32>, tensor<7x2xf32>) {
  %0, %1, %2 = aten.chunk %x {chunks = 3} : (tensor<7x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<1x2xf32>)
  %3 = aten.split.Tensor %x {split_size = 9} : (tensor<7x2xf32>) -> tensor<7x2xf32>
  func.return %0, %2, %3 : tensor<3x2xf32>, tensor<1x2xf32>, tensor<7x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SPLIT_WITH_SIZES:.*]], %{{.*}}, %[[SPLIT_WITH_SIZES3:.*]] = aten.split_with_sizes %x {split_sizes = [3, 3, 1]} : (tensor<7x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<1x2xf32>)
// CHECK-NEXT: func.return %[[SPLIT_WITH_SIZES]], %[[SPLIT_WITH_SIZES3]], %x

// -----

// Stacked tensors are concatenated, and their dimension split off.
func.func @forward(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x2x3xf32>, tensor<2x3x2xf32>) {
  %0 = aten.stack [%x, %y] {dim = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2x3xf32>
  %1 = aten.stack [%x, %y] {dim = -1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  func.return %0, %1 : tensor<2x2x3xf32>, tensor<2x3x2xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[CAT:.*]] = aten.cat [%x, %y] {dim = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[CAT]] {size = [2, 2, 3]} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = 2} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %[[UNSQUEEZE2:.*]] = aten.unsqueeze %y {dim = 2} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %[[CAT2:.*]] = aten.cat [%[[UNSQUEEZE]], %[[UNSQUEEZE2]]] {dim = 2} : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x2xf32>
// CHECK-NEXT: func.return %[[VIEW]], %[[CAT2]]

// -----

// Views of sizes known at run time only.
func.func @forward(%x: tensor<?x3x4xf32>, %y: tensor<?x1xf32>) -> (tensor<?x12xf32>, tensor<?x3xf32>) {
  %0 = aten.flatten.using_ints %x {start_dim = 1} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %2 = aten.select.int %x {dim = 2, index = 0} : (tensor<?x3x4xf32>) -> tensor<?x3xf32>
  %3 = aten.expand_as %y, %2 : (tensor<?x1xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %0, %3 : tensor<?x12xf32>, tensor<?x3xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[SYM_SIZE:.*]] = aten.sym_size.int %x {dim = 0} : (tensor<?x3x4xf32>) -> i64
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [%[[SYM_SIZE]], 12]} : (tensor<?x3x4xf32>, i64) -> tensor<?x12xf32>
// CHECK-NEXT: %[[SELECT:.*]] = aten.select.int %x {dim = 2, index = 0} : (tensor<?x3x4xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: %[[SYM_SIZE2:.*]] = aten.sym_size.int %[[SELECT]] {dim = 0} : (tensor<?x3xf32>) -> i64
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %y {size = [%[[SYM_SIZE2]], 3]} : (tensor<?x1xf32>, i64) -> tensor<?x3xf32>
// CHECK-NEXT: func.return %[[VIEW]], %[[EXPAND]]

// -----

// Views that are core stay, and so do those that need sizes which are not known.
func.func @forward(%x: tensor<2x?x4xf32>) -> tensor<1x2x?x4xf32> {
  %0 = aten.unsqueeze %x {dim = 0} : (tensor<2x?x4xf32>) -> tensor<1x2x?x4xf32>
  %1 = aten.squeeze %x : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  func.return %0 : tensor<1x2x?x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = 0} : (tensor<2x?x4xf32>) -> tensor<1x2x?x4xf32>
// CHECK-NEXT: %{{.*}} = aten.squeeze %x
// CHECK-NEXT: func.return %[[UNSQUEEZE]]
