// Programs for processors without a runtime.
// RUN: et-compile -q %s --target cortex-m4 --emit c-header --print-pipeline | filecheck %s --check-prefix=PIPELINE
// RUN: et-compile -q %s --target cortex-m4 --emit c-header | filecheck %s --check-prefix=HEADER
// RUN: et-compile -q %s --target cortex-m4 --emit asm | filecheck %s --check-prefix=ASM
// RUN: not et-compile -q %s --target cortex-m4 --emit object 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not et-compile -q %s --target cortex-m4 --emit object -o %t.h 2>&1 | filecheck %s --check-prefix=SAME
// RUN: not et-compile -q %s --target cortex-m4 --emit edge 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not et-compile -q %s --target cortex-m4 --emit asm --backend nested 2>&1 | filecheck %s --check-prefix=BACKEND
// RUN: not et-compile -q %s --emit object -o %t.o 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: et-compile %s --target cortex-m4 --emit object -o %t.o --prefix et_compile_freestanding 2>&1 | filecheck %s --check-prefix=SUMMARY
// RUN: filecheck %s --check-prefix=HEADER < %t.h
// RUN: et-compile -q %s --target cortex-m4 --emit archive -o %t.a --memory 'flash:id=1,size=4K;ram:id=2,size=1K'
// RUN: et-compile %s --target cortex-m4 --emit archive -o %t.a --memory 'flash:id=1,size=4K;ram:id=2,size=1K' 2>&1 | filecheck %s --check-prefix=PLACES
// RUN: not et-compile -q %s --target cortex-m4 --emit archive -o %t.a --memory 'flash:id=1,size=10;ram:id=2' 2>&1 | filecheck %s --check-prefix=FLASH
// RUN: not et-compile -q %s --target cortex-m4 --emit archive -o %t.a --memory 'flash:id=1;dtcm:id=2,size=3;sram:id=3,size=4' 2>&1 | filecheck %s --check-prefix=STACK
// RUN: not et-compile -q %s --target cortex-m4 --emit archive -o %t.a --memory 'ram:id=2' 2>&1 | filecheck %s --check-prefix=BANKS
// RUN: et-compile -q %s --target riscv64gc --emit asm --pic | filecheck %s --check-prefix=PIC
// RUN: not et-compile -q %s --target wasm32 --emit asm --pic 2>&1 | filecheck %s --check-prefix=WASM
// RUN: not et-compile -q %s --emit edge --pic 2>&1 | filecheck %s --check-prefix=NO-OBJECT

// PIC: .globl et_compile_freestanding_forward
// WASM: --target wasm32: WebAssembly has no addresses of code, leave out --pic
// NO-OBJECT: --pic applies to objects only: give a processor as --target

// The program stops at the edge level.
// PIPELINE: edge:
// PIPELINE-NOT: executorch:

// HEADER: #define ET_COMPILE_FREESTANDING_ARENA_BYTES 0
// HEADER: #define ET_COMPILE_FREESTANDING_X_COUNT 12
// HEADER: #define ET_COMPILE_FREESTANDING_X_SHAPE {3, 4}
// HEADER: const float *x; /* 3 × 4 */
// HEADER: int et_compile_freestanding_forward(const et_compile_freestanding_inputs *inputs,

// ASM: .cpu cortex-m4
// ASM: .globl et_compile_freestanding_forward

// OUTPUT: no output file: give -o FILE; its header is written beside it
// SAME: {{.*}}.h is the file of the header: give the object another name
// LEVEL: --target cortex-m4 is a processor: expected --emit object, archive, c-header, asm, got edge
// BACKEND: --target cortex-m4 has no delegates: leave out --backend
// TARGET: --emit object needs a processor as --target: cortex-m0plus,

// FLASH: --memory: code and constants need {{.*}} bytes: flash has 10 bytes left
// STACK: --memory: the stack needs {{[0-9]+}} bytes: dtcm has 3 bytes left, sram has 4 bytes left
// BANKS: --memory: no bank 'flash' for code and constants, there are: ram

// PLACES: flash: {{[0-9,]+}} of 4,096 bytes for code and constants
// PLACES: ram: {{[0-9,]+}} of 1,024 bytes for stack

// SUMMARY: code {{.*}} bytes
// SUMMARY: constants 0 bytes
// SUMMARY: arena 0 bytes

func.func @forward(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = edge.relu %x : tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
