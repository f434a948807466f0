// RUN: et-opt -p legalize,cse,dce --split-input-file %s | filecheck %s

// Boxes in order of their scores; whom each overlaps of those after it; a loop over these rows. A quotient of two numbers
// of f32 is above 0.1 if it is above the next number of f32 that is not.
func.func @suppression(%boxes: tensor<6x4xf32>, %scores: tensor<6xf32>) -> tensor<?xi64, #program.sizes<u0>> attributes {program.ranges = #program.ranges<u0 from 0 to 6>} {
  %0 = edge.torchvision.nms %boxes, %scores {iou_threshold = 0.1} : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<?xi64, #program.sizes<u0>>
  func.return %0 : tensor<?xi64, #program.sizes<u0>>
}
// CHECK:      func.func @suppression
// CHECK:      edge.topk %scores
// CHECK:      %[[ORDER:.*]] = edge.gather
// CHECK-NEXT: %[[SORTED:.*]] = edge.index_select %boxes, %[[ORDER]] {dim = 0}
// CHECK:      %[[RATIO:.*]] = edge.div.Tensor
// CHECK:      %[[LATER:.*]] = edge.lt.Tensor
// CHECK-NEXT: %[[OVER:.*]] = edge.gt.Scalar %[[RATIO]] {other = 0.09999999403953552}
// CHECK-NEXT: %[[ROWS:.*]] = edge.logical_and %[[OVER]], %[[LATER]]
// CHECK:      %[[ALL:.*]] = edge.full {size = [6], fill_value = 1
// CHECK:      %[[KEPT:.*]] = control.scan(%[[ALL]]) over(%[[ROWS]], %{{.*}})
// CHECK-NEXT: ^bb0(%[[STATE:.*]]: tensor<6xi1>, %[[ROW:.*]]: tensor<6xi1>, %[[PLACE:.*]]: tensor<1xi64>):
// CHECK-NEXT:   %[[SELF:.*]] = edge.index_select %[[STATE]], %[[PLACE]] {dim = 0}
// CHECK-NEXT:   %[[FALLEN:.*]] = edge.logical_and %[[ROW]], %[[SELF]]
// CHECK-NEXT:   %[[OTHERS:.*]] = edge.logical_not %[[FALLEN]]
// CHECK-NEXT:   %[[NEXT:.*]] = edge.logical_and %[[STATE]], %[[OTHERS]]
// CHECK-NEXT:   control.yield %[[NEXT]]
// CHECK:      %[[PLACES:.*]] = edge.nonzero %[[KEPT]]
// CHECK-NEXT: %[[FLAT:.*]] = edge.view_copy %[[PLACES]] {size = [-1]}
// CHECK-NEXT: edge.index_select %[[ORDER]], %[[FLAT]] {dim = 0}

// -----

// Of a number that is known at run time only, it is left to the runtime.
func.func @dynamic(%boxes: tensor<?x4xf32, #program.sizes<s0>>, %scores: tensor<?xf32, #program.sizes<s0>>) -> tensor<?xi64, #program.sizes<u0>> attributes {program.ranges = #program.ranges<s0 from 0 to 6, u0 from 0 to 6>} {
  %0 = edge.torchvision.nms %boxes, %scores {iou_threshold = 0.5} : (tensor<?x4xf32, #program.sizes<s0>>, tensor<?xf32, #program.sizes<s0>>) -> tensor<?xi64, #program.sizes<u0>>
  func.return %0 : tensor<?xi64, #program.sizes<u0>>
}
// CHECK:      func.func @dynamic
// CHECK-NEXT: edge.torchvision.nms
