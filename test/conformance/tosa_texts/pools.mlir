func.func @main(%x: tensor<1x7x7x3xi8>) -> (tensor<1x4x4x3xi8>, tensor<1x4x4x3xi8>) {
  %a = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %b = "tosa.const"() <{values = dense<-5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = "tosa.avg_pool2d"(%x, %a, %b) <{kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, pad = array<i64: 1, 1, 1, 1>, acc_type = i32}> : (tensor<1x7x7x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x3xi8>
  %1 = "tosa.max_pool2d"(%x) <{kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, pad = array<i64: 1, 1, 1, 1>, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<1x7x7x3xi8>) -> tensor<1x4x4x3xi8>
  func.return %0, %1 : tensor<1x4x4x3xi8>, tensor<1x4x4x3xi8>
}
