"""Reference pages of dialects and of the Python API: examples of operations parse, and no public name is missing."""

from __future__ import annotations

import re

import pytest
from xdsl.context import Context
from xdsl.dialects.test import Test

import et_ir
import et_ir.backends
import et_vm
import et_vm.runtime
from dev.api_pages import API
from dev.dialect_pages import DIALECTS, FAMILIES
from dev.docstrings import paragraphs
from dev.document_reference import pages
from et_ir.text import parse_module
from et_ir.universe import dialect_factories

CONTEXT = Context()
CONTEXT.load_dialect(Test)
for _name, _factory in dialect_factories().items():
    CONTEXT.register_dialect(_name, _factory)

OPERATIONS = {
    op.name: op for one in DIALECTS.values() for op in one.operations if not issubclass(op, FAMILIES)
}
EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.S)
DEFAULT = "tensor<4xf32>"
TYPES = {
    "control.cond": {"p": "tensor<i1>", "one": "i64", "two": "i64"},
    "control.map": {"xs": "tensor<3x4xf32>"},
    "control.scan": {"xs": "tensor<3x4xf32>"},
    "control.while": {"zero": "tensor<i64>"},
    "control.yield": {"n": "i64"},
    "executorch.jump_false": {"c": "i1"},
    "executorch.view": {"r": "tensor<16xf32>"},
    "program.compute": {"n": "i64", "two": "i64"},
    "program.range": {"n": "i64"},
    "program.store": {"c": "tensor<1x8xf32>"},
    "xnnpack.output": {"1": "!xnnpack.value<fp32, [4]>"},
    "native.view": {"0": "tensor<1x8x4x4xf32, #edge.dim_order<0, 2, 3, 1>>"},
    "native.strided_load": {"x": "memref<?x?xf32>", "i": "index", "k": "index"},
    "native.part": {"count": "index"},
    "native.outer_product": {"a": "vector<12xf32>", "b": "vector<32xf32>", "c": "vector<12x32xf32>"},
    "native.dot": dict.fromkeys(("x", "w", "c"), "vector<16xi32>"),
    "native.concat": {"b0": "vector<16xf32>", "b1": "vector<16xf32>"},
    "native.compare": {"a": "vector<16xf32>", "b": "vector<16xf32>"},
    "native.prefetch": {"w": "memref<?x?xf32>", "i": "index", "k": "index"},
    "native.convert": {"a": "vector<16xi64>"},
    "spirv.access_chain": {"id": '!spirv.ptr<"Input", vector<3xi32>>', "zero": "i32"},
    "spirv.atomic_minimum": {"p": '!spirv.ptr<"StorageBuffer", i32>', "0": "i32"},
    "spirv.dispatch": dict.fromkeys(("x", "y"), "memref<16xf32>"),
    "spirv.extended": {"0": "f32"},
    "spirv.instruction": {"0": "f32", "1": "f32"},
    "spirv.load": {"p": '!spirv.ptr<"StorageBuffer", f32>'},
    "spirv.loop_branch": {"c": "i1"},
    "spirv.selection_branch": {"c": "i1"},
    "spirv.store": {"p": '!spirv.ptr<"StorageBuffer", f32>', "0": "f32"},
    "native.select": {"m": "vector<16xi1>", "a": "vector<16xf32>", "b": "vector<16xf32>"},
}
"""Types of the values that an example uses and does not define, where they are not the default."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_example_parses(name: str) -> None:
    (example,) = EXAMPLE.findall(paragraphs(OPERATIONS[name]))
    used = set(re.findall(r"%(\w+)", example))
    defined = set(re.findall(r"%(\w+)(?=:|(?:, %\w+)* =)", example))
    types = {value: TYPES.get(name, {}).get(value, DEFAULT) for value in sorted(used - defined)}
    values = "".join(f'%{value} = "test.op"() : () -> {type}\n' for value, type in types.items())
    blocks = "".join(
        f'^{label}:\n"test.op"() : () -> ()\n' for label in set(re.findall(r"\^([a-z]+)\b(?!\()", example))
    )
    text = f'"test.op"() ({{\n{values}{example}{blocks}}}) : () -> ()'
    found = [op.name for op in parse_module(CONTEXT, text).walk()]
    assert name in found


def test_every_operation_and_attribute_has_a_section() -> None:
    text = pages()
    for dialect in DIALECTS.values():
        page = text[f"dialect-{dialect.name}.md"]
        for op in dialect.operations:
            assert f"\n## {op.name}\n" in page or f"\n| `{op.name}` |" in page
        for attribute in dialect.attributes:
            assert re.search(rf"\n### [#!]{attribute.name}\n", page)


def test_public_names_are_in_the_reference() -> None:
    shown = {name for page in API for names in page.modules.values() for name in names}
    assert set(et_ir.__all__) <= shown
    assert {*et_vm.runtime.__all__} - {"OperatorRegistry"} <= shown


def test_index_links_every_page() -> None:
    text = pages()
    assert {f"({name})" for name in text if name != "README.md"} <= set(
        re.findall(r"\([\w-]+\.md\)", text["README.md"])
    )
