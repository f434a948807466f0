"""Facts about a language model as methods that return constants.

They have the names that ExecuTorch's runners of language models look for.
"""

from __future__ import annotations

from typing import Any, cast

from et_ir.language_models.cache import has_recurrent_layers
from et_ir.language_models.errors import LanguageModelError
from et_ir.language_models.speech import speech_metadata
from et_schema.scalar_type import ScalarType

__all__ = ["metadata"]


def metadata(model: Any, *, context: int, chunk: int) -> dict[str, Any]:
    """Constant methods of a model of transformers: ids of tokens, among them those that are never generated, sizes, the
    element type, whether calls differ in length, and whether there is state that later tokens replace.

    Raises `LanguageModelError` for an id that is no integer, or outside the vocabulary.
    """
    config = model.config.get_text_config(decoder=True)
    vocabulary = int(config.vocab_size)
    generation = getattr(model, "generation_config", None)

    def ids(name: str, *, in_config: bool = True) -> list[int]:
        found: Any = getattr(generation, name, None)
        found = getattr(config, name, None) if found is None and in_config else found
        if found is None:
            return []
        ids = list(cast("list[Any]", found)) if isinstance(found, list | tuple) else [found]
        if not all(type(one) is int for one in ids):
            raise LanguageModelError(
                f"generation_config.json or config.json: {name} is {found!r}, no token id or several"
            )
        return ids

    def known(name: str) -> list[int]:
        found = ids(name)
        outside = [one for one in found if not 0 <= one < vocabulary]
        if outside:
            raise LanguageModelError(
                f"generation_config.json or config.json: {name} has {outside[0]}, outside the vocabulary of "
                f"{vocabulary} ids; correct it, or set it to null"
            )
        return found

    constants: dict[str, Any] = {
        "get_max_seq_len": chunk,
        "get_max_context_len": context,
        "get_vocab_size": vocabulary,
        "get_n_layers": int(config.num_hidden_layers),
        "get_max_batch_size": 1,
        # Of the caches and the logits; weights in other floats have been converted.
        "get_dtype": int(ScalarType.FLOAT),
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": False,
        "enable_dynamic_shape": chunk > 1,
    }
    heads = getattr(config, "num_attention_heads", None)
    if type(heads) is int and heads > 0:
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        constants["get_head_dim"] = int(size)
        constants["get_n_kv_heads"] = int(getattr(config, "num_key_value_heads", None) or heads)
    if has_recurrent_layers(config):
        constants["use_recurrent_state"] = True
    # What an encoder-decoder writes begins with a token of its own.
    first = known("decoder_start_token_id" if model.config.is_encoder_decoder else "bos_token_id")
    if first:
        constants["get_bos_id"] = first[0]
        if model.config.is_encoder_decoder:
            constants["decoder_start_token_id"] = first[0]
    last = known("eos_token_id")
    if last:
        constants["get_eos_ids"] = last
        if model.config.is_encoder_decoder:
            # Other runners of encoder-decoders know one only; those of decoders take it before the list, where it
            # would hide the others.
            constants["get_eos_id"] = last[0]
    for constant, name in (
        ("get_suppress_ids", "suppress_tokens"),
        ("get_begin_suppress_ids", "begin_suppress_tokens"),
    ):
        # Defaults of a configuration may be of a larger vocabulary.
        suppressed = [one for one in ids(name, in_config=False) if 0 <= one < vocabulary]
        if suppressed:
            constants[constant] = suppressed
    if model.main_input_name == "input_features":
        constants |= speech_metadata(model)
    return constants
