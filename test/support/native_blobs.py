"""Blobs of machine code, compiled from text, and objects to damage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from struct import Struct

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func

from et_backends.native.compiler.backend import NativeBackend
from et_backends.native.format import NativeProgram, read_native
from et_ir.delegation.specs import CompileSpec
from et_ir.text import parse_module
from et_ir.universe import dialect_factories
from et_vm.backends.cpu import machine
from et_vm.backends.elf import MACHINES
from et_vm.values import Tensor
from support import xnnpack_graphs

X86, ARM = 62, 183
SETS = {X86: "x86-64-v3", ARM: "aarch64"}

TEXT = """
func.func @forward(%x: tensor<5x8xf32>, %w: tensor<8x20xf32>) -> (tensor<5x20xf32>, tensor<5x8xf32>) {
  %0 = edge.mm %x, %w : (tensor<5x8xf32>, tensor<8x20xf32>) -> tensor<5x20xf32>
  %1 = edge.tanh %0 : tensor<5x20xf32>
  %2 = edge.relu %x : tensor<5x8xf32>
  func.return %1, %2 : tensor<5x20xf32>, tensor<5x8xf32>
}
"""


SIZED = """
func.func @forward(%x: tensor<?x?xf32, #program.sizes<s0, s1>>, %w: tensor<?x20xf32, #program.sizes<s1>>) ->
    (tensor<?x20xf32, #program.sizes<s0>>, tensor<?xf32, #program.sizes<s0*s1>>)
    attributes {program.ranges = #program.ranges<s0 from 1 to 9, s1 from 2 to 40>} {
  %0 = edge.mm %x, %w : (tensor<?x?xf32, #program.sizes<s0, s1>>, tensor<?x20xf32, #program.sizes<s1>>)
    -> tensor<?x20xf32, #program.sizes<s0>>
  %1 = edge._softmax %0 {dim = -1, half_to_float = false} : tensor<?x20xf32, #program.sizes<s0>>
  %2 = edge.relu %1 : tensor<?x20xf32, #program.sizes<s0>>
  %3 = edge.view_copy %x {size = [-1]} : (tensor<?x?xf32, #program.sizes<s0, s1>>)
    -> tensor<?xf32, #program.sizes<s0*s1>>
  %4 = edge.exp %3 : tensor<?xf32, #program.sizes<s0*s1>>
  func.return %2, %4 : tensor<?x20xf32, #program.sizes<s0>>, tensor<?xf32, #program.sizes<s0*s1>>
}
"""
"""Of sizes that are known at run time only."""


@cache
def blob(*sets: str, text: str = TEXT, values: bool = False) -> bytes:
    """A product with a fused op, and a pointwise op beside it; with `values`, their results are kept."""
    context = Context()
    for dialect in (Builtin, Func):
        context.load_dialect(dialect)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    specs = [CompileSpec("instruction_sets", "+".join(sets or SETS.values()).encode())]
    specs += [CompileSpec("values", b"1")] * values
    return bytes(NativeBackend.preprocess(parse_module(context, text), specs).processed_bytes)


def program(*sets: str) -> NativeProgram:
    """The tables of `blob`."""
    return read_native(blob(*sets))


@cache
def code(number: int) -> bytes:
    """An object for a machine."""
    return bytes(program(SETS[number]).objects[0].code)


def here() -> int:
    """This machine."""
    number = machine()
    assert number in MACHINES.values(), "these tests run on Linux on x86-64 or AArch64"
    return number


def tensor(array: np.ndarray) -> Tensor:
    """An argument of a delegate."""
    return xnnpack_graphs.tensor(array)


HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION = Struct("<IIQQQQIIQQ")
FIELDS = ("name", "kind", "flags", "address", "offset", "size", "link", "info", "alignment", "entry_size")


class Object:
    """An ELF object whose section headers, symbols and relocations can be written over."""

    def __init__(self, number: int):
        self.raw = bytearray(code(number))

    def _place(self, number: int) -> int:
        return HEADER.unpack_from(self.raw)[6] + number * SECTION.size

    def section(self, number: int) -> dict[str, int]:
        return dict(zip(FIELDS, SECTION.unpack_from(self.raw, self._place(number)), strict=True))

    def change(self, number: int, **values: int) -> Object:
        """Other fields of a section's header."""
        changed = self.section(number) | values
        SECTION.pack_into(self.raw, self._place(number), *(changed[name] for name in FIELDS))
        return self

    def numbers(self) -> Iterator[int]:
        return iter(range(1, HEADER.unpack_from(self.raw)[12]))

    def of_kind(self, kind: int) -> int:
        """The first section of a kind with bytes."""
        return next(
            number
            for number in self.numbers()
            if self.section(number)["kind"] == kind and self.section(number)["size"]
        )

    def text(self) -> int:
        """The section of code."""
        return next(
            number
            for number in self.numbers()
            if self.section(number)["flags"] & 4 and self.section(number)["size"]
        )

    def put(self, at: int, data: bytes) -> Object:
        self.raw[at : at + len(data)] = data
        return self
