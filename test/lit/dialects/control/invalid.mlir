// RUN: et-opt --verify-diagnostics --split-input-file %s

func.func @cond_c1(%x: tensor<4xf32>, %p: tensor<2xi1>) {
  // expected-error@+1 {{[cond_c1] tensor<2xi1> is not a single boolean}}
  control.cond %p : tensor<2xi1> -> () {
    control.yield
  } else {
    control.yield
  }
  func.return
}

// -----

func.func @cond_c2(%x: tensor<4xf32>, %p: tensor<i1>, %y: tensor<5xf32>) {
  // expected-error@+1 {{[cond_c2] a branch yields (tensor<5xf32>), expected what fits the results (tensor<4xf32>)}}
  %r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
    control.yield %x : tensor<4xf32>
  } else {
    control.yield %y : tensor<5xf32>
  }
  func.return
}

// -----

func.func @cond_c3(%x: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{[cond_c3] a branch takes no arguments}}
  control.cond %p : tensor<i1> -> () {
  ^bb0(%a: i64):
    control.yield
  } else {
    control.yield
  }
  func.return
}

// -----

func.func @while_c1(%x: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{[while_c1] the initial values are (tensor<4xf32>)}}
  %r = control.while (%x) : (tensor<4xf32>) -> (tensor<i64>) {
  ^bb0(%a: tensor<i64>):
    %c = aten.lt.Scalar %a {other = 5} : (tensor<i64>) -> tensor<i1>
    control.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>):
    control.yield %a : tensor<i64>
  }
  func.return
}

// -----

func.func @while_c2(%i: tensor<i64>) {
  // expected-error@+1 {{[while_c2] tensor<i64> is not a single boolean}}
  %r = control.while (%i) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%a: tensor<i64>):
    control.yield %a : tensor<i64>
  } do {
  ^bb0(%a: tensor<i64>):
    control.yield %a : tensor<i64>
  }
  func.return
}

// -----

func.func @while_c3(%i: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error@+1 {{[while_c3] the body yields (tensor<4xf32>)}}
  %r = control.while (%i) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%a: tensor<i64>):
    %c = aten.lt.Scalar %a {other = 5} : (tensor<i64>) -> tensor<i1>
    control.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>):
    control.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @while_c4(%i: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error@+1 {{[while_c4] the results are (tensor<4xf32>), but (tensor<i64>) is carried}}
  %r = control.while (%i) : (tensor<i64>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<i64>):
    %c = aten.lt.Scalar %a {other = 5} : (tensor<i64>) -> tensor<i1>
    control.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>):
    control.yield %a : tensor<i64>
  }
  func.return
}

// -----

func.func @map_c1(%x: tensor<f32>) {
  // expected-error@+1 {{[map_c1] tensor<f32> has no first dimension to iterate over}}
  %r = control.map over (%x) : (tensor<f32>) -> (tensor<1xf32>) {
  ^bb0(%a: tensor<f32>):
    control.yield %a : tensor<f32>
  }
  func.return
}

// -----

func.func @map_c2(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{[map_c2] the body takes (tensor<3xf32>), expected slices: (tensor<4xf32>)}}
  %r = control.map over (%x) : (tensor<3x4xf32>) -> (tensor<3x3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    control.yield %a : tensor<3xf32>
  }
  func.return
}

// -----

func.func @map_c3(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{[map_c3] the body yields (tensor<4xf32>), expected slices of the results: (tensor<5xf32>)}}
  %r = control.map over (%x) : (tensor<3x4xf32>) -> (tensor<3x5xf32>) {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @map_c4(%x: tensor<3x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{[map_c4] the lengths differ: [2, 3]}}
  %r = control.map over (%x, %y) : (tensor<3x4xf32>, tensor<2x4xf32>) -> (tensor<3x4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @scan_c5(%h: tensor<4xf32>, %x: tensor<3x4xf32>) {
  // expected-error@+1 {{[scan_c5] the body yields the state (tensor<3x4xf32>)}}
  %s = control.scan (%h) over (%x) : (tensor<4xf32>) over (tensor<3x4xf32>) -> (tensor<4xf32>) stacked () {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    control.yield %x : tensor<3x4xf32>
  }
  func.return
}
