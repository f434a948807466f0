"""Fuzzing: mutations of well-formed files, and the outcomes that are allowed."""

import sys
from pathlib import Path

# The programs that are mutated are those of the unit tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "et_vm"))
