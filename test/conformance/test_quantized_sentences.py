"""The sentence encoder quantized in a mode for transformers: the order of similarities, and the size of the file."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.quantization import quantize
from et_vm.runtime import Runtime
from examples.sentences import encoder, texts

Tokens = list[tuple[torch.Tensor, torch.Tensor]]

MODES: Final = {"int8-dynamic": (0.99, 0.27), "8da4w:embedding=4": (0.97, 0.16)}
"""By mode, the least Spearman correlation with floats, and the largest part of the bytes of the float parameters."""


@cache
def reference() -> tuple[nn.Module, Tokens, np.ndarray]:
    """The encoder in floats, the sentences of the example, and their embeddings `[N, 384]` in eager."""
    model = encoder.load()
    tokens = encoder.tokenise([*(one for _, one in texts.LIBRARY), *(one for one, _ in texts.QUESTIONS)])
    with torch.no_grad():
        return model, tokens, torch.cat([model(*one) for one in tokens]).numpy()


def similarities(embeddings: np.ndarray) -> np.ndarray:
    """Cosines of all pairs of unit vectors."""
    return (embeddings @ embeddings.T)[np.triu_indices(len(embeddings), 1)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_similarity(mode: str) -> None:
    model, tokens, floats = reference()
    calibration = encoder.calibration() if mode.startswith("8da4w") else ()
    module = quantize(model, tokens[0], mode, calibration=calibration).module
    program = torch.export.export(module, tokens[0])
    file = to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    correlation, part = MODES[mode]
    assert len(file) <= part * sum(one.numel() * one.element_size() for one in model.parameters())
    method = Runtime.get().load_program(file, kernels="aten").load_method("forward")
    found = np.concatenate([np.asarray(method.execute([ids, mask])[0]) for ids, mask in tokens])
    assert spearmanr(similarities(found), similarities(floats)).statistic >= correlation
