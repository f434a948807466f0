"""A dialect of one's own, from op to kernel: docs/tutorials/dialect.md."""
