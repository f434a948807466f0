"""The TOSA backend, ahead of time: partitions become TOSA files, for Arm's compilers and the reference model.

`rules` say which operators compute an op, `legalizer` makes them, `passes` are the steps, `serialization` writes the
file.
"""

from et_backends.tosa.compiler.partitioner import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.compiler.specification import TosaSpecification

__all__ = ["TOSAPartitioner", "TosaCompileSpec", "TosaSpecification"]
