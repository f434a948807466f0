"""Object files for processors without an operating system."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    passes={
        "fold-empty-tensors": "et_backends.freestanding.passes.fold_empty_tensors:FoldEmptyTensorsPass",
        "narrow-selections": "et_backends.freestanding.passes.narrow_selections:NarrowSelectionsPass",
        "pools-to-means": "et_backends.freestanding.passes.pools_to_means:PoolsToMeansPass",
        "sequential-loops": "et_backends.freestanding.passes.sequential_loops:SequentialLoopsPass",
        "split-complex": "et_backends.freestanding.passes.split_complex:SplitComplexPass",
    },
)
