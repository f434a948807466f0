// RUN: et-opt -p expand-math %s | filecheck %s

// CHECK:      func.func @vectors(
// CHECK-NOT:    math.exp
// CHECK-NOT:    math.tanh
// CHECK:        %{{.*}} = vector.fma
// CHECK:        %{{.*}} = math.copysign
// CHECK:        func.return
func.func @vectors(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  %z = math.tanh %y : vector<8xf32>
  func.return %z : vector<8xf32>
}

// Numbers are no vectors, and roots are instructions of the machine.
// CHECK:      func.func @others(
// CHECK-NEXT:   %y = math.exp %x : f32
// CHECK-NEXT:   %w = math.sqrt %v : vector<8xf32>
func.func @others(%x: f32, %v: vector<8xf32>) -> (f32, vector<8xf32>) {
  %y = math.exp %x : f32
  %w = math.sqrt %v : vector<8xf32>
  func.return %y, %w : f32, vector<8xf32>
}
