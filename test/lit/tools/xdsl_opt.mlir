// The dialects and passes of this project in the stock tool, through the entry point `xdsl.universe`.
// RUN: xdsl-opt --split-input-file %s | filecheck %s --check-prefix=TEXT
// RUN: xdsl-opt --split-input-file -p decompose,et-canonicalize,et-cse %s | filecheck %s --check-prefix=PASSES
// RUN: xdsl-opt --split-input-file %s | xdsl-opt --split-input-file | filecheck %s --check-prefix=TEXT

// TEXT-LABEL: @layer
// TEXT:       %weight = program.get @w : tensor<2x4xf32>
// TEXT-NEXT:  aten.linear %x, %weight : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
// PASSES-LABEL: @layer
// PASSES:       %weight = program.get @w : tensor<2x4xf32>
// PASSES-NEXT:  aten.permute %weight {dims = [1, 0]}
// PASSES-NEXT:  aten.mm %x
program.parameter @w : tensor<2x4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
func.func @layer(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %weight = program.get @w : tensor<2x4xf32>
  %0 = aten.linear %x, %weight : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// -----

// TEXT-LABEL: @edge
// TEXT:       edge.relu %x : tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>
func.func @edge(%x: tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>> {
  %0 = edge.relu %x : tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>
  func.return %0 : tensor<1x2x4x4xf32, #edge.dim_order<0, 2, 3, 1>>
}

// -----

// TEXT-LABEL: executorch.plan @planned
// TEXT:       executorch.kernel_call "aten::relu.out"(%x) outs(%0)
executorch.plan @planned {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %0 = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  executorch.return %0
}

// -----

// TEXT-LABEL: @partitioned
// TEXT:       backend.partition "demo"(%x)
func.func @partitioned(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = backend.partition "demo"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = edge.relu %a : tensor<4xf32>
    backend.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
