"""Texts of programs at several levels, and random damage to them."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from fuzz.documents import mutated_words

NET = """program.parameter @w : tensor<2x4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
program.buffer mutable @seen : tensor<2xf32>
func.func @forward(%x: tensor<2x4xf32>, %k: i64 {program.value = 3 : i64}) -> (tensor<2x4xf32>, tensor<2xi64>) {
  %w = program.get @w : tensor<2x4xf32>
  %seen = program.load @seen : tensor<2xf32>
  %1 = aten.linear %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %2 = aten.mean.dim %1 {dim = [0]} : (tensor<2x2xf32>) -> tensor<2xf32>
  %3 = aten.add.Tensor %seen, %2 : tensor<2xf32>
  %4 = aten.cat [%1, %1] {dim = 1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %5 = aten.softmax.int %4 {dim = -1} : tensor<2x4xf32>
  %6 = aten.argmax %5 {dim = -1} : (tensor<2x4xf32>) -> tensor<2xi64>
  program.store @seen, %3 : tensor<2xf32>
  func.return %5, %6 : tensor<2x4xf32>, tensor<2xi64>
}
"""
EDGE = """builtin.module {
  program.buffer mutable @seen : tensor<2xf32>
  program.constant @w_permute : tensor<4x2xf32> = #program.data<f32, [1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0]>
  func.func @forward(%x: tensor<2x4xf32>, %k: i64 {program.value = 3 : i64}) -> (tensor<2x4xf32>, tensor<2xi64>) {
    %seen = program.load @seen : tensor<2xf32>
    %0 = program.get @w_permute : tensor<4x2xf32>
    %1 = edge.mm %x, %0 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
    %2 = edge.mean.dim %1 {dim = [0]} : (tensor<2x2xf32>) -> tensor<2xf32>
    %3 = edge.add.Tensor %seen, %2 : tensor<2xf32>
    %4 = edge.cat [%1, %1] {dim = 1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
    %5 = edge._softmax %4 {dim = -1, half_to_float = false} : tensor<2x4xf32>
    %6 = edge.argmax %5 {dim = -1} : (tensor<2x4xf32>) -> tensor<2xi64>
    program.store @seen, %3 : tensor<2xf32>
    func.return %5, %6 : tensor<2x4xf32>, tensor<2xi64>
  }
}
"""
PLAN = """builtin.module {
  program.buffer mutable @seen : tensor<2xf32>
  program.constant @w_permute : tensor<4x2xf32> = #program.data<f32, [1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0]>
  executorch.plan @forward {arenas = array<i64: 96>} {
    %x = executorch.input {memory_id = 1, offset = 0} : tensor<2x4xf32>
    %k = executorch.input 3 : i64
    %seen = executorch.state @seen {memory_id = 1, offset = 64} : tensor<2xf32>
    %0 = executorch.constant @w_permute : tensor<4x2xf32>
    %1 = executorch.alloc {memory_id = 1, offset = 32} : tensor<2x2xf32>
    executorch.kernel_call "aten::mm.out"(%x, %0) outs(%1)
    %2 = executorch.alloc {memory_id = 1, offset = 80} : tensor<2xf32>
    executorch.kernel_call "aten::mean.out"(%1, [0], false, none) outs(%2)
    executorch.kernel_call "aten::add.out"(%seen, %2, 1) outs(%2)
    %3 = executorch.alloc {memory_id = 1, offset = 0} : tensor<2x4xf32>
    executorch.kernel_call "aten::cat.out"([%1, %1], 1) outs(%3)
    %4 = executorch.alloc {memory_id = 1, offset = 32} : tensor<2x4xf32>
    executorch.kernel_call "aten::_softmax.out"(%3, -1, false) outs(%4)
    %5 = executorch.alloc {memory_id = 1, offset = 0} : tensor<2xi64>
    executorch.kernel_call "aten::argmax.out"(%4, -1, false) outs(%5)
    executorch.kernel_call "aten::copy_"(%seen, %2, false) returns(%seen)
    executorch.return %4, %5
  }
}
"""
# What is put in the place of a part of a text, besides its other parts.
STRANGE = r"""
-1 0 2 99999999999999999999 -9223372036854775808 1.0e400 nan ? f64 i1 ui8 complex<f32> tensor<*xf32> "\FF" @nowhere
tensor<0x4xf32> tensor<?x4xf32> tensor<f32> none unit true [] {} [-9] %nothing ^bb0 #program.tree<""> // é ( ) < >
aten.add.Scalar edge.relu program.nothing executorch.return func.call
"""
PARTS = re.compile(r"\s+|[\w.%@#-]+|tensor<[^>]*>|.", re.S)
TO_EDGE = (
    "decompose,decompose-traced,canonicalize,fold-batch-norm,constant-fold,cse,dce,aten-to-edge,verify-edge"
)
TO_PLAN = "to-out-variant,copies-to-views,write-back,plan-memory,verify-executorch"


class Text(NamedTuple):
    """A good text, and the passes that are run on it once it is damaged."""

    text: str
    pipeline: str


TEXTS = {
    "net": Text(NET, f"{TO_EDGE},{TO_PLAN}"),
    "edge": Text(EDGE, TO_PLAN),
    "plan": Text(PLAN, "verify-executorch"),
}


def garbled(text: str, rng: random.Random) -> str:
    """A text with one or two of its words, types or letters gone, changed, doubled or exchanged; also everywhere."""
    return mutated_words(text, rng, PARTS, tuple(STRANGE.split()))
