"""Upper bounds of dynamic tensor sizes.

It is for sizes that only the data or the caller tells.

`SizeBounds` derives, for every value of a method, the largest size of each dimension, and for every number the range
that it lies in. What it starts from is stated in the program: sizes of types, known or expressions of symbols that have
ranges, and `program.range`. Where these do not tell, it goes by what operators do: `nonzero` finds at most as many
elements as there are, a concatenation is as long as its parts. Bounds are derived where memory is laid out and nowhere
stored, so no pass has to keep them.
"""

from et_ir.analysis.bounds.analysis import SizeBounds
from et_ops.intervals import Interval

__all__ = ["Interval", "SizeBounds"]
