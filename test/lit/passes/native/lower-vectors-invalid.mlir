// RUN: et-opt -p lower-vectors --split-input-file --verify-diagnostics %s

func.func @constant() {
  // expected-error@+1 {{the elements of the constant differ}}
  %v = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
  func.return
}

// -----

// expected-error@+1 {{an argument is a vector}}
func.func @argument(%x: vector<32xf32>) {
  func.return
}
