"""Sweeps: models × backends × targets × options compiled, checked and timed, one row a cell."""

from et_sweep.sweep import Outcome, run

__all__ = ["Outcome", "run"]
