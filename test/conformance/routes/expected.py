"""Expected failures of programs on routes: the message, and the limit that it documents."""

from __future__ import annotations

from typing import Final, NamedTuple

import reinterpreting_programs

__all__ = ["EXPECTED", "Limit"]


class Limit(NamedTuple):
    """A limit of a runtime or a backend: a pattern of the message, and what it is."""

    message: str
    limit: str


STRINGS: Final = Limit("Unsupported python type <class 'str'>", "stock's Python API takes no strings")
OWN_OUTPUTS: Final = Limit(
    "value 0: Tensor-likes are not close",
    "stock's Python API gives unplanned outputs memory of its own, also those that are an input or state",
)
MASKS: Final = Limit(
    r"\[edge_c4\] 'indices' cannot be i1", "stock's files index by masks, which edge operators do not take"
)
REMAINDERS: Final = Limit(
    "executorch_prim::mod.Scalar",
    "remainders that are rounded towards zero have no counterpart at the edge level",
)
MIXED: Final = Limit(
    r"\[edge_c3\] 'self', 'src' mix element types", "stock's files copy between element types"
)
STATIC_PARTS: Final = Limit(
    r"expected shape \[6, 4\]",
    "stock gives parts of a split the sizes of the example, and fails for others itself",
)
REFUSED: Final = Limit(
    "the stock compiler refuses the program",
    "stock's compiler has no shifts, maxima of all, operators of rank 0, arithmetic of sizes and views of another type "
    "in its dialect",
)
WIDE: Final = Limit("integers that int32 does not hold", "the backend computes integers of 64 bits in 32")
BOUNDS: Final = Limit(
    "its upper bound is 5", "stock takes the sizes of the example for bounds where a dimension has none"
)

FAR: Final = Limit(
    "value 0: Tensor-likes are not close",
    "stock's grid_sample has points that are no numbers, or far outside of the image, at other places of it",
)
AT_0: Final = Limit(
    "value 0: Tensor-likes are not close",
    "stock's leaky_relu gives 0 for 0 where 0 times the slope is a NaN",
)
ZERO: Final = Limit("value 0: Tensor-likes are not close", "devices may take anything times 0 for 0")
RELATED: Final = Limit(
    "the code is for float of sizes|expected a shape beside",
    "a file of the stock compiler does not say that sizes of inputs belong together, and an input whose size cannot be "
    "changed alone is taken for one of a fixed size",
)
STOCK: Final = ("stock", "Os-stock", "callers-memory-stock", "xnnpack-stock")
OF_STOCK: Final = ("again-of-stock", "again-for-xnnpack", "again-for-native")
"""Routes of files of the stock compiler."""
KERNELS: Final = (*STOCK, "again-stock")
"""Routes of stock's kernels."""

BY_FACTORS: Final = Limit(
    "value 0: Tensor-likes are not close",
    "stock's kernel goes by a factor also where torch goes by sizes, which are not known",
)

LOOPS: Final = Limit(
    "would give wrong", "a driver in software ends loops after 65,535 iterations, and no type bounds these"
)

NO_CUBIC_FILTER: Final = Limit("'aten::_upsample_bicubic2d_aa.out'", "stock has no kernel for it")

OUTPUTS: Final = Limit(
    r"\[executorch_c9\] %\w+ overlaps %\w+ while both are live",
    "a file does not say how many outputs a delegate has, and blobs of these backends are not asked: of a call with "
    "several, the disassembler takes some for inputs that nothing writes",
)

EXPECTED: Final[dict[tuple[str, str], Limit]] = {
    **{("bits of other widths", route): WIDE for route in ("coreml", "vulkan-graph")},
    ("sizes, one more", "again-for-native"): RELATED,
    ("sizes, differences", "again-for-xnnpack"): RELATED,
    ("sizes, areas", "again-for-xnnpack"): RELATED,
    **{("feature, strings", route): STRINGS for route in STOCK},
    **{("sizes, resize, nearest 2d", route): BY_FACTORS for route in KERNELS},
    **{
        (f"resize, bicubic 2d, filtered, {given}", route): NO_CUBIC_FILTER
        for given in ("sizes", "factors")
        for route in ("aten", "portable-poisoned", "again-stock", *STOCK)
    },
    **{
        (case, "callers-memory-stock"): OWN_OUTPUTS
        for case in (
            "state_that_does_not_change",
            "sizes, returned size",
            "feature, passing",
            *(
                f"resize, {mode}, {given}"
                for mode in ("linear 1d", "trilinear 3d")
                for given in ("sizes", "factors", "sizes of factors", "corners, sizes", "corners, factors")
            ),
            "resize, area 2d, sizes",
            "resize, area 2d, factors",
        )
    },
    **{(f"resize, area 3d, {given}", "vulkan"): LOOPS for given in ("sizes", "factors", "sizes of factors")},
    **{
        (case, route): limit
        for route in OF_STOCK
        for case, limit in (
            ("sizes, number computed", REMAINDERS),
            ("sizes, padded to a multiple", REMAINDERS),
            ("sizes, selected", MASKS),
            ("sizes, automatic", BOUNDS),
            ("sizes, default bound", BOUNDS),
            ("cache, converted", MIXED),
            ("sizes, halves", STATIC_PARTS),
        )
    },
    **{
        (case, route): REFUSED
        for route in OF_STOCK
        for case in (
            *(
                f"numbers, {element} shifted{by}"
                for element in ("u8", "i8", "i16", "i32", "i64")
                for by in ("", " by tensors")
            ),
            *("sizes, attention with heads of any size", "sizes, roundings"),
            *("max", "max_kept", "max_of_channels_last", "max_of_image", "max_of_two_equal"),
            *("rank 0, indices", "rank 0, moves", "rank 0, reductions", "rank 0, sorts"),
            *("sizes, at least and at most", "sizes, choice by a size"),
            *("sizes, power of a size", "sizes, root of a size", "feature, strings"),
            *reinterpreting_programs.PROGRAMS,
            *(f"sizes, {name}" for name in reinterpreting_programs.OF_RUN_TIME_SIZES),
        )
    },
    **{
        (f"numbers, grid_sample {mode}, {padding}{corners}", route): FAR
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in ("", ", corners")
        for route in KERNELS
        if (mode, padding) != ("nearest", "zeros")
    },
    **{
        (f"numbers, leaky_relu of {slope}", route): AT_0
        for slope in ("inf", "-inf", "nan")
        for route in KERNELS
    },
    ("numbers, leaky_relu of 0.0", "vulkan"): ZERO,
    ("numbers, elu of 0.0, 1.0, -1.0", "vulkan"): ZERO,
    ("numbers, elu of 2.0, 0.0, inf", "vulkan"): ZERO,
    **{("model, gru", route): OUTPUTS for route in ("openvino", "openvino-stock")},
}
"""By case and route. A case that does not fail as expected fails the test."""
