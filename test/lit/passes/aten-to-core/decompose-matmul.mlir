// RUN: et-opt -p decompose --split-input-file %s | filecheck %s

// A linear layer is a product with the transposed weight; its bias is added.
func.func @forward(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = aten.linear %x, %w, %b : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %w {dims = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %x, %[[PERMUTE]] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MM]], %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %[[ADD]]

// -----

// Leading dimensions are rows of one product.
func.func @forward(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>) -> tensor<5x2x4xf32> {
  %0 = aten.linear %x, %w : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %w {dims = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [10, 3]} : (tensor<5x2x3xf32>) -> tensor<10x3xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[VIEW]], %[[PERMUTE]] : (tensor<10x3xf32>, tensor<3x4xf32>) -> tensor<10x4xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MM]] {size = [5, 2, 4]} : (tensor<10x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

// So they are where their number is known at run time only: the view makes it out, and is undone by the tensor's sizes.
func.func @forward(%x: tensor<?x2x3xf32>, %w: tensor<4x3xf32>) -> tensor<?x2x4xf32> {
  %0 = aten.linear %x, %w : (tensor<?x2x3xf32>, tensor<4x3xf32>) -> tensor<?x2x4xf32>
  func.return %0 : tensor<?x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[PERMUTE:.*]] = aten.permute %w {dims = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[SYM_SIZE:.*]] = aten.sym_size.int %x {dim = 0} : (tensor<?x2x3xf32>) -> i64
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [-1, 3]} : (tensor<?x2x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[VIEW]], %[[PERMUTE]] : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[MM]] {size = [%[[SYM_SIZE]], 2, 4]} : (tensor<?x4xf32>, i64) -> tensor<?x2x4xf32>
// CHECK-NEXT: func.return %[[VIEW2]]

// -----

// Vectors are a row and a column.
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %0 = aten.matmul %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[UNSQUEEZE:.*]] = aten.unsqueeze %x {dim = 0} : (tensor<3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[UNSQUEEZE2:.*]] = aten.unsqueeze %y {dim = 1} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[UNSQUEEZE]], %[[UNSQUEEZE2]] : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[MM]] {size = []} : (tensor<1x1xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %[[VIEW]]

// -----

// Equal batches are one batch.
func.func @forward(%x: tensor<6x5x2x3xf32>, %y: tensor<6x5x3x4xf32>) -> tensor<6x5x2x4xf32> {
  %0 = aten.matmul %x, %y : (tensor<6x5x2x3xf32>, tensor<6x5x3x4xf32>) -> tensor<6x5x2x4xf32>
  func.return %0 : tensor<6x5x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [30, 2, 3]} : (tensor<6x5x2x3xf32>) -> tensor<30x2x3xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %y {size = [30, 3, 4]} : (tensor<6x5x3x4xf32>) -> tensor<30x3x4xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW]], %[[VIEW2]] : (tensor<30x2x3xf32>, tensor<30x3x4xf32>) -> tensor<30x2x4xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[BMM]] {size = [6, 5, 2, 4]} : (tensor<30x2x4xf32>) -> tensor<6x5x2x4xf32>
// CHECK-NEXT: func.return %[[VIEW3]]

// -----

// Batches that broadcast are expanded, unless there is one matrix on the right.
func.func @forward(%x: tensor<5x2x3xf32>, %y: tensor<6x1x3x4xf32>, %z: tensor<1x4x7xf32>) -> tensor<6x5x2x7xf32> {
  %0 = aten.matmul %x, %y : (tensor<5x2x3xf32>, tensor<6x1x3x4xf32>) -> tensor<6x5x2x4xf32>
  %1 = aten.matmul %0, %z : (tensor<6x5x2x4xf32>, tensor<1x4x7xf32>) -> tensor<6x5x2x7xf32>
  func.return %1 : tensor<6x5x2x7xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[EXPAND:.*]] = aten.expand %x {size = [6, 5, -1, -1]} : (tensor<5x2x3xf32>) -> tensor<6x5x2x3xf32>
// CHECK-NEXT: %[[EXPAND2:.*]] = aten.expand %y {size = [6, 5, -1, -1]} : (tensor<6x1x3x4xf32>) -> tensor<6x5x3x4xf32>
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %[[EXPAND]] {size = [30, 2, 3]} : (tensor<6x5x2x3xf32>) -> tensor<30x2x3xf32>
// CHECK-NEXT: %[[VIEW2:.*]] = aten.view %[[EXPAND2]] {size = [30, 3, 4]} : (tensor<6x5x3x4xf32>) -> tensor<30x3x4xf32>
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %[[VIEW]], %[[VIEW2]] : (tensor<30x2x3xf32>, tensor<30x3x4xf32>) -> tensor<30x2x4xf32>
// CHECK-NEXT: %[[VIEW3:.*]] = aten.view %[[BMM]] {size = [6, 5, 2, 4]} : (tensor<30x2x4xf32>) -> tensor<6x5x2x4xf32>
// CHECK-NEXT: %[[VIEW4:.*]] = aten.view %z {size = [4, 7]} : (tensor<1x4x7xf32>) -> tensor<4x7xf32>
// CHECK-NEXT: %[[VIEW5:.*]] = aten.view %[[VIEW3]] {size = [60, 4]} : (tensor<6x5x2x4xf32>) -> tensor<60x4xf32>
// CHECK-NEXT: %[[MM:.*]] = aten.mm %[[VIEW5]], %[[VIEW4]] : (tensor<60x4xf32>, tensor<4x7xf32>) -> tensor<60x7xf32>
// CHECK-NEXT: %[[VIEW6:.*]] = aten.view %[[MM]] {size = [6, 5, 2, 7]} : (tensor<60x7xf32>) -> tensor<6x5x2x7xf32>
// CHECK-NEXT: func.return %[[VIEW6]]

// -----

// A factor of 0 says not to read what it multiplies, a factor of 1 multiplies nothing.
func.func @forward(%t: tensor<4xf32>, %x: tensor<5x2x3xf32>, %y: tensor<5x3x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x4xf32>) {
  %0 = aten.baddbmm %t, %x, %y {beta = 0} : (tensor<4xf32>, tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  %1 = aten.baddbmm %t, %x, %y {beta = 2} : (tensor<4xf32>, tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  func.return %0, %1 : tensor<5x2x4xf32>, tensor<5x2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[BMM:.*]] = aten.bmm %x, %y : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[BMM2:.*]] = aten.bmm %x, %y : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[MUL:.*]] = aten.mul.Scalar %t {other = 2}
// CHECK-NEXT: %[[ADD:.*]] = aten.add.Tensor %[[MUL]], %[[BMM2]] : (tensor<4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: func.return %[[BMM]], %[[ADD]]

// -----

// Products that are core stay.
func.func @forward(%b: tensor<4xf32>, %x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.addmm %b, %x, %y : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
// CHECK:      func.func @forward
// CHECK-NEXT: %[[ADDMM:.*]] = aten.addmm %b, %x, %y : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %[[ADDMM]]

// -----

// Beside a size that may be zero the view cannot make out another.
func.func @forward(%x: tensor<1x?x?xf32>, %y: tensor<?x4xf32>) -> tensor<1x?x4xf32> {
  %0 = aten.matmul %x, %y : (tensor<1x?x?xf32>, tensor<?x4xf32>) -> tensor<1x?x4xf32>
  func.return %0 : tensor<1x?x4xf32>
}
// CHECK:      func.func @forward
// CHECK:      %[[ROWS:.*]] = aten.sym_size.int %x {dim = 1}
// CHECK-NEXT: %[[COLUMNS:.*]] = aten.sym_size.int %x {dim = 2}
// CHECK-NEXT: %[[VIEW:.*]] = aten.view %x {size = [%[[ROWS]], %[[COLUMNS]]]}
// CHECK: %[[MM:.*]] = aten.mm %[[VIEW]],
// CHECK-NEXT: aten.view %[[MM]] {size = [1, %[[ROWS]], 4]}

// -----

func.func @forward(%x: tensor<2x?x?xf32>, %y: tensor<?x4xf32>) -> tensor<2x?x4xf32> {
  %0 = aten.matmul %x, %y : (tensor<2x?x?xf32>, tensor<?x4xf32>) -> tensor<2x?x4xf32>
  func.return %0 : tensor<2x?x4xf32>
}
// CHECK:      func.func @forward
// CHECK:      %[[ALL:.*]] = program.compute "mul" %{{.*}}, %{{.*}} : (i64, i64) -> i64
// CHECK-NEXT: aten.view %x {size = [%[[ALL]], %{{.*}}]}
