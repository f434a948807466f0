"""The runtime of the executorch wheel as a target: its portable kernels, and with its library of quantized kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from et_ir.targets.target import Tables, Target

if TYPE_CHECKING:
    from et_ir.dialects.edge import EdgeOp

__all__ = ["STOCK_1_4", "STOCK_1_4_QUANTIZED", "STOCK_1_5", "STOCK_1_5_QUANTIZED"]

_FOLDER: Final = Path(__file__).parent


def _limits_1_4(op: EdgeOp) -> Iterator[str]:
    from et_ir.targets.stock_limits import limits  # knows the dialect, which the tools can do without

    return limits(op, since_1_5=False)


def _limits_1_5(op: EdgeOp) -> Iterator[str]:
    from et_ir.targets.stock_limits import limits

    return limits(op, since_1_5=True)


def _quantized_as_torch_1_4(op: EdgeOp) -> bool:
    from et_ir.targets.stock_quantized import computes_as_torch

    return computes_as_torch(op, since_1_5=False)


def _quantized_as_torch_1_5(op: EdgeOp) -> bool:
    from et_ir.targets.stock_quantized import computes_as_torch

    return computes_as_torch(op, since_1_5=True)


STOCK_1_4: Final = Target(
    name="stock-1.4",
    provenance="The executorch 1.4.1 wheel for Linux: its registries, and runs of each operator in each type.",
    tables=Tables.in_folder(_FOLDER, "stock-1.4"),
    legalizations=(
        "empty",
        "complex_numbers",
        "bags",
        "boxes",
        "folds",
        "scatters",
        "scans",
        "sorts",
        "pools",
        "normalizations",
        "powers",
        "shifts",
        "arguments",
        "types",
        "quotients",
        "remainder",
        "reinterpretations",
        "volumes",
        "ranks",
        "sums",
    ),
    quantized_as_torch=_quantized_as_torch_1_4,
    limits=_limits_1_4,
    splits_channels=True,
    allocates=False,
    general_index_put=False,
    runtime="the runtime of the executorch wheel",
)

STOCK_1_4_QUANTIZED: Final = replace(
    STOCK_1_4,
    name="stock-1.4-quantized",
    provenance="The executorch 1.4.1 wheel for Linux after `import executorch.kernels.quantized`.",
    tables=replace(STOCK_1_4.tables, kernels=_FOLDER / "stock-1.4-quantized.txt"),
)

STOCK_1_5: Final = replace(
    STOCK_1_4,
    name="stock-1.5",
    provenance="The executorch 1.5.1 wheel for Linux: its registries, and runs of each operator in each type.",
    tables=Tables.in_folder(_FOLDER, "stock-1.5"),
    quantized_as_torch=_quantized_as_torch_1_5,
    limits=_limits_1_5,
)

STOCK_1_5_QUANTIZED: Final = replace(
    STOCK_1_5,
    name="stock-1.5-quantized",
    provenance="The executorch 1.5.1 wheel for Linux after `import executorch.kernels.quantized`.",
    tables=replace(STOCK_1_5.tables, kernels=_FOLDER / "stock-1.5-quantized.txt"),
)
