"""Decoders with a cache of fixed size, and their export."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch._dynamo.exc import UserError
from torch.export import Dim, ExportedProgram

from et_ir.language_models.cache import CacheBuffers, cache_argument
from et_ir.language_models.custom_attention import NAME as CUSTOM_ATTENTION
from et_ir.language_models.custom_attention import use_custom_attention
from et_ir.language_models.errors import LanguageModelError
from et_ir.language_models.experts import use_experts
from et_ir.language_models.recurrence import scanned_recurrence

__all__ = ["CachedDecoder", "DecoderPrograms", "Sizes", "check_decoder", "export_decoder"]

_EXAMPLE: Final = 3
"""Tokens of the call that a method for any number of them is exported from."""
_SPECIALIZED: Final = 2
"""The size of a call that cannot be the largest of several."""
_TOLERANCE: Final = 1e-3
"""Largest difference between logits with and without the cache, relative to the largest logit."""
_QUANTIZED_TOLERANCE: Final = 0.1
"""The same for a quantized cache: more than its rounding, less than a wrong place or mask."""


@dataclass(frozen=True)
class Sizes:
    """The sizes that a program is made for."""

    context: int = 2048
    """Positions that the cache holds."""
    chunk: int = 128
    """The most tokens of one call: longer prompts take several. Of 2 it becomes 3, as `torch.export` takes a size of at
    most 2 for 2 always.
    """

    def __post_init__(self) -> None:
        if self.context < 2 * _EXAMPLE:
            raise LanguageModelError(
                f"a context of {self.context} tokens: expected at least {2 * _EXAMPLE}, by which models are checked"
            )
        if not 1 <= self.chunk <= self.context:
            raise LanguageModelError(
                f"calls of up to {self.chunk} tokens: expected 1 to {self.context}, the length of the context"
            )
        if self.chunk == _SPECIALIZED:
            object.__setattr__(self, "chunk", _SPECIALIZED + 1)


class CachedDecoder(nn.Module):
    """Decoder with a cache: from token ids `[1, T]` and positions `[T]`, both i64, to the logits of the last token,
    `[1, vocabulary]`, or with `all_logits` of every token, `[1, T, vocabulary]`.

    Positions are consecutive, and start where the previous call ended or at any earlier position: cache entries of
    later positions are masked. `quantize_cache` stores keys and values in 8 bits. With `custom_attention`, layers use
    `llama::custom_sdpa` for attention. With `grouped_experts`, mixtures of experts are products of groups of rows,
    `grouped::linear`, which the native backend has a kernel for; else they are masked products. Raises
    `LanguageModelError` for a model that cannot be cached in this way.
    """

    def __init__(
        self,
        model: Any,
        sizes: Sizes,
        *,
        all_logits: bool = False,
        quantize_cache: bool = False,
        custom_attention: bool = False,
        grouped_experts: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.chunk = sizes.chunk
        """The most tokens of one call, which windows leave room for."""
        self.all_logits = all_logits
        config = model.config.get_text_config(decoder=True)
        self.quantize_cache = quantize_cache
        self.custom_attention = custom_attention
        self.cache = CacheBuffers(config, sizes.context, sizes.chunk, is_quantized=quantize_cache)
        taken = inspect.signature(model.forward).parameters
        self._cache_name = cache_argument(model)
        self._takes_positions = "position_ids" in taken
        self._takes_kept = "logits_to_keep" in taken
        if custom_attention:
            use_custom_attention(model, self.cache.layers)
        use_experts(model, grouped=grouped_experts)
        self._adds_masks = config._attn_implementation != "sdpa"
        self._dtype = model.dtype
        self.sees_call = False
        """Whether the tokens of a call see one another, and not those before them alone."""
        self.takes_one = self.cache.is_recurrent
        """Whether a call takes one token; of recurrent layers, `check_decoder` finds out whether it must."""
        before = _loose_tensors(model)
        with torch.no_grad():
            self(*self.example(1))
        kept = [name for name, value in _loose_tensors(model).items() if before.get(name) is not value]
        if kept:
            raise LanguageModelError(
                f"{type(model).__name__} keeps state outside of its cache, in {', '.join(kept[:2])}"
            )
        self.cache.register()

    def example(self, tokens: int) -> tuple[Tensor, ...]:
        """Inputs of a call."""
        return torch.zeros(1, tokens, dtype=torch.int64), torch.arange(tokens)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Logits, after the cache has been extended."""
        return self.called({"input_ids": tokens}, positions, positions[None])

    def called(self, inputs: dict[str, Tensor], positions: Tensor, rotary: Tensor) -> Tensor:
        """Logits behind `inputs` by the names of the model, at `positions` of the cache.

        `rotary` are positions as the model takes them.
        """
        cache = self.cache.start(positions)
        options: dict[str, Any] = {self._cache_name: cache, **inputs}
        if self._takes_positions:
            options["position_ids"] = rotary
        if self._takes_kept and not self.all_logits:
            options["logits_to_keep"] = 1
        with scanned_recurrence(self.model, cache) if self.cache.is_recurrent else nullcontext():
            found: Tensor = self.model(
                attention_mask=self._masks(positions), use_cache=True, **options
            ).logits
        return found if self.all_logits else found[:, -1]

    def _masks(self, positions: Tensor) -> Any:
        """A mask, or one for each kind of attention where there are several."""
        masks = {
            kind: one.mask(positions, sees_call=self.sees_call)
            for kind, one in self.cache.attentions().items()
        }
        if self._adds_masks:
            least = torch.finfo(self._dtype).min
            masks = {kind: torch.where(seen, 0.0, least) for kind, seen in masks.items()}
        return masks if len(masks) > 1 else next(iter(masks.values()), None)


def _loose_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Tensors that are attributes of modules, but neither parameters nor buffers."""
    return {
        f"{path}.{name}": value
        for path, module in cast("Iterable[tuple[str, nn.Module]]", model.named_modules())
        for name, value in vars(module).items()
        if isinstance(value, Tensor)
    }


def check_finite(model: Any, logits: Tensor) -> None:
    """Raise `LanguageModelError` for logits of a model that are not finite."""
    if not bool(logits.isfinite().all()):
        raise LanguageModelError(
            f"{type(model).__name__} gives logits that are NaN or infinite: its weights are damaged, copy them again"
        )


def check_decoder(model: Any, decoder: CachedDecoder) -> None:
    """Raise `LanguageModelError` if logits with the cache differ from those without.

    Recurrent layers are tried with one token a call, and then with several, which they need not take. The cache is all
    zeros afterwards.
    """
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    tokens = torch.arange(1, 2 * _EXAMPLE + 1)[None] * 7919 % vocabulary
    with torch.no_grad():
        if decoder.custom_attention:  # which is over the cache
            model.set_attn_implementation("sdpa")
        wanted = model(input_ids=tokens, use_cache=False).logits[:, -1]
        if decoder.custom_attention:
            model.set_attn_implementation(CUSTOM_ATTENTION)
    check_finite(model, wanted)
    scale = float(wanted.abs().max())
    tolerance = (_QUANTIZED_TOLERANCE if decoder.quantize_cache else _TOLERANCE) * scale
    single = [1] * (2 * _EXAMPLE)
    several = [_EXAMPLE, _EXAMPLE - 1, 1] if decoder.chunk >= _EXAMPLE else single
    found = _logits(decoder, tokens, single if decoder.cache.is_recurrent else several)
    error = float((found - wanted).abs().max())
    if not error <= tolerance:
        raise LanguageModelError(
            f"{type(model).__name__} with a cache of fixed size gives logits that are off by {error:.1e} of "
            f"{scale:.1e}: its layers do not take their keys, values or masks from the cache"
        )
    if decoder.cache.is_recurrent:
        try:
            found = _logits(decoder, tokens, several)
        except (LanguageModelError, RuntimeError):  # what torch says to sizes that do not fit
            return
        decoder.takes_one = not float((found - wanted).abs().max()) <= tolerance


def _logits(decoder: CachedDecoder, tokens: Tensor, steps: list[int]) -> Tensor:
    """Those of the last token `[1, vocabulary]`, of calls of so many tokens; the cache is all zeros afterwards."""
    positions: Any = torch.arange(tokens.shape[1])
    with torch.no_grad():
        try:
            found = [decoder(tokens[:, part], part) for part in positions.split(steps)][-1]
        finally:
            for buffer in decoder.cache.buffers():
                buffer.zero_()
    return found[:, -1] if decoder.all_logits else found


@dataclass(frozen=True)
class DecoderPrograms:
    """The programs that a decoder was exported to."""

    programs: dict[str, ExportedProgram]
    """`forward`, and `decode` for one token if `forward` takes any number."""
    chunk: int
    """The most tokens of a call of `forward`."""
    note: str = ""
    """Why `forward` takes one token at a time, where it does and more were asked for."""


def export_decoder(decoder: CachedDecoder, sizes: Sizes, *, shares_state: bool = True) -> DecoderPrograms:
    """Export the methods of a decoder: `forward` alone for a runtime whose methods do not share state.

    Raises what `torch.export` does.
    """
    note = ""
    one = decoder.example(1)
    is_recurrent = decoder.cache.is_recurrent
    if sizes.chunk > 1 and (decoder.takes_one or (is_recurrent and not shares_state)):
        note = "its recurrent layers take one token at a time"
    elif sizes.chunk > 1:
        # Recurrent layers have other code for one token, which is in `decode`.
        least = 2 if is_recurrent else 1
        several = decoder.example(min(_EXAMPLE, sizes.chunk))
        length = Dim("tokens", min=least, max=sizes.chunk) if sizes.chunk > least else None
        try:
            forward = torch.export.export(decoder, several, dynamic_shapes=({1: length}, {0: length}))
        except UserError as error:
            first = str(error).strip().partition("\n")[0]
            note = f"its code depends on the number of tokens ({first})"
        else:
            programs = {"forward": forward}
            if shares_state:
                programs["decode"] = torch.export.export(decoder, one)
            return DecoderPrograms(programs, sizes.chunk)
    return DecoderPrograms({"forward": torch.export.export(decoder, one)}, 1, note)
