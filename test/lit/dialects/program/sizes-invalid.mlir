// RUN: et-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{[ranges_c2] s0 is from 4 to 2: it can be no number}}
func.func @ranges_c2() attributes {program.ranges = #program.ranges<s0 from 4 to 2>} {
  func.return
}

// -----

// expected-error@+1 {{[ranges_c1] the range of s0 is stated twice}}
func.func @ranges_c1() attributes {program.ranges = #program.ranges<s0 from 4, s0 to 8>} {
  func.return
}

// -----

// expected-error@+1 {{[sizes_c1] says nothing of any size: drop the encoding}}
func.func @sizes_c1(%x: tensor<?x?xf32, #program.sizes<?, ?>>) {
  func.return
}

// -----

// expected-error@+1 {{a size is divided by 0}}
func.func @division(%x: tensor<?xf32, #program.sizes<s0 floordiv 0>>) {
  func.return
}

// -----

// The sizes differ by a number, whatever the symbol is.
func.func @result_c2(%x: tensor<?x4xf32, #program.sizes<s0>>) attributes {program.ranges = #program.ranges<s0 from 2>} {
  // expected-error@+1 {{[result_c2] result types are tensor<?x4xf32, #program.sizes<s0 + 1>>, expected tensor<?x4xf32, #program.sizes<s0>> for these operands}}
  %0 = aten.relu %x : (tensor<?x4xf32, #program.sizes<s0>>) -> tensor<?x4xf32, #program.sizes<s0 + 1>>
  func.return
}

// -----

// A size of 0 is known beside those that are not.
func.func @result_c2_empty(%x: tensor<?x4xf32, #program.sizes<s0>>) attributes {program.ranges = #program.ranges<s0 from 2>} {
  // expected-error@+1 {{[result_c2] result types are tensor<?x1xf32, #program.sizes<s0>>, expected tensor<?x0xf32, #program.sizes<s0>> for these operands}}
  %0 = aten.slice.Tensor %x {dim = 1, start = 4, end = 4} : (tensor<?x4xf32, #program.sizes<s0>>) -> tensor<?x1xf32, #program.sizes<s0>>
  func.return
}

// -----

// Sizes that are never equal do not go together.
func.func @operand_c3(%x: tensor<?xf32, #program.sizes<s0>>, %y: tensor<?xf32, #program.sizes<s0 + 2>>)
    attributes {program.ranges = #program.ranges<s0 from 2>} {
  // expected-error@+1 {{[operand_c3] sizes s0 and s0 + 2 do not broadcast}}
  %0 = aten.add.Tensor %x, %y {alpha = 1} : (tensor<?xf32, #program.sizes<s0>>, tensor<?xf32, #program.sizes<s0 + 2>>) -> tensor<?xf32>
  func.return
}
