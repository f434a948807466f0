// RUN: not et-opt -p open-xnnpack %s 2>&1 | filecheck %s

// CHECK: open-xnnpack: @lowered_0: DelegateInvalidCompatibility (0x30): a blob of 2 bytes is too short for a header at header, byte 0x0
backend.lowered @lowered_0 "XnnpackBackend" = #program.data<ui8, [1, 2]>
