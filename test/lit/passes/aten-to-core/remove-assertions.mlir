// RUN: et-opt -p remove-assertions %s | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK-NOT: _assert_tensor_metadata
// CHECK: aten._assert_async.msg
func.func @forward(%x: tensor<4xf32>, %ok: tensor<i1>) -> tensor<4xf32> {
  aten._assert_tensor_metadata %x {dtype = f32} : (tensor<4xf32>) -> ()
  // What depends on values stays.
  aten._assert_async.msg %ok {assert_msg = "must hold"} : (tensor<i1>) -> ()
  func.return %x : tensor<4xf32>
}
