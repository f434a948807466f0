// RUN: et-opt -p 'partition{backend=native}' --split-input-file %s | filecheck %s

// A size without an expression cannot be told to machine code: the op stays, whatever its form.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT:    %0 = edge.flip %x {dims = [0]} : tensor<?xf32>
// CHECK-NEXT:    %1 = edge.gather %0, %places {dim = 0}
// CHECK-NEXT:    func.return %1
func.func @unknown(%x: tensor<?xf32>, %places: tensor<?xi64>) -> tensor<?xf32> {
  %0 = edge.flip %x {dims = [0]} : tensor<?xf32>
  %1 = edge.gather %0, %places {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @known
// CHECK-NEXT:    %0 = backend.partition "NativeBackend"
// CHECK:           edge.flip
func.func @known(%x: tensor<?xf32, #program.sizes<s0>>) -> tensor<?xf32, #program.sizes<s0>>
    attributes {program.ranges = #program.ranges<s0 from 1 to 5>} {
  %0 = edge.flip %x {dims = [0]} : tensor<?xf32, #program.sizes<s0>>
  func.return %0 : tensor<?xf32, #program.sizes<s0>>
}
