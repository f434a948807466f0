"""Object files for processors without an operating system."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    passes={
        "fold-empty-tensors": "et_ir.backends.freestanding.fold_empty_tensors:FoldEmptyTensorsPass",
        "narrow-selections": "et_ir.backends.freestanding.narrow_selections:NarrowSelectionsPass",
        "pools-to-means": "et_ir.backends.freestanding.pools_to_means:PoolsToMeansPass",
        "sequential-loops": "et_ir.backends.freestanding.sequential_loops:SequentialLoopsPass",
        "split-complex": "et_ir.backends.freestanding.split_complex:SplitComplexPass",
    },
)
