// RUN: et-opt --split-input-file --verify-diagnostics -p verify-aten %s

// expected-error@+1 {{[operator_c1] cannot read the schema type 'Matrix'}}
program.operator "mylib::foo(Matrix x) -> Tensor"

// -----

// expected-error@+1 {{[operator_c1] 'foo(Tensor x) -> Tensor' has no namespace}}
program.operator "foo(Tensor x) -> Tensor"

// -----

// expected-error@+1 {{[operator_c1] 'mylib::foo_(Tensor(a!) x) -> ()' is not functional: it writes to its argument 'x'}}
program.operator "mylib::foo_(Tensor(a!) x) -> ()"

// -----

// expected-error@+1 {{is not functional: it returns a view of an argument}}
program.operator "mylib::foo(Tensor(a) x) -> Tensor(a)"

// -----

// expected-error@+1 {{is not functional: it returns a value of type int, not a tensor}}
program.operator "mylib::foo(Tensor x) -> int"

// -----

// expected-error@+1 {{is not functional: it returns nothing}}
program.operator "mylib::foo(Tensor x) -> ()"

// -----

// expected-error@+1 {{[operator_c2] 'mylib::foo.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)' is not its out variant: its argument 'int n' is 'float n' there}}
program.operator "mylib::foo(Tensor x, float n) -> Tensor" out "mylib::foo.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)"

// -----

// expected-error@+1 {{it writes Tensor where the results are Tensor, Tensor}}
program.operator "mylib::foo(Tensor x) -> (Tensor, Tensor)" out "mylib::foo.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"

// -----

// expected-error@+1 {{'out' must be keyword-only}}
program.operator "mylib::foo(Tensor x) -> Tensor" out "mylib::foo_out(Tensor x, Tensor(a!) out) -> ()"

// -----

// expected-error@+1 {{it takes 2 arguments beside its outputs, not 1}}
program.operator "mylib::foo(Tensor x) -> Tensor" out "mylib::foo.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)"

// -----

// expected-error@+1 {{is not in the namespace 'mylib'}}
program.operator "mylib::foo(Tensor x) -> Tensor" out "other::foo.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"

// -----

// expected-error@+1 {{[operator_c3] the operator aten::relu exists already}}
program.operator "aten::relu(Tensor self) -> Tensor"

// -----

program.operator "mylib::foo(Tensor x) -> Tensor"
// expected-error@+1 {{[program_c9] the operator of aten.mylib.foo is declared already}}
program.operator "mylib::foo(Tensor x, int n) -> Tensor"

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{Operation aten.mylib.foo is not registered; declare custom operators with program.operator before use}}
  %0 = aten.mylib.foo %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

program.operator "mylib::foo(Tensor x, int n) -> Tensor"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[property_c1] missing property 'n' of schema type int}}
  %0 = aten.mylib.foo %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

program.operator "mylib::foo(Tensor x, int n) -> Tensor"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'n' takes a literal of schema type int}}
  %0 = aten.mylib.foo %x {n = 0.5} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

program.operator "mylib::foo(Tensor x) -> (Tensor, Tensor)"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{[result_c1] expected 2 results, got 1}}
  %0 = aten.mylib.foo %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
