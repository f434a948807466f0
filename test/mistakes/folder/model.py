"""Models, calibration data and measures, as a new user writes them."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return torch.sigmoid(self.head(self.body(x)))


def net():
    return Net().eval(), (torch.ones(2, 16),)


def two():
    return {"encode": net(), "decode": (nn.Linear(4, 16).eval(), (torch.ones(2, 4),))}


def sized():
    module, args = net()
    return module, args, ({0: torch.export.Dim("batch", max=8)},)


def calibration():
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        yield (torch.randn(2, 16, generator=generator),)


def evaluate(module):
    return 1.0


def energy(y):
    return y.square().mean()


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


def branch():
    return Branch(), (torch.ones(3),)


class Count(nn.Module):
    def forward(self, x):
        return torch.arange(int(x[0].item()) + 1)


def count():
    return Count(), (torch.ones(3, dtype=torch.int64),)


def list_of_inputs():
    return Net().eval(), [torch.ones(2, 16)]


def one_tensor():
    return Net().eval(), torch.ones(2, 16)


def module_alone():
    return Net().eval()


def module_class():
    return Net, (torch.ones(2, 16),)


def wrong_features():
    return Net().eval(), (torch.ones(2, 15),)


def too_many():
    return Net().eval(), (torch.ones(2, 16), torch.ones(2, 16))


def double_input():
    return Net().eval(), (torch.ones(2, 16, dtype=torch.float64),)


def of_arguments(width):
    return nn.Linear(width, 4).eval(), (torch.ones(2, width),)


def missing_weights():
    module, args = net()
    module.load_state_dict(torch.load("weights.pt"))
    return module, args


def other_weights():
    module = nn.Linear(16, 4)
    module.load_state_dict(Net().state_dict())
    return module, (torch.ones(2, 16),)


def fixed_batch():
    return Flat().eval(), (torch.ones(2, 4, 4),), ({0: torch.export.Dim("batch", max=8)},)


class Flat(nn.Module):
    def forward(self, x):
        return x.reshape(2, 16) * 2


def dynamic_of_wrong_name():
    module, args = net()
    return module, args, {"input": {0: torch.export.Dim("batch", max=8)}}


def dynamic_of_wrong_dimension():
    module, args = net()
    return module, args, ({1: torch.export.Dim("features", max=64)},)


def example_out_of_range():
    module, args = net()
    return module, args, ({0: torch.export.Dim("batch", min=4, max=8)},)


def dynamic_by_integers():
    module, args = net()
    return module, args, ({0: 8},)


def unbounded():
    module, args = net()
    return module, args, ({0: torch.export.Dim("batch")},)


def automatic():
    module, args = net()
    return module, args, ({0: torch.export.Dim.AUTO},)


def calibration_raises():
    yield (torch.ones(2, 16),)
    raise FileNotFoundError("data/train.csv")


def calibration_of_wrong_shape():
    yield (torch.ones(2, 20),)


def calibration_of_pairs():
    yield (torch.ones(2, 16), torch.ones(2))


def calibration_by_wrong_name():
    yield {"image": torch.ones(2, 16)}


def calibration_of_nothing():
    yield from ()


def calibration_by_path(path):
    yield (torch.ones(2, 16),)


def evaluate_nothing(module):
    module(torch.ones(2, 16))


def evaluate_raises(module):
    return module(torch.ones(2, 20)).sum().item()


class Spectral(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvalsh(x)


def spectral():
    return Spectral(), (torch.eye(3),)


class Scatter(nn.Module):
    def forward(self, x):
        return torch.special.airy_ai(x)


def airy():
    return Scatter(), (torch.ones(3),)


def half_net():
    return Net().eval().half(), (torch.ones(2, 16),)


def training():
    return nn.Sequential(nn.Linear(16, 4), nn.Dropout()).train(), (torch.ones(2, 16),)


class Cuda(nn.Module):
    def forward(self, x):
        return x + torch.ones(3, device="cuda")


def cuda():
    return Cuda(), (torch.ones(3),)


class Prints(nn.Module):
    def forward(self, x):
        print(f"mean {x.mean().item():.3f}")
        return x + 1


def prints():
    return Prints(), (torch.ones(3),)


class Returns(nn.Module):
    def forward(self, x):
        return {"value": x, "name": object()}


def returns_an_object():
    return Returns(), (torch.ones(3),)


class Numpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() + 1)


def uses_numpy():
    return Numpy(), (torch.ones(3),)
