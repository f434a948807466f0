"""Seeded weights that keep activations of order 1 through the depth of a network.

A comparison with rtol 1e-4 / atol 1e-5 says little when activations have decayed to zero, blown up or
saturated a clamp. So weights are scaled by fan-in, and batch norms get the statistics of a forward pass,
blurred so that they are not exact.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Run the body from `torch.manual_seed(seed)` and give the caller's random state back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@torch.no_grad()
def initialise(module: nn.Module) -> nn.Module:
    """Draw every parameter of `module` from torch's current random state; returns it in eval mode.

    Convolutions use He's gain (their inputs are mostly rectified), linear layers unit gain, embeddings half
    of it (a tied head then gives logits of order 1/2). Vectors that default to an identity (norm scales and
    biases) get values that a compiler cannot mistake for it.
    """
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            part.weight.normal_(0.0, math.sqrt(2.0 / part.weight[0].numel()))
        elif isinstance(part, nn.Linear):
            part.weight.normal_(0.0, 1.0 / math.sqrt(part.in_features))
        elif isinstance(part, nn.Embedding):
            part.weight.normal_(0.0, 0.5 / math.sqrt(part.embedding_dim))
        elif isinstance(part, (nn.BatchNorm2d, nn.LayerNorm, nn.RMSNorm)):
            part.weight.uniform_(0.5, 1.5)
        bias = getattr(part, "bias", None)
        if isinstance(bias, nn.Parameter):
            bias.normal_(0.0, 0.1)
    return module.eval()


@torch.no_grad()
def calibrate(module: nn.Module, image: Tensor) -> nn.Module:
    """Set running statistics to about those of the forward pass `module(image)`; returns it in eval mode.

    Channel by channel, means move by some tenths of a standard deviation, variances by a factor in [0.7,
    1.5].
    """
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train().momentum = 1.0
    module(image)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean += 0.1 * norm.running_var.sqrt() * torch.randn_like(norm.running_mean)
        norm.running_var *= torch.empty_like(norm.running_var).uniform_(0.7, 1.5)
    return module.eval()
