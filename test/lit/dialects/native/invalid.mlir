// RUN: et-opt --split-input-file --verify-diagnostics %s

func.func @kernel_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[kernel_c1] the arguments of the body differ from the inputs}}
  %0 = native.kernel "pointwise"(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    native.yield %a : tensor<5xf32>
  }
  func.return
}

// -----

func.func @kernel_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{[kernel_c2] the values that the body yields differ from the results}}
  %0 = native.kernel "pointwise"(%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    native.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{[view_c1]}}
  %0 = native.view %x : tensor<4xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @strided_load_c1(%x: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{[strided_load_c1] 1 indices for 2 dimensions}}
  %0 = native.strided_load %x[%i] dim 0 stride 1 : memref<?x?xf32>, vector<3xf32>
  func.return
}

// -----

func.func @strided_load_c2(%x: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{[strided_load_c2] the dimension or the stride is out of range}}
  %0 = native.strided_load %x[%i, %i] dim 2 stride 1 : memref<?x?xf32>, vector<3xf32>
  func.return
}

// -----

func.func @strided_load_c2(%x: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{[strided_load_c2] the dimension or the stride is out of range}}
  %0 = native.strided_load %x[%i, %i] dim 1 stride 0 : memref<?x?xf32>, vector<3xf32>
  func.return
}

// -----

func.func @strided_load_c3(%x: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{[strided_load_c3] a load of vector<3x2xf32> from memref<?x?xf32>}}
  %0 = native.strided_load %x[%i, %i] dim 1 stride 1 : memref<?x?xf32>, vector<3x2xf32>
  func.return
}

// -----

func.func @outer_product_c1(%a: vector<3xf32>, %b: vector<4xf32>, %c: vector<4x3xf32>) {
  // expected-error@+1 {{[outer_product_c1] vector<3xf32> by vector<4xf32> does not give vector<4x3xf32>}}
  %0 = native.outer_product %a, %b, %c : vector<3xf32>, vector<4xf32>, vector<4x3xf32> -> vector<4x3xf32>
  func.return
}

// -----

func.func @dot_c1(%a: vector<4xf32>) {
  // expected-error@+1 {{[dot_c1] sums of bytes in vector<4xf32>}}
  %0 = native.dot %a, %a, %a : vector<4xf32>
  func.return
}

// -----

func.func @concat_c1(%a: vector<3xf32>, %b: vector<4xf32>) {
  // expected-error@+1 {{[concat_c1] vector<3xf32>, vector<4xf32> make no vector<8xf32>}}
  %0 = native.concat %a, %b : (vector<3xf32>, vector<4xf32>) -> vector<8xf32>
  func.return
}

// -----

func.func @compare_c1(%a: vector<3xf32>) {
  // expected-error@+1 {{[compare_c1] 'lt' is not one of oeq,}}
  %0 = native.compare "lt", %a, %a : vector<3xf32>, vector<3xf32> -> vector<3xi1>
  func.return
}

// -----

func.func @compare_c2(%a: vector<3xf32>) {
  // expected-error@+1 {{[compare_c2] vector<3xf32> compared with vector<3xf32> does not give vector<4xi1>}}
  %0 = native.compare "olt", %a, %a : vector<3xf32>, vector<3xf32> -> vector<4xi1>
  func.return
}

// -----

func.func @prefetch_c1(%x: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{[prefetch_c1] 1 indices for 2 dimensions}}
  native.prefetch %x[%i] : memref<?x?xf32>
  func.return
}

// -----

func.func @select_c1(%m: vector<4xi1>, %a: vector<3xf32>) {
  // expected-error@+1 {{[select_c1] vector<4xi1> does not select elements of vector<3xf32>}}
  %0 = native.select %m, %a, %a : vector<4xi1>, vector<3xf32>
  func.return
}

// -----

func.func @part_c1(%n: index) {
  // expected-error@+1 {{[part_c1] 0 threads}}
  %first, %last, %number = native.part %n most 0
  func.return
}

// -----

func.func @convert_c1(%a: vector<3xf32>) {
  // expected-error@+1 {{[convert_c1] 'round' is not one of}}
  %0 = native.convert "round" %a : vector<3xf32> -> vector<3xi32>
  func.return
}

// -----

func.func @convert_c2(%a: vector<3xf32>) {
  // expected-error@+1 {{[convert_c2] vector<3xf32> is not converted to vector<4xi32>}}
  %0 = native.convert "fptosi" %a : vector<3xf32> -> vector<4xi32>
  func.return
}
