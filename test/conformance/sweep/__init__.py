"""Torch's own samples of every operator: through kernels, end to end, and on the stock runtime.

`make sweep` runs all of it and writes `docs/ops.md`.
"""
