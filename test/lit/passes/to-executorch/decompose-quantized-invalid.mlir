// RUN: not et-opt -p 'decompose-quantized{target="nowhere"}' %s 2>&1 | filecheck %s

// CHECK: decompose-quantized: unknown target 'nowhere', expected one of stock-{{[0-9.]+}}, stock-{{[0-9.]+}}-quantized, et-vm, et-vm-aten
func.func @nothing() {
  func.return
}
