"""A language model and its tokenizer in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.language_model import compiled, tokenizer


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model.pte`, `all.pte` (logits of each token), `small.pte` and the folder `model.tokenizer`."""
    path = tmp_path_factory.mktemp("llm")
    (path / "model.pte").write_bytes(compiled())
    (path / "all.pte").write_bytes(compiled(all_logits=True))
    (path / "small.pte").write_bytes(compiled(1))
    tokenizer(path / "model.tokenizer")
    return path
