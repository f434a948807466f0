"""The sentence example finds what a reader would: the embeddings serve their purpose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from et_vm.runtime import Runtime
from examples.sentences import encoder, texts


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """Embeddings of the library and then of the questions by the compiled encoder, `[N, 384]`."""
    from et_ir import to_edge

    path: Path = tmp_path_factory.mktemp("sentences") / "encoder.pte"
    module, arguments = encoder.sentence_encoder()
    to_edge(torch.export.export(module, arguments)).to_executorch().save(path)
    method = Runtime.get().load_program(path).load_method("forward")
    sentences = [sentence for _, sentence in texts.LIBRARY] + [question for question, _ in texts.QUESTIONS]
    return np.concatenate(
        [method.execute([ids.numpy(), mask.numpy()])[0] for ids, mask in encoder.tokenise(sentences)]
    )


def test_unit_length(embeddings: np.ndarray) -> None:
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, rtol=1e-5)


def test_nearest_sentence(embeddings: np.ndarray) -> None:
    library, questions = embeddings[: len(texts.LIBRARY)], embeddings[len(texts.LIBRARY) :]
    nearest = (questions @ library.T).argmax(axis=1)
    for index, (question, expected) in zip(nearest, texts.QUESTIONS, strict=True):
        assert texts.LIBRARY[index][1].startswith(expected), question
