"""Stack bounds of assembly."""

from __future__ import annotations

import pytest

from et_backends.freestanding.compiler.stack import stack_bound

ARM = """
\t.type\tinner,%function
inner:
\t.fnstart
\t.save\t{r4, r5, lr}
\tpush\t{r4, r5, lr}
\t.vsave\t{d8, d9, d10, d11}
\tvpush\t{d8, d9, d10, d11}
\t.pad\t#8
\tsub\tsp, #8
\tbx\tlr
\t.globl\touter
\t.type\touter,%function
outer:
\t.save\t{r7, lr}
\tpush\t{r7, lr}
\tbl\tinner
\tbl\tinner
\tpop\t{r7, pc}
"""

RISC_V = """
\t.type\tinner,@function
inner:
\taddi\tsp, sp, -48
\tret
\t.type\touter,@function
outer:
\taddi\tsp, sp, -16
\tcall\tinner
\taddi\tsp, sp, 16
\tret
"""

VECTORS = """
\t.type\touter,@function
outer:
\taddi\tsp, sp, -16
\tcsrr\ta2, vlenb
\tslli\ta3, a2, 3
\tsub\ta2, a3, a2
\tsub\tsp, sp, a2
\tcsrr\ta1, vlenb
\tli\ta0, 6
\tmul\ta1, a1, a0
\tadd\tsp, sp, a1
\tret
"""

X86 = """
\t.type\touter,@function
outer:
\tpushq\t%rbx
\tsubq\t$24, %rsp
\tretq
"""


AARCH64 = """
\t.type\touter,@function
outer:
\tstp\tx29, x30, [sp, #-32]!
\tsub\tsp, sp, #2, lsl #12
\tsub\tsp, sp, #48
\tret
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ARM, 8 + 12 + 32 + 8),
        (RISC_V, 64),
        (X86, 8 + 8 + 24),
        (VECTORS, 16 + 7 * 64),
        (AARCH64, 32 + 8192 + 48),
    ],
    ids=["arm", "riscv", "x86", "vectors", "aarch64"],
)
def test_bound(text: str, expected: int):
    assert stack_bound(text, "outer") == expected


def test_recursion():
    text = RISC_V.replace("\taddi\tsp, sp, -48", "\taddi\tsp, sp, -48\n\tcall\touter")
    with pytest.raises(ValueError, match="'outer' calls itself"):
        stack_bound(text, "outer")


@pytest.mark.parametrize(
    "line",
    ["sub\tsp, sp, a0", "li\ta0, 2000\n\tsub\tsp, sp, a0", "andq\t$-64, %rsp"],
)
def test_unknown_frame(line: str):
    text = RISC_V.replace("addi\tsp, sp, -48", line)
    with pytest.raises(ValueError, match="the size of the frame of 'inner' is not known"):
        stack_bound(text, "outer")
