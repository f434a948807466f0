"""The Core ML backend, ahead of time: partitions become ML programs.

`rules` says how operators are computed, `translation` makes a program of a partition, `backend` writes the blob, and
`partitioner` decides what goes into one. No package is needed: `et_schema.mil` writes the files.
"""

from et_ir.backends.coreml.partitioner import CoreMLPartitioner

__all__ = ["CoreMLPartitioner"]
