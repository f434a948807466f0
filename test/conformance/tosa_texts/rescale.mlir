func.func @main(%x: tensor<64x3xi32>) -> (tensor<64x3xi8>, tensor<64x3xi16>, tensor<64x3xi32>) {
  %m = "tosa.const"() <{values = dense<[1073741824, 2147483647, 1234567891]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %s = "tosa.const"() <{values = dense<[33, 62, 29]> : tensor<3xi8>}> : () -> tensor<3xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %a = "tosa.const"() <{values = dense<-7> : tensor<1xi8>}> : () -> tensor<1xi8>
  %b = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %0 = "tosa.rescale"(%x, %m, %s, %z, %a) <{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = true, input_unsigned = false, output_unsigned = false}> : (tensor<64x3xi32>, tensor<3xi32>, tensor<3xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<64x3xi8>
  %1 = "tosa.rescale"(%x, %m, %s, %z, %b) <{scale32 = true, rounding_mode = #tosa.rounding_mode<DOUBLE_ROUND>, per_channel = true, input_unsigned = false, output_unsigned = false}> : (tensor<64x3xi32>, tensor<3xi32>, tensor<3xi8>, tensor<1xi32>, tensor<1xi16>) -> tensor<64x3xi16>
  %2 = "tosa.rescale"(%x, %m, %s, %z, %z) <{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = true, input_unsigned = false, output_unsigned = false}> : (tensor<64x3xi32>, tensor<3xi32>, tensor<3xi8>, tensor<1xi32>, tensor<1xi32>) -> tensor<64x3xi32>
  func.return %0, %1, %2 : tensor<64x3xi8>, tensor<64x3xi16>, tensor<64x3xi32>
}
