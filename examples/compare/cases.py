"""Add test cases to a file: inputs, and what torch computes of them."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from et_vm.devtools.bundled import bundle
from examples.tour import net


def main(program: str, bundled: str) -> None:
    model, _ = net()
    inputs = [torch.randn(2, 4) for _ in range(3)]
    with torch.no_grad():
        cases = [("forward", [x.numpy()], [model(x).numpy()]) for x in inputs]
    with open(bundled, "wb") as file:
        bundle(Path(program).read_bytes(), cases, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
