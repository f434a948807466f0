"""Small decoders of transformers with random weights, of every family that is tested."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Final

import torch

os.environ["HF_HUB_OFFLINE"] = "1"
with warnings.catch_warnings(action="ignore"):  # of transformers about itself
    import transformers as hf

VOCABULARY: Final = 64
_SIZES: Final[dict[str, Any]] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
_GROUPED: Final = _SIZES | {"num_key_value_heads": 2}
_HEADS: Final = _GROUPED | {"head_dim": 8}
_WINDOW: Final = {"sliding_window": 8}
_EXPERTS: Final[dict[str, Any]] = {"num_experts_per_tok": 2}
_MIXED: Final = {"layer_types": ["sliding_attention", "full_attention"]}
_STATE: Final[dict[str, Any]] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "state_size": 8,
}

EXPERTS: Final[dict[str, Callable[[], Any]]] = {
    "deepseek_v3": lambda: hf.DeepseekV3Config(
        **_SIZES,
        **_EXPERTS,
        n_routed_experts=4,
        moe_intermediate_size=32,
        n_group=2,
        topk_group=1,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=8,
        num_key_value_heads=4,
        first_k_dense_replace=1,
    ),
    "gpt_oss": lambda: hf.GptOssConfig(**_HEADS, **_EXPERTS, **_WINDOW, num_local_experts=4),
    "llama4": lambda: hf.Llama4TextConfig(
        **_HEADS,
        **_EXPERTS,
        num_local_experts=4,
        moe_layers=[0],
        intermediate_size_mlp=64,
        attention_chunk_size=8,
        no_rope_layers=[1, 0],
        floor_scale=3,
        attn_scale=0.5,
    ),
    "mixtral": lambda: hf.MixtralConfig(**_HEADS, **_EXPERTS, num_local_experts=4),
    "olmoe": lambda: hf.OlmoeConfig(**_GROUPED, **_EXPERTS, num_experts=4),
    "qwen3_moe": lambda: hf.Qwen3MoeConfig(**_HEADS, **_EXPERTS, num_experts=4, moe_intermediate_size=32),
}
"""Mixtures of experts."""

ATTENTION: Final[dict[str, Callable[[], Any]]] = {
    "cohere": lambda: hf.CohereConfig(**_GROUPED),
    "falcon": lambda: hf.FalconConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_kv_heads=2,
        alibi=False,
        new_decoder_architecture=True,
    ),
    "gemma": lambda: hf.GemmaConfig(**_HEADS),
    "gemma2": lambda: hf.Gemma2Config(**_HEADS, **_WINDOW),
    "gemma3": lambda: hf.Gemma3TextConfig(**_HEADS, **_WINDOW, **_MIXED),
    "glm": lambda: hf.GlmConfig(**_HEADS),
    "gpt2": lambda: hf.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**_SIZES),
    "gptj": lambda: hf.GPTJConfig(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=8
    ),
    "granite": lambda: hf.GraniteConfig(**_GROUPED),
    "llama": lambda: hf.LlamaConfig(**_GROUPED),
    "mistral": lambda: hf.MistralConfig(**_HEADS, **_WINDOW),
    "olmo2": lambda: hf.Olmo2Config(**_GROUPED),
    "opt": lambda: hf.OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
    ),
    "phi": lambda: hf.PhiConfig(**_SIZES),
    "phi3": lambda: hf.Phi3Config(**_GROUPED),
    "qwen2": lambda: hf.Qwen2Config(**_GROUPED),
    "qwen3": lambda: hf.Qwen3Config(**_HEADS),
    "smollm3": lambda: hf.SmolLM3Config(**_GROUPED),
    "stablelm": lambda: hf.StableLmConfig(**_GROUPED),
    "starcoder2": lambda: hf.Starcoder2Config(**_GROUPED),
    **EXPERTS,
}
"""Families whose cache is of keys and values, which take any number of tokens in a call."""

RECURRENT: Final[dict[str, Callable[[], Any]]] = {
    "bamba": lambda: hf.BambaConfig(
        **_GROUPED,
        mamba_n_heads=4,
        mamba_d_head=16,
        mamba_n_groups=1,
        mamba_d_state=8,
        attn_layer_indices=[1],
    ),
    "falcon_mamba": lambda: hf.FalconMambaConfig(**_STATE),
    "jamba": lambda: hf.JambaConfig(
        **_GROUPED,
        **_EXPERTS,
        num_experts=4,
        mamba_d_state=8,
        mamba_dt_rank=4,
        attn_layer_period=2,
        attn_layer_offset=1,
    ),
    "lfm2": lambda: hf.Lfm2Config(**_GROUPED, layer_types=["conv", "full_attention"]),
    "mamba": lambda: hf.MambaConfig(**_STATE),
    "mamba2": lambda: hf.Mamba2Config(**_STATE, num_heads=4, head_dim=16, n_groups=2, expand=2, chunk_size=8),
    "qwen3_next": lambda: hf.Qwen3NextConfig(
        **_HEADS,
        **_EXPERTS,
        num_experts=4,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        layer_types=["linear_attention", "full_attention"],
    ),
}
"""Families with state that later tokens replace; `decode` takes one token, `forward` more."""


def random_model(config: Any) -> Any:
    """A decoder of random weights in evaluation mode."""
    torch.manual_seed(0)
    config.use_cache = True
    with warnings.catch_warnings(action="ignore"):
        try:
            model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
        except ValueError:
            model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    return model.eval()


def _seq2seq(**options: Any) -> dict[str, Any]:
    sizes = {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
    }
    return (
        {"vocab_size": VOCABULARY, "d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
        | sizes
        | options
    )


ENCODER_DECODERS: Final[dict[str, Callable[[], Any]]] = {
    "bart": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**_seq2seq(max_position_embeddings=64))),
    "t5": lambda: hf.T5ForConditionalGeneration(
        hf.T5Config(
            vocab_size=VOCABULARY,
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_decoder_layers=3,
            num_heads=4,
            decoder_start_token_id=0,
        )
    ),
    "whisper": lambda: hf.WhisperForConditionalGeneration(
        hf.WhisperConfig(
            **_seq2seq(
                max_source_positions=20,
                max_target_positions=64,
                num_mel_bins=8,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
            )
        )
    ),
}
"""Models of texts to texts, and of sound to text."""


def random_encoder_decoder(family: str) -> Any:
    """An encoder-decoder of random weights in evaluation mode."""
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        return ENCODER_DECODERS[family]().eval()


_SIGHT: Final[dict[str, Any]] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 24,
    "patch_size": 8,
}
_SPATIAL: Final = _GROUPED | {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]}}
_IMAGE: Final = VOCABULARY - 1
"""The token id that stands for an image."""

VISION: Final[dict[str, Callable[[], Any]]] = {
    "gemma3": lambda: hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**_HEADS, **_WINDOW, **_MIXED),
        vision_config=hf.SiglipVisionConfig(**_SIGHT | {"image_size": 16}),
        mm_tokens_per_image=4,
        image_token_id=_IMAGE,
    ),
    "idefics3": lambda: hf.Idefics3Config(
        text_config=hf.LlamaConfig(**_GROUPED),
        vision_config=_SIGHT | {"image_size": 32},
        scale_factor=2,
        image_token_id=_IMAGE,
    ),
    "llava": lambda: hf.LlavaConfig(
        text_config=hf.LlamaConfig(**_GROUPED),
        vision_config=hf.CLIPVisionConfig(**_SIGHT, projection_dim=32),
        image_token_id=_IMAGE,
        vision_feature_layer=-2,
    ),
    "paligemma": lambda: hf.PaliGemmaConfig(
        text_config=hf.GemmaConfig(**_HEADS),
        vision_config=hf.SiglipVisionConfig(**_SIGHT, projection_dim=32),
        projection_dim=32,
        image_token_id=_IMAGE,
    ),
    "qwen2_vl": lambda: hf.Qwen2VLConfig(
        text_config=_SPATIAL | {"bos_token_id": None, "eos_token_id": None},
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "hidden_size": 32,
            "num_heads": 4,
            "mlp_ratio": 2,
            "patch_size": 4,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
        image_token_id=_IMAGE,
    ),
    "smolvlm": lambda: hf.SmolVLMConfig(
        text_config=hf.LlamaConfig(**_GROUPED),
        vision_config=_SIGHT | {"image_size": 32},
        scale_factor=2,
        image_token_id=_IMAGE,
    ),
}
"""Models of images and text."""


def random_vision_model(family: str) -> Any:
    """A model of images and text of random weights in evaluation mode."""
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        return hf.AutoModelForImageTextToText.from_config(VISION[family](), attn_implementation="sdpa").eval()
