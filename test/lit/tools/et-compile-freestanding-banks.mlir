// Arenas in several memory banks.
// RUN: et-compile %s --target cortex-m7 --emit object -o %t.o --prefix et_compile_freestanding_banks --memory 'flash:id=1;dtcm:id=2,size=5K;sram:id=3' 2>&1 | filecheck %s --check-prefix=SUMMARY
// RUN: filecheck %s --check-prefix=HEADER < %t.h
// RUN: not et-compile -q %s --target cortex-m7 --emit object -o %t.o --memory 'flash:id=1;dtcm:id=2,size=5K;sram:id=3,size=2K' 2>&1 | filecheck %s --check-prefix=SMALL

// SUMMARY: arena in dtcm 4,096 bytes, optimal
// SUMMARY: arena in sram 4,096 bytes, optimal
// SUMMARY: dtcm: {{[0-9,]+}} of 5,120 bytes for arena in dtcm, stack
// SUMMARY: sram: 4,096 bytes for arena in sram

// HEADER: #define ET_COMPILE_FREESTANDING_BANKS_DTCM_ARENA_BYTES 4096
// HEADER: #define ET_COMPILE_FREESTANDING_BANKS_SRAM_ARENA_BYTES 4096
// HEADER: typedef struct et_compile_freestanding_banks_arenas {
// HEADER: void *dtcm; /* 4,096 bytes */
// HEADER: void *sram; /* 4,096 bytes */
// HEADER: outputs *outputs, const et_compile_freestanding_banks_arenas *arenas);

// SMALL: --memory: the arena needs 8,192 bytes, {{.*}}: dtcm has {{[0-9,]+}} bytes left, sram has 2,048 bytes left

func.func @forward(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = edge.mm %x, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = edge.mm %0, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = edge.mm %1, %0 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  func.return %2 : tensor<32x32xf32>
}
