"""The `native` dialect: kernels of machine code, and the ops of their loops that xDSL's dialects lack.

`native.kernel` holds the edge ops that become one kernel. The kernels themselves are `func`, `scf`, `memref`, `arith`
and `vector`; here are a strided load, an outer product, products of bytes, comparison, selection and conversion of
vectors, a prefetch, reports of invalid arguments, and a barrier between threads.
"""

from xdsl.ir import Dialect

from et_backends.codegen.dialect.ops import (
    KERNEL,
    SECONDS,
    SERIAL,
    BarrierOp,
    CompareOp,
    ConcatOp,
    ConvertOp,
    DotOp,
    KernelOp,
    OuterProductOp,
    PartOp,
    PrefetchOp,
    ReportedOp,
    ReportOp,
    SelectOp,
    StridedLoadOp,
    ViewOp,
    YieldOp,
)

__all__ = [
    "KERNEL",
    "SECONDS",
    "SERIAL",
    "BarrierOp",
    "CompareOp",
    "ConcatOp",
    "ConvertOp",
    "DotOp",
    "KernelOp",
    "Native",
    "OuterProductOp",
    "PartOp",
    "PrefetchOp",
    "ReportOp",
    "ReportedOp",
    "SelectOp",
    "StridedLoadOp",
    "ViewOp",
    "YieldOp",
]

Native = Dialect(
    "native",
    [
        KernelOp,
        YieldOp,
        ViewOp,
        StridedLoadOp,
        OuterProductOp,
        DotOp,
        ConcatOp,
        CompareOp,
        SelectOp,
        ConvertOp,
        PrefetchOp,
        PartOp,
        ReportOp,
        ReportedOp,
        BarrierOp,
    ],
    [],
)
