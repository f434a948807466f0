"""Training on the stock runtime, in a process of its own: `python training_on_stock.py JOB RESULT`.

JOB has a file, batches and the options of the optimizer; RESULT gets the loss and the parameters after each step.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import torch


def train_on_stock(
    file: bytes, batches: list[tuple[Any, ...]], options: dict[str, Any], folder: Path
) -> list[tuple[torch.Tensor, dict[str, torch.Tensor]]]:
    """The loss before and the parameters after each step."""
    job, result = folder / "job.pt", folder / "result.pt"
    torch.save((file, batches, options), job)
    line = [sys.executable, __file__, str(job), str(result)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return torch.load(result, weights_only=False)


def _main(job: str, result: str) -> None:
    from executorch.extension.training import (
        _load_for_executorch_for_training_from_buffer,
        get_sgd_optimizer,
    )

    file, batches, options = torch.load(job, weights_only=False)
    module = _load_for_executorch_for_training_from_buffer(file)
    optimizer = None
    steps: list[Any] = []
    for batch in batches:
        outputs = module.forward_backward("forward", batch)
        if optimizer is None:
            optimizer = get_sgd_optimizer(module.named_parameters(), **options)
        optimizer.step(module.named_gradients())
        steps.append((outputs[0], {name: value.clone() for name, value in module.named_parameters().items()}))
    torch.save(steps, result)


if __name__ == "__main__":
    _main(*sys.argv[1:])
