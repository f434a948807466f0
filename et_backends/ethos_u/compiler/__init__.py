"""The Ethos-U backend, ahead of time: partitions become TOSA, which Arm's compiler Vela makes a command stream of.

`compile_spec` has the settings, `partitioner` decides what goes to the processor, `vela` calls the compiler (the
package `ethos-u-vela`), and `backend` writes the blob, as ExecuTorch's runtime for bare metal reads it.
"""

from et_backends.ethos_u.compiler.compile_spec import EthosUCompileSpec
from et_backends.ethos_u.compiler.partitioner import EthosUPartitioner

__all__ = ["EthosUCompileSpec", "EthosUPartitioner"]
