"""A runtime with one kernel, as a package or a file would offer it."""

from et_ir.targets.target import Target

BARE = Target("bare", "A test.", added_kernels=frozenset({"aten::cumsum.out"}))
