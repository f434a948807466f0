"""Models that call operators of their own."""

import torch
from torch import nn

if not hasattr(torch.ops.tune, "loud"):

    @torch.library.custom_op("tune::gain", mutates_args=())
    def gain(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * 2)

    @torch.library.custom_op("tune::shapeless", mutates_args=())
    def shapeless(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    gain.register_fake(torch.empty_like)
    torch.library.define("tune::loud", "(Tensor x) -> Tensor")
    torch.library.define("tune::loud.out", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    torch.library.impl("tune::loud", "CPU")(lambda x: x * 2)
    torch.library.register_fake("tune::loud")(torch.empty_like)


class Gain(nn.Module):
    def forward(self, x):
        return torch.ops.tune.gain(x) + 1


class Loud(nn.Module):
    def forward(self, x):
        return torch.ops.tune.loud(x) + 1


class Shapeless(nn.Module):
    def forward(self, x):
        return torch.ops.tune.shapeless(x) + 1


def without_out():
    return Gain(), (torch.ones(3),)


def loud():
    return Loud(), (torch.ones(3),)


def without_shape():
    return Shapeless(), (torch.ones(3),)
