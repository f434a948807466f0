"""Small random models of images whose sizes are known at run time only, or follow from data."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"

from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn
from torch.export import Dim

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

PATCHES = 16


class Features(nn.Module):
    """Features of patches, whose rotary positions are computed of the numbers of rows and columns."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import DINOv3ViTConfig, DINOv3ViTModel

        torch.manual_seed(0)
        config = DINOv3ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            patch_size=8,
            image_size=32,
            num_register_tokens=2,
        )
        self.model: Any = DINOv3ViTModel(config)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.model(pixel_values=pixels).last_hidden_state


class Patches(nn.Module):
    """Features of images given as patches, beside how many rows and columns of them there are."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import Siglip2VisionConfig, Siglip2VisionModel

        torch.manual_seed(0)
        config = Siglip2VisionConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            patch_size=4,
            num_patches=PATCHES,
        )
        self.model: Any = Siglip2VisionModel(config)
        self.model.set_attn_implementation("eager")

    def forward(self, patches: Tensor, mask: Tensor, sizes: Tensor) -> Tensor:
        return self.model(
            pixel_values=patches, pixel_attention_mask=mask, spatial_shapes=sizes
        ).last_hidden_state


@pytest.mark.parametrize("sizes", ["multiples", "any", "automatic"])
def test_dinov3(sizes: str, stock: StockRuntime, tmp_path: Path) -> None:
    """Of a size that is no multiple of a patch's, the rest is left out: guards of its export are about roundings."""
    model = Features().eval()
    dynamic: dict[int, Any] = {
        "multiples": {2: 8 * Dim("h", min=2, max=8), 3: 8 * Dim("w", min=2, max=8)},
        "any": {2: Dim("h", min=16, max=64), 3: Dim("w", min=16, max=64)},
        "automatic": {2: Dim.AUTO, 3: Dim.AUTO},
    }[sizes]
    program = torch.export.export(model, (torch.randn(1, 3, 32, 48),), dynamic_shapes=(dynamic,))
    bounds = {"pixels.2": 64, "pixels.3": 64} if sizes == "automatic" else {}
    path = tmp_path / "model.pte"
    to_edge(program, compile_config=EdgeCompileConfig(default_bounds=bounds)).to_executorch().save(path)
    method = Runtime().load_program(path, poison=True).load_method("forward")
    rest = 0 if sizes == "multiples" else 3
    for height, width in ((32, 48), (64, 16), (16 + rest, 24), (40, 40 + rest)):
        pixels = torch.randn(1, 3, height, width)
        with torch.no_grad():
            expected = model(pixels)
        assert expected.shape[1] == 3 + (height // 8) * (width // 8)
        for (found,) in (method.execute([pixels]), stock.run(path, [pixels])):
            torch.testing.assert_close(torch.as_tensor(found), expected, rtol=1e-4, atol=1e-5)


def test_siglip2() -> None:
    """Rows and columns are numbers in a tensor, so that nothing bounds the positions that are interpolated."""
    model = Patches().eval()
    patches = torch.randn(1, PATCHES, 48)

    def inputs(rows: int, columns: int) -> tuple[Tensor, ...]:
        mask = (torch.arange(PATCHES) < rows * columns).long()[None]
        return patches, mask, torch.tensor([[rows, columns]])

    program = to_edge(torch.export.export(model, inputs(2, 8)))
    config = ExecutorchBackendConfig(target="et-vm", unbounded="runtime")
    loaded = Runtime().load_program(program.to_executorch(config).buffer, poison=True)
    method = loaded.load_method("forward")
    for rows, columns in ((2, 8), (4, 4), (3, 5), (1, 2), (16, 1)):
        with torch.no_grad():
            expected = model(*inputs(rows, columns))
        (found,) = method.execute(list(inputs(rows, columns)))
        torch.testing.assert_close(torch.as_tensor(found), expected, rtol=1e-4, atol=1e-5)
