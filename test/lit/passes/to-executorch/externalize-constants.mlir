// RUN: et-opt -p 'externalize-constants{match="enc.*" file="enc.ptd"},externalize-constants{min_bytes=16 file="rest.ptd"}' %s | filecheck %s
// RUN: not et-opt -p 'externalize-constants{file="a/b.ptd"}' %s 2>&1 | filecheck %s --check-prefix=FOLDER
// FOLDER: 'a/b.ptd' is not a file name without folders

// CHECK: program.parameter @enc.weight : tensor<4xf32> = {{.*}} {executorch.data_file = "enc.ptd"}
program.parameter @enc.weight : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
// CHECK: program.parameter @dec.weight : tensor<4xf32> = {{.*}} {executorch.data_file = "rest.ptd"}
program.parameter @dec.weight : tensor<4xf32> = #program.data<f32, [5.0, 6.0, 7.0, 8.0]>
// What is small, what has no bytes here and what is state stays.
// CHECK: program.parameter @dec.bias : tensor<2xf32> = #program.data<f32, [1.0, 1.0]>{{$}}
program.parameter @dec.bias : tensor<2xf32> = #program.data<f32, [1.0, 1.0]>
// CHECK: program.parameter @elsewhere : tensor<4xf32>{{$}}
program.parameter @elsewhere : tensor<4xf32>
// CHECK: program.buffer mutable @cache : tensor<4xf32> = {{.*}}0]>{{$}}
program.buffer mutable @cache : tensor<4xf32> = #program.data<f32, [1.0, 1.0, 1.0, 1.0]>

// What backends share goes the same way.
// CHECK: backend.named_data "enc.tiles" align 64 = {{.*}} {executorch.data_file = "enc.ptd"}
backend.named_data "enc.tiles" align 64 = #program.data<ui8, [1, 2]>
// CHECK: backend.named_data "small" = #program.data<ui8, [1, 2]>{{$}}
backend.named_data "small" = #program.data<ui8, [1, 2]>
// CHECK: backend.named_data "placed" = {{.*}} {executorch.data_file = "mine.ptd"}
backend.named_data "placed" = #program.data<ui8, [1, 2]> {executorch.data_file = "mine.ptd"}

executorch.plan @forward {arenas = array<i64: 32>} {
  // CHECK: executorch.input
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  // CHECK-NEXT: executorch.constant external @enc.weight
  %e = executorch.constant @enc.weight : tensor<4xf32>
  // CHECK-NEXT: executorch.constant external @dec.weight
  %d = executorch.constant anonymous @dec.weight : tensor<4xf32>
  // CHECK-NEXT: executorch.constant @dec.bias
  %b = executorch.constant @dec.bias : tensor<2xf32>
  // CHECK-NEXT: executorch.constant external @elsewhere
  %o = executorch.constant external @elsewhere : tensor<4xf32>
  // CHECK-NEXT: executorch.state @cache
  %c = executorch.state @cache {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%x, %e, 1) outs(%x)
  executorch.return %x
}
