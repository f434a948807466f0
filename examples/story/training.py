"""Training of a Llama of 5 million parameters on the reference manual that comes with Python.

`pydoc_data.topics` holds it as text, 460,000 characters with Python 3.11. The tokenizer is byte-pair encoding over
bytes, learned from the same text. The last twentieth of the text is held out.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

os.environ["HF_HUB_OFFLINE"] = "1"

__all__ = ["HELD_OUT", "manual", "perplexity", "train"]

VOCABULARY: Final = 2048
HELD_OUT: Final = 0.05
"""The part of the text that perplexity is measured on."""
TOKENS: Final = 128
"""Tokens of a piece of text that is trained on."""
BATCH: Final = 16


def manual() -> str:
    """The text of all topics, in order."""
    from pydoc_data.topics import topics

    return "\n\n".join(text.strip() for _, text in sorted(topics.items()))


def _tokenizer(text: str) -> Any:
    """Byte-pair encoding over bytes, with a token that texts begin with."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made: Any = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([text], trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return made


def _model() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=256,
            intermediate_size=704,
            num_hidden_layers=6,
            num_attention_heads=8,
            num_key_value_heads=4,
            max_position_embeddings=512,
            bos_token_id=0,
            eos_token_id=None,
            tie_word_embeddings=True,
        )
    )


def train(folder: Path, steps: int, report: Callable[[str], None] = print) -> None:
    """Train for some steps of 2,048 tokens, and save model and tokenizer as Hugging Face lays them out."""
    text = manual()
    cut = int(len(text) * (1 - HELD_OUT))
    tokenizer = _tokenizer(text[:cut])
    ids = torch.tensor(tokenizer.encode(text[:cut], add_special_tokens=False).ids)
    model = _model()
    count = sum(one.numel() for one in model.parameters())
    report(f"{count / 1e6:.1f} million parameters, {len(ids):,} tokens of {cut:,} characters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    warm = max(1, steps // 20)

    def rate(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.05 + 0.95 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    generator = torch.Generator().manual_seed(0)
    start = time.perf_counter()
    for step in range(steps):
        places = torch.randint(0, len(ids) - TOKENS - 1, (BATCH,), generator=generator)
        batch = torch.stack([ids[at : at + TOKENS] for at in places.tolist()])
        batch[:, 0] = 0  # texts begin with the first token
        loss: Tensor = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if (step + 1) % max(1, steps // 8) == 0:
            seconds = time.perf_counter() - start
            report(f"step {step + 1:4} of {steps}   loss {loss.item():.3f}   {seconds:.0f} s")
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.eval().save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))


def perplexity(logits: Callable[[list[int]], Tensor], pieces: list[list[int]]) -> float:
    """That of pieces of text `[T]`, given what makes logits `[T, V]` of them."""
    total, number = 0.0, 0
    for ids in pieces:
        rows = logits(ids)[:-1].double()
        total += float(torch.nn.functional.cross_entropy(rows, torch.tensor(ids[1:]), reduction="sum"))
        number += len(ids) - 1
    return math.exp(total / number)
