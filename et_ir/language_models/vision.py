"""Vision-language models as methods: image encoder, token embedding and decoder.

The methods have the names that ExecuTorch's multimodal runner expects.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from et_ir.language_models.decoder import CachedDecoder, Sizes, check_finite
from et_ir.language_models.errors import LanguageModelError
from et_schema.wording import worded

__all__ = [
    "CachedEmbeddingDecoder",
    "TokenEmbedding",
    "VisionEncoder",
    "check_vision_model",
    "export_vision_model",
    "image_metadata",
    "image_size",
    "least_chunk",
]

_EXAMPLE: Final = 3
_TOLERANCE: Final = 1e-3
_BLOCKS: Final = {"gemma3": "image", "paligemma": "prompt"}
"""Families where the tokens of an image, or of a whole prompt, see one another."""


def image_size(config: Any) -> tuple[int, int]:
    """The height and width in pixels of a model's input images.

    Raises `LanguageModelError` for a model that takes any.
    """
    found: Any = getattr(config.vision_config, "image_size", None)
    if found is None:
        raise LanguageModelError(
            worded(
                python="images of any size: give their height and width",
                command="images of any size: give --image-size HEIGHTxWIDTH",
            )
        )
    sides = cast("list[Any]", found if isinstance(found, list | tuple) else [found])
    return int(sides[0]), int(sides[-1])


def least_chunk(encoder: VisionEncoder) -> int:
    """The fewest tokens that a call must take: those that see one another, and of a prompt as many again or 64."""
    block = _BLOCKS.get(encoder.model.config.model_type)
    if block is None:
        return 1
    with torch.no_grad():
        tokens = encoder(torch.zeros(1, 3, *encoder.size)).shape[1]
    return tokens + max(tokens, 64) if block == "prompt" else tokens


class VisionEncoder(nn.Module):
    """An image `[1, 3, height, width]` f32, scaled as the model expects it, to embeddings `[1, tokens, width]`.

    Raises `LanguageModelError` for a size that the model does not take.
    """

    def __init__(self, model: Any, size: tuple[int, int]) -> None:
        super().__init__()
        self.model = model
        self.size = size
        self.grid: tuple[int, int] | None = None
        """Rows and columns of embeddings, where positions depend on them."""
        vision = model.config.vision_config
        if getattr(vision, "deepstack_visual_indexes", None):
            raise LanguageModelError(f"{type(model).__name__} reads images in several layers of its decoder")
        merge = getattr(vision, "spatial_merge_size", None)
        self._merge = int(merge) if merge is not None and hasattr(model.model, "visual") else None
        if self._merge is not None:
            unit = vision.patch_size * self._merge
            if size[0] % unit or size[1] % unit:
                raise LanguageModelError(
                    f"images of {size[0]}x{size[1]}: expected multiples of {unit} pixels"
                )
            rows, columns = size[0] // vision.patch_size, size[1] // vision.patch_size
            self.grid = rows // self._merge, columns // self._merge
            self.register_buffer("places", _places(rows, columns, self._merge), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """The embeddings."""
        inner = self.model.model
        if self._merge is not None:
            patches = self.patches(pixels)
            # Lengths of sequences are numbers of the program, not data.
            ends: Any = np.array([0, patches.shape[0]])
            found: Any = inner.visual(
                patches, grid_thw=None, position_ids=self.places, cu_seqlens=ends
            ).pooler_output
        elif hasattr(inner, "connector"):
            found = inner.connector(inner.vision_model(pixels).last_hidden_state)
        else:
            found = self.model.get_image_features(pixel_values=pixels).pooler_output
        if isinstance(found, list | tuple):
            found = torch.cat(cast("list[Tensor]", found))
        return found.reshape(1, -1, found.shape[-1])

    def patches(self, pixels: Tensor) -> Tensor:
        """Patches of an image, those that are merged one behind the other, as those of a still video."""
        vision, merge = self.model.config.vision_config, self._merge
        assert self.grid is not None
        assert merge is not None
        patch, (rows, columns) = vision.patch_size, self.grid
        parts = pixels.reshape(3, rows, merge, patch, columns, merge, patch).permute(1, 4, 2, 5, 0, 3, 6)
        stills = parts[:, :, :, :, :, None].expand(-1, -1, -1, -1, -1, vision.temporal_patch_size, -1, -1)
        return stills.reshape(rows * merge * columns * merge, -1)


def _places(rows: int, columns: int, merge: int) -> Tensor:
    """Row and column of each patch, `[patches, 2]` i64, those that are merged one behind the other."""
    grid = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1)
    return grid.reshape(rows // merge, merge, columns // merge, merge, 2).transpose(1, 2).reshape(-1, 2)


class TokenEmbedding(nn.Module):
    """Token ids `[1, T]` i64 to embeddings `[1, T, width]`."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        """The embeddings."""
        return self.model.get_input_embeddings()(tokens)


class CachedEmbeddingDecoder(CachedDecoder):
    """Embeddings `[1, T, width]` and their positions `[T]` i64 to logits, as `CachedDecoder` from token ids.

    A model with positions of rows and columns takes these as well, `[3, T]` i64: times, rows, columns.
    """

    def __init__(
        self, model: Any, sizes: Sizes, *, all_logits: bool = False, quantize_cache: bool = False
    ) -> None:
        text = model.config.get_text_config(decoder=True)
        self.width = int(text.hidden_size)
        self.block = _BLOCKS.get(model.config.model_type)
        """The part within which tokens see one another: a `prompt`, an `image`, none."""
        rotary: Any = getattr(text, "rope_parameters", None) or {}
        self.is_spatial = "mrope_section" in rotary
        self._first = 1 if model.config.model_type == "paligemma" else 0
        super().__init__(model, sizes, all_logits=all_logits, quantize_cache=quantize_cache)

    def example(self, tokens: int) -> tuple[Tensor, ...]:
        """Inputs of a call."""
        positions = torch.arange(tokens)
        inputs = torch.zeros(1, tokens, self.width), positions
        return (*inputs, positions.expand(3, -1).clone()) if self.is_spatial else inputs

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  (of other inputs)
        self, embeddings: Tensor, positions: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Logits, after the cache has been extended."""
        rotary = positions[None] + self._first if places is None else places[:, None]
        return self.called({"inputs_embeds": embeddings}, positions, rotary)

    @contextmanager
    def as_block(self, *, is_block: bool = True) -> Generator[None]:
        """Within it, the tokens of a call see one another, if it is a block."""
        self.sees_call = is_block
        try:
            yield
        finally:
            self.sees_call = False


def image_metadata(encoder: VisionEncoder, decoder: CachedEmbeddingDecoder) -> dict[str, Any]:
    """Constant methods about images: the id that stands for one in a prompt, and how its embeddings are read."""
    config = encoder.model.config
    token = getattr(config, "image_token_id", None)
    if token is None:
        raise LanguageModelError(f"{type(encoder.model).__name__} has no token that stands for an image")
    constants: dict[str, Any] = {"get_image_token_id": int(token)}
    if encoder.grid is not None and decoder.is_spatial:
        constants["get_image_grid"] = list(encoder.grid)
    if decoder.block is not None:
        constants["get_is_prompt_block"] = decoder.block == "prompt"
    return constants


def check_vision_model(
    encoder: VisionEncoder, embedding: TokenEmbedding, decoder: CachedEmbeddingDecoder, sizes: Sizes
) -> None:
    """Raise `LanguageModelError` if the logits for an image and text differ from the original model's.

    The cache is all zeros afterwards.
    """
    model = encoder.model
    token = int(image_metadata(encoder, decoder)["get_image_token_id"])
    pixels = torch.linspace(-1, 1, 3 * encoder.size[0] * encoder.size[1]).reshape(1, 3, *encoder.size)
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    text = torch.arange(1, 2 * _EXAMPLE + 1)[None] * 7919 % vocabulary
    text[text == token] = 0 if token else 1
    with torch.no_grad():
        image = encoder(pixels)
        count = image.shape[1]
        if count + text.shape[1] > sizes.context:
            raise LanguageModelError(
                f"an image is {count} tokens, which leaves no room in a context of {sizes.context}"
            )
        before, behind = text[:, :2], text[:, 2:]
        ids = torch.cat([before, torch.full((1, count), token), behind], dim=1)
        wanted = model(**whole_inputs(encoder, decoder, ids, pixels), use_cache=False).logits[:, -1]
        parts = [(embedding(before), False), (image, decoder.block == "image"), (embedding(behind), False)]
        if decoder.block == "prompt":
            parts = [(torch.cat([part for part, _ in parts], dim=1), True)]
        found = _fed(decoder, parts, spatial_places(encoder, ids, token), sizes.chunk)
        found = found[:, -1] if decoder.all_logits else found
        for buffer in decoder.cache.buffers():
            buffer.zero_()
    check_finite(model, wanted)
    scale, error = float(wanted.abs().max()), float((found - wanted).abs().max())
    if not error <= (0.1 if decoder.quantize_cache else _TOLERANCE) * scale:
        raise LanguageModelError(
            f"{type(model).__name__} in parts gives logits that are off by {error:.1e} of {scale:.1e}: its images or "
            "masks are not read in the way of the families that are known"
        )


def _fed(
    decoder: CachedEmbeddingDecoder, parts: list[tuple[Tensor, bool]], places: Tensor, longest: int
) -> Tensor:
    """The logits for embeddings, with or without blocks."""
    found, at = torch.empty(0), 0
    for part, is_block in parts:
        size = part.shape[1]
        if is_block and size > longest:
            more = worded(python="a chunk", command="--max-prefill")
            raise LanguageModelError(f"{size} tokens see one another: give {more} of at least as many")
        for first in range(0, size, longest):
            chunk = part[:, first : first + longest]
            positions = torch.arange(at, at + chunk.shape[1])
            given = (chunk, positions, places[:, positions])[: 3 if decoder.is_spatial else 2]
            with decoder.as_block(is_block=is_block):
                found = decoder(*given)
            at += chunk.shape[1]
    return found


def whole_inputs(
    encoder: VisionEncoder, decoder: CachedEmbeddingDecoder, ids: Tensor, pixels: Tensor
) -> dict[str, Any]:
    """The inputs of the original model for a prompt `[1, T]` with one image."""
    config = encoder.model.config
    inputs: dict[str, Any] = {"input_ids": ids}
    if decoder.block == "prompt":
        inputs["token_type_ids"] = torch.zeros_like(ids)
    elif decoder.block == "image":
        inputs["token_type_ids"] = (ids == config.image_token_id).long()
    if encoder.grid is not None:
        merge = config.vision_config.spatial_merge_size
        grid = torch.tensor([[1, encoder.grid[0] * merge, encoder.grid[1] * merge]])
        inputs |= {"pixel_values": encoder.patches(pixels), "image_grid_thw": grid}
        if decoder.is_spatial:
            inputs["mm_token_type_ids"] = (ids == config.image_token_id).int()
    else:
        inputs["pixel_values"] = pixels[None] if hasattr(encoder.model.model, "connector") else pixels
    return inputs


def spatial_places(encoder: VisionEncoder, ids: Tensor, token: int) -> Tensor:
    """Times, rows and columns `[3, T]` i64 of a prompt `[1, T]` with images."""
    rows, columns = encoder.grid or (1, 1)
    found: list[Tensor] = []
    at = first = 0
    listed: list[int] = cast(Any, ids[0]).tolist()
    while at < len(listed):
        if listed[at] != token:
            found.append(torch.full((3, 1), first))
            at, first = at + 1, first + 1
            continue
        grid = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")).reshape(
            2, -1
        )
        found.append(torch.cat([torch.zeros_like(grid[:1]), grid]) + first)
        at, first = at + rows * columns, first + max(rows, columns)
    return torch.cat(found, dim=1)


def export_vision_model(
    encoder: VisionEncoder, embedding: TokenEmbedding, decoder: CachedEmbeddingDecoder, sizes: Sizes
) -> dict[str, ExportedProgram]:
    """The methods `vision_encoder`, `token_embedding` and `text_decoder`, of up to `sizes.chunk` tokens.

    A model with blocks of tokens that see one another has `block_decoder` as well, for these. Raises what
    `torch.export` does.
    """
    example = min(_EXAMPLE, sizes.chunk)
    length = Dim("tokens", min=1, max=sizes.chunk) if sizes.chunk > 1 else None
    given = decoder.example(example)
    shapes: Any = None
    if length is not None:
        shapes = ({1: length}, {0: length}, {1: length})[: len(given)]
    pixels = torch.zeros(1, 3, *encoder.size)
    ids = torch.zeros(1, example, dtype=torch.int64)
    programs = {
        "vision_encoder": torch.export.export(encoder, (pixels,)),
        "token_embedding": torch.export.export(
            embedding, (ids,), dynamic_shapes=None if length is None else ({1: length},)
        ),
        "text_decoder": torch.export.export(decoder, given, dynamic_shapes=shapes),
    }
    if decoder.block is not None:
        with decoder.as_block():
            programs["block_decoder"] = torch.export.export(decoder, given, dynamic_shapes=shapes)
    return programs
