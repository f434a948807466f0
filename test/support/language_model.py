"""A small Llama with a byte-level tokenizer, as a file for et-vm."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
from language_models import hf, random_model

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.language_models import (
    CachedDecoder,
    CachedTextDecoder,
    Encoder,
    Sizes,
    export_decoder,
    export_encoder_decoder,
    metadata,
)
from et_ir.language_models.encoder_decoder import example_source

SIZES: Final = Sizes(context=48, chunk=8)
WORDS: Final = (
    'the import statement of a module combines two operations; name = 12 {"a": [1, 2.5, true]} äöü €'
)


def tokenizer(path: Path) -> Any:
    """Byte-pair encoding over bytes with some merges, 280 ids; written to a folder."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made: Any = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=280,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([WORDS] * 3, trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    path.mkdir(exist_ok=True)
    made.save(str(path / "tokenizer.json"))
    return made


def model(layers: int = 2, vocabulary: int = 280) -> Any:
    """Random weights."""
    return random_model(
        hf.LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=1,
            initializer_range=0.3,
        )
    )


@cache
def compiled(layers: int = 2, vocabulary: int = 280, *, all_logits: bool = False, chunk: int = 8) -> bytes:
    """The file of a model."""
    sizes = Sizes(SIZES.context, chunk)
    made = model(layers, vocabulary)
    with warnings.catch_warnings(action="ignore"):
        found = export_decoder(CachedDecoder(made, sizes, all_logits=all_logits), sizes)
        constants = metadata(made, context=sizes.context, chunk=found.chunk)
        edge = to_edge(found.programs, constant_methods=constants)
        return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


@cache
def compiled_encoder_decoder() -> bytes:
    """The file of a small T5."""
    torch.manual_seed(0)
    config = hf.T5Config(
        vocab_size=280, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_decoder_layers=1, num_heads=4,
        decoder_start_token_id=0, eos_token_id=1, initializer_factor=20.0,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        made = hf.T5ForConditionalGeneration(config).eval()
        encoder = Encoder(made)
        with torch.no_grad():
            decoder = CachedTextDecoder(made, encoder(example_source(made)), SIZES)
        constants = metadata(made, context=SIZES.context, chunk=SIZES.chunk)
        edge = to_edge(export_encoder_decoder(made, encoder, decoder, SIZES), constant_methods=constants)
        return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
