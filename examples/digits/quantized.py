"""The digits network in integers: after training, with training, dynamically, and with weights of 4 bits.

    python -m examples.digits.quantized                       # a table of accuracy, file size and time on et-vm

`et-compile examples/digits/quantized.py:digits -o digits.pte --quantize int8 --calibrate calibration` makes the first.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from examples.digits import network

__all__ = ["MODES", "calibration", "digits", "evaluate", "quantized"]

EPOCHS = 8
"""Of training with quantized values."""
RATE = 3e-4
IMAGES = 256
"""For calibration, of the training part."""

digits = network.digits


def calibration() -> Iterator[tuple[Tensor]]:
    """Images `[1, 1, 8, 8]` of the training part, which observers see."""
    for image in network.dataset().train_images[:IMAGES].split(1):
        yield (image,)


def evaluate(module: nn.Module) -> float:
    """The part of the held-out digits that a module tells right."""
    data = network.dataset()
    with torch.no_grad(), network.one_thread():
        guesses = torch.cat([module(image).argmax(1) for image in data.test_images.split(1)])
    return float((guesses == data.test_labels).float().mean())


def _exported(module: nn.Module) -> ExportedProgram:
    return torch.export.export(module, next(calibration()))


def _by_mode(mode: str) -> Callable[[nn.Module], ExportedProgram]:
    def quantized_by_mode(module: nn.Module) -> ExportedProgram:
        from et_ir.quantization import quantize

        inputs = next(calibration())
        return _exported(quantize(module, inputs, mode, calibration=calibration()).module)

    return quantized_by_mode


def _with_training(module: nn.Module) -> ExportedProgram:
    """Trained on with the errors of quantization in the forward pass."""
    from torchao.quantization.pt2e import move_exported_model_to_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

    from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config

    data = network.dataset()
    count = torch.export.Dim("count", min=1, max=4 * network.BATCH)
    inputs = (data.train_images[: network.BATCH],)
    config = get_symmetric_quantization_config(is_per_channel=True, is_qat=True)
    with network.one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(network.SEED)
        exported = torch.export.export(module.train(), inputs, dynamic_shapes=({0: count},)).module()
        prepared = prepare_qat_pt2e(exported, XNNPACKQuantizer().set_global(config))
        optimiser = torch.optim.Adam(prepared.parameters(), lr=RATE)
        steps = EPOCHS * -(-len(data.train_labels) // network.BATCH)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(data.train_labels)).split(network.BATCH):
                loss = nn.functional.cross_entropy(
                    prepared(data.train_images[batch]),
                    data.train_labels[batch],
                    label_smoothing=network.SMOOTHING,
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
    module.eval()
    move_exported_model_to_eval(prepared)
    converted = convert_pt2e(prepared)
    move_exported_model_to_eval(converted)
    return torch.export.export(converted, inputs, dynamic_shapes=({0: count},))


def _four_bits(module: nn.Module) -> ExportedProgram:
    """Weights of 4 bits with a scale for each output channel, activations of 8 bits."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config

    config = get_symmetric_quantization_config(is_per_channel=True, weight_qmin=-8, weight_qmax=7)
    prepared = prepare_pt2e(_exported(module).module(), XNNPACKQuantizer().set_global(config))
    for inputs in calibration():
        prepared(*inputs)
    return _exported(convert_pt2e(prepared))


MODES: dict[str, Callable[[nn.Module], ExportedProgram]] = {
    "float": _exported,
    "int8": _by_mode("int8"),
    "int8, trained": _with_training,
    "int8-dynamic": _by_mode("int8-dynamic"),
    "int8-weights": _by_mode("int8-weights"),
    "4-bit weights": _four_bits,
}
"""Function that makes a program of the trained network, by mode."""


def quantized(mode: str, module: nn.Module) -> ExportedProgram:
    """The program of a mode, without what torchao says of itself."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"), network.one_thread():
            return MODES[mode](module)
    finally:
        logging.disable(logging.NOTSET)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits.quantized",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output-dir", type=Path, default=Path("build/digits"))
    directory: Path = parser.parse_args(arguments).output_dir

    from et_ir import ExecutorchBackendConfig, to_edge
    from et_vm.runtime import Runtime
    from examples.digits.__main__ import trained

    directory.mkdir(parents=True, exist_ok=True)
    data = network.dataset()
    images, labels = data.test_images.numpy(), data.test_labels.numpy()
    print(f"{'mode':14} {'right':>12} {'accuracy':>9} {'file':>9} {'a digit':>9}")
    for mode in MODES:
        module, _ = trained(directory, data)
        path = directory / f"{mode.replace(', ', '-').replace(' ', '-')}.pte"
        edge = to_edge(quantized(mode, module))
        edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
        method = Runtime.get().load_program(path).load_method("forward")
        start = time.perf_counter()
        guesses = np.concatenate(
            [np.array(method.execute([x])[0]) for x in np.split(images, len(images))]
        ).argmax(1)
        seconds = (time.perf_counter() - start) / len(images)
        right = int((guesses == labels).sum())
        print(
            f"{mode:14} {right:4} of {len(labels):4} {right / len(labels):9.2%} {path.stat().st_size:9,} "
            f"{seconds * 1e3:6.3f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
