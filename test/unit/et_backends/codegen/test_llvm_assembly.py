"""LLVM assembly of the `llvm` dialect: what is written, and that LLVM reads it."""

from __future__ import annotations

import pytest
from support.modules import context
from xdsl.dialects.llvm import LLVM

from et_backends.codegen.llvm_assembly import llvm_assembly
from et_backends.codegen.object_code import INSTRUCTION_SETS, data_layout, llvmlite
from et_ir.diagnostics import PassReport
from et_ir.text import parse_module

TARGET = INSTRUCTION_SETS["x86-64-v3"]


def written(text: str) -> list[str]:
    """The lines of the functions of a module, which LLVM has read and verified."""
    ctx = context()
    ctx.load_dialect(LLVM)
    made = llvm_assembly(parse_module(ctx, text), TARGET.triple, data_layout(TARGET))
    llvmlite("binding").parse_assembly(made).verify()
    return [line.strip() for line in made.split("\n")[3:] if line]


def body(arguments: str, ops: str) -> list[str]:
    """The lines of a function of some ops, and what is declared after it."""
    _, _, *lines = written(f"llvm.func @f({arguments}) {{ {ops} llvm.return }}")
    return [line for line in lines if line not in ("ret void", "}")]


def test_functions() -> None:
    assert written(
        """
        llvm.func internal @native.g(%n: i64) { llvm.return }
        llvm.func @f(%p: !llvm.ptr, %n: i64) { llvm.call @native.g(%n) : (i64) -> () llvm.return }
        llvm.func @h(!llvm.ptr, i64)
        """
    ) == [
        'define internal void @"native.g"(i64 %v1) nounwind {',
        "b0:",
        "ret void",
        "}",
        'define void @"f"(ptr %v1, i64 %v2) nounwind {',
        "b0:",
        'call void @"native.g"(i64 %v2)',
        "ret void",
        "}",
        'declare void @"h"(ptr, i64) nounwind',
    ]


def test_blocks() -> None:
    """Their arguments are phis, also of values that are defined after them."""
    assert body(
        "%n: i64",
        """
        %zero = llvm.mlir.constant(0) : i64
        %one = llvm.mlir.constant(1) : i64
        llvm.br ^loop(%zero : i64)
        ^loop(%i: i64):
        %next = llvm.add %i, %one overflow<nsw> : i64
        %more = llvm.icmp "slt" %next, %n : i64
        llvm.cond_br %more, ^loop(%next : i64), ^end
        ^end:
        """,
    ) == [
        "br label %b1",
        "b1:",
        "%v2 = phi i64 [ 0, %b0 ], [ %v3, %b1 ]",
        "%v3 = add nsw i64 %v2, 1",
        "%v4 = icmp slt i64 %v3, %v1",
        "br i1 %v4, label %b1, label %b2",
        "b2:",
    ]


def test_memory() -> None:
    assert body(
        "%p: !llvm.ptr, %n: i64, %m: vector<8xi1>",
        """
        %a = llvm.getelementptr %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %b = llvm.getelementptr inbounds %a[16] : (!llvm.ptr) -> !llvm.ptr, f32
        %v = llvm.load %b {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        llvm.store %v, %p {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
        %l = llvm.alloca %n x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
        """,
    ) == [
        "%v4 = getelementptr float, ptr %v1, i64 %v2",
        "%v5 = getelementptr inbounds float, ptr %v4, i32 16",
        "%v6 = load <8 x float>, ptr %v5, align 4",
        "store <8 x float> %v6, ptr %v1, align 4",
        "call void @llvm.masked.store.v8f32.p0(<8 x float> %v6, ptr %v1, i32 4, <8 x i1> %v3)",
        "%v7 = alloca float, i64 %v2, align 64",
        "declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)",
    ]


def test_vectors() -> None:
    assert body(
        "%s: f32, %x: vector<2xf32>",
        """
        %z = llvm.mlir.constant(0) : i64
        %u = llvm.mlir.undef : vector<2xf32>
        %i = llvm.insertelement %s, %u[%z : i64] : vector<2xf32>
        %a = llvm.shufflevector %i, %i [0, 0] : vector<2xf32>
        %b = llvm.shufflevector %i, %x [3, 0] : vector<2xf32>
        %f = llvm.intr.fma(%a, %b, %x) : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
        %m = native.compare "olt", %f, %x : vector<2xf32>, vector<2xf32> -> vector<2xi1>
        %q = native.select %m, %f, %x : vector<2xi1>, vector<2xf32>
        %r = native.convert "fptosi" %q : vector<2xf32> -> vector<2xi32>
        %c = native.compare "slt", %r, %r : vector<2xi32>, vector<2xi32> -> vector<2xi1>
        %h = llvm.mlir.constant(-0.0 : f32) : f32
        %t = "llvm.intr.vector.reduce.fadd"(%h, %q) <{fastmathFlags = #llvm.fastmath<reassoc>}>
          : (f32, vector<2xf32>) -> f32
        """,
    ) == [
        "%v3 = insertelement <2 x float> undef, float %v1, i64 0",
        "%v4 = shufflevector <2 x float> %v3, <2 x float> %v3, <2 x i32> zeroinitializer",
        "%v5 = shufflevector <2 x float> %v3, <2 x float> %v2, <2 x i32> <i32 3, i32 0>",
        "%v6 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v4, <2 x float> %v5, <2 x float> %v2)",
        "%v7 = fcmp olt <2 x float> %v6, %v2",
        "%v8 = select <2 x i1> %v7, <2 x float> %v6, <2 x float> %v2",
        "%v9 = fptosi <2 x float> %v8 to <2 x i32>",
        "%v10 = icmp slt <2 x i32> %v9, %v9",
        "%v11 = call reassoc float @llvm.vector.reduce.fadd.v2f32(float 0x8000000000000000, <2 x float> %v8)",
        "declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)",
        "declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)",
    ]


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        ("0.5 : f32", "float 0x3FE0000000000000"),
        ("0x7FC00000 : f32", "float 0x7FF8000000000000"),
        ("dense<8> : vector<2xi32>", "<2 x i32> splat (i32 8)"),
        (
            "dense<[1.0, -0.0]> : vector<2xf32>",
            "<2 x float> <float 0x3FF0000000000000, float 0x8000000000000000>",
        ),
    ],
)
def test_constants(constant: str, text: str) -> None:
    type = constant.rpartition(": ")[2]
    ops = f"%c = llvm.mlir.constant({constant}) : {type} llvm.store %c, %p : {type}, !llvm.ptr"
    assert body("%p: !llvm.ptr", ops) == [f"store {text}, ptr %v1"]


def test_other_ops_are_reported() -> None:
    with pytest.raises(PassReport, match=r"'llvm.unreachable' has no equivalent"):
        written("llvm.func @f() { llvm.unreachable }")
