"""Small random models of speech whose sizes follow from data, or from constants that torch reads as data."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_ir.diagnostics import PassReport
from et_schema.errors import ExecutorchError
from et_vm.runtime import Runtime

TOKENS = torch.arange(1, 13)[None]


class Speech(nn.Module):
    """Waveforms of token ids, without the noise that a model draws."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import VitsConfig, VitsModel

        torch.manual_seed(0)
        config = VitsConfig(
            vocab_size=38,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            ffn_dim=32,
            flow_size=16,
            spectrogram_bins=33,
            upsample_initial_channel=32,
            upsample_rates=[4, 2],
            upsample_kernel_sizes=[8, 4],
            resblock_kernel_sizes=[3, 5],
            resblock_dilation_sizes=[[1, 3], [1, 3]],
            prior_encoder_num_flows=2,
            prior_encoder_num_wavenet_layers=2,
            posterior_encoder_num_wavenet_layers=2,
            wavenet_kernel_size=3,
            duration_predictor_filter_channels=16,
            use_stochastic_duration_prediction=False,
            noise_scale=0.0,
            noise_scale_duration=0.0,
        )
        self.model: Any = VitsModel(config)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(input_ids=tokens).waveform


class Decoder(nn.Module):
    """Audio of codes."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import MimiConfig, MimiModel

        torch.manual_seed(0)
        config = MimiConfig(
            hidden_size=32,
            num_filters=4,
            num_residual_layers=1,
            upsampling_ratios=[4, 3, 2, 2],
            codebook_size=16,
            codebook_dim=16,
            vector_quantization_hidden_dimension=16,
            num_hidden_layers=2,
            intermediate_size=32,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=16,
            num_quantizers=4,
            num_semantic_quantizers=1,
            upsample_groups=32,
            sliding_window=10,
            max_position_embeddings=64,
        )
        self.model: Any = MimiModel(config)
        self.model.set_attn_implementation("eager")

    def forward(self, codes: Tensor) -> Tensor:
        return self.model.decode(codes).audio_values


def test_vits() -> None:
    """The number of frames is a sum of predicted durations: the error names the size, and a bound is accepted."""
    model = Speech().eval()
    exported = torch.export.export(model, (TOKENS,))
    with pytest.raises(PassReport, match=r"or by EdgeCompileConfig\(default_bounds=\{'u\d+': N\}") as found:
        to_edge(exported).to_executorch(ExecutorchBackendConfig(target="et-vm"))
    name = str(found.value).partition("default_bounds={'")[2].partition("'")[0]
    with torch.no_grad():
        expected: Tensor = model(TOKENS)
    frames = expected.shape[1] // 8
    for most in (frames, frames - 1):
        edge = to_edge(exported, compile_config=EdgeCompileConfig(default_bounds={name: most}))
        program = edge.to_executorch(ExecutorchBackendConfig(target="et-vm"))
        method = Runtime().load_program(program.buffer).load_method("forward")
        if most < frames:
            with pytest.raises(ExecutorchError):
                method.execute([TOKENS])
        else:
            torch.testing.assert_close(
                torch.as_tensor(method.execute([TOKENS])[0]), expected, rtol=0, atol=1e-4
            )


def test_vits_of_any_length() -> None:
    """Memory at run time holds as many frames as the durations add up to."""
    model = Speech().eval()
    config = ExecutorchBackendConfig(target="et-vm", unbounded="runtime")
    program = to_edge(torch.export.export(model, (TOKENS,))).to_executorch(config)
    method = Runtime().load_program(program.buffer, poison=True).load_method("forward")
    lengths: set[int] = set()
    for seed in range(3):
        tokens = torch.randint(1, 38, TOKENS.shape, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected: Tensor = model(tokens)
        lengths.add(expected.shape[1])
        (found,) = method.execute([tokens])
        torch.testing.assert_close(torch.as_tensor(found), expected, rtol=0, atol=1e-4)
    assert len(lengths) > 1


def test_mimi() -> None:
    """Paddings are read from constants, so that all sizes are known."""
    model = Decoder().eval()
    codes = torch.randint(0, 16, (1, 4, 10), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected: Tensor = model(codes)  # first, as it caches tables in attributes
    program = to_edge(torch.export.export(model, (codes,))).to_executorch()
    method = Runtime().load_program(program.buffer).load_method("forward")
    assert method.metadata.output_tensor_meta(0).sizes() == tuple(expected.shape)
    torch.testing.assert_close(torch.as_tensor(method.execute([codes])[0]), expected, rtol=1e-4, atol=1e-4)
