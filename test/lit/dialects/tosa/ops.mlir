// RUN: et-opt %s | et-opt | filecheck %s

// CHECK-LABEL: func.func @ops
// CHECK-NEXT:    %0 = "tosa.const_shape"() <{values = dense<[3, 2]> : tensor<2xindex>}> : () -> !tosa.shape<2>
// CHECK-NEXT:    %1 = "tosa.reshape"(%x, %0) : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<3x2xf32>
// CHECK-NEXT:    %2 = "tosa.clamp"(%1) <{min_val = 0.000000e+00 : f32, max_val = 6.000000e+00 : f32, nan_mode = #tosa.nan_mode<PROPAGATE>}>
// CHECK-NEXT:    %3 = "tosa.const"() <{values = dense<1.000000e+00> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
// CHECK-NEXT:    %4 = "tosa.add"(%2, %3) : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    %5 = "tosa.cast"(%4) : (tensor<3x2xf32>) -> tensor<3x2xf16>
func.func @ops(%x: tensor<2x3xf32>) -> tensor<3x2xf16> {
  %0 = "tosa.const_shape"() <{values = dense<[3, 2]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %1 = "tosa.reshape"(%x, %0) : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<3x2xf32>
  %2 = "tosa.clamp"(%1) <{min_val = 0.0 : f32, max_val = 6.0 : f32, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = "tosa.const"() <{values = dense<1.0> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
  %4 = "tosa.add"(%2, %3) : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %5 = "tosa.cast"(%4) : (tensor<3x2xf32>) -> tensor<3x2xf16>
  func.return %5 : tensor<3x2xf16>
}
