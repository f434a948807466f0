"""Upper bounds of dynamic tensor sizes.

It is for sizes that only the data or the caller tells.

`SizeBounds` derives, for every value of a method, the largest size of each dimension, and for every number the range
that it lies in. Types state them: sizes are numbers, or expressions of symbols that have ranges, and builders infer
the types of what passes make (`et_ir.dialects.schema.inference`). The rest is for sizes without an expression:

- text without symbols, of which `program.range` states the sizes;
- results of operators whose size depends on data (`nonzero` finds at most as many elements as there are), or that no
  shape rule tells exactly;
- what is made from these. A statement about a result holds for its operands of the same size too (`sources.py`).

Bounds are derived where memory is laid out and nowhere stored, so no pass has to keep them.
"""

from et_ir.analysis.bounds.analysis import SizeBounds
from et_ops.intervals import Interval

__all__ = ["Interval", "SizeBounds"]
