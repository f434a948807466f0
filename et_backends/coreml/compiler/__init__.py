"""Ahead-of-time compilation for Core ML: partitions become ML programs.

`rules` defines the lowering of each operator, `translation` converts a partition to a program, `backend` writes the
blob, and `partitioner` selects the ops. No package is needed: `et_backends.coreml.format.mil` writes the files.
"""

from et_backends.coreml.compiler.partitioner import CoreMLPartitioner

__all__ = ["CoreMLPartitioner"]
