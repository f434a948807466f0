"""The OpenVINO backend, ahead of time: partitions become models that OpenVINO compiles when they are loaded.

`rules` says how operators are computed, `translation` makes a model of a partition, `blob` writes it, and `partitioner`
decides what goes into one. The package `openvino` is needed to compile, and to run on et-vm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.openvino.compiler.partitioner import OpenvinoPartitioner

__all__ = ["OpenvinoPartitioner"]


def __getattr__(name: str) -> object:
    """Load the partitioner when it is asked for."""
    if name != "OpenvinoPartitioner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_backends.openvino.compiler.partitioner import OpenvinoPartitioner

    return OpenvinoPartitioner
