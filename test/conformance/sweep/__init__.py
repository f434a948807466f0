"""Torch's own samples of every operator through kernels, through the whole road, and on the stock runtime.

`make sweep` runs all of it and writes `docs/ops.md`.
"""
