// RUN: et-opt %s | et-opt | et-opt -p verify-aten | filecheck %s

// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %x: tensor<?x4x?xf32, #program.sizes<s0, 2*s0 + 1>>
// CHECK-SAME: program.ranges = #program.ranges<s0 from 2 to 128>
func.func @sizes(%x: tensor<?x4x?xf32, #program.sizes<s0, s0 + 1 + s0>>)
    attributes {program.ranges = #program.ranges<s0 from 2 to 128>} {
  // CHECK: aten.relu %x : tensor<?x4x?xf32, #program.sizes<s0, 2*s0 + 1>>
  %0 = aten.relu %x : tensor<?x4x?xf32, #program.sizes<s0, 2*s0 + 1>>
  // CHECK: -> tensor<?x4xf32, #program.sizes<2*s0*s0 + s0>>
  %1 = aten.view %x {size = [-1, 4]} : (tensor<?x4x?xf32, #program.sizes<s0, 2*s0 + 1>>) -> tensor<?x4xf32, #program.sizes<s0*(2*s0 + 1)>>
  func.return
}

// CHECK-LABEL: func.func @expressions(
// CHECK-SAME: tensor<?xf32, #program.sizes<(s0 + 1) floordiv 2>>
// CHECK-SAME: tensor<?xf32, #program.sizes<3*(s0 floordiv 2) + 1>>
// CHECK-SAME: tensor<?xf32, #program.sizes<s0*u1 - 4>>
// CHECK-SAME: tensor<?xf32, #program.sizes<max(u1, s0 mod 3, 4)>>
// CHECK-SAME: tensor<?x?xf32, #program.sizes<?, min(s0, 4)>>
// CHECK-SAME: tensor<?xf32>
// CHECK-SAME: program.ranges = #program.ranges<s0 from 2 to 64, u1 from 0, n>
func.func @expressions(
    %a: tensor<?xf32, #program.sizes<(1 + s0) floordiv 2>>, %b: tensor<?xf32, #program.sizes<(s0 floordiv 2) * 3 + 1>>,
    %c: tensor<?xf32, #program.sizes<-4 + u1 * s0>>, %d: tensor<?xf32, #program.sizes<max(4, s0 mod 3, u1, 2)>>,
    %e: tensor<?x?xf32, #program.sizes<?, min(s0, 4)>>, %f: tensor<?xf32>
) attributes {program.ranges = #program.ranges<s0 from 2 to 64, u1 from 0, n>} {
  func.return
}
