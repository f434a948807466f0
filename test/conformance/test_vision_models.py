"""Models of images and text in methods: both runtimes against the model as a whole."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch
from language_models import VISION, VOCABULARY, hf, random_vision_model
from stock import StockRuntime

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.language_models import (
    CachedEmbeddingDecoder,
    LanguageModelError,
    Sizes,
    TokenEmbedding,
    VisionEncoder,
    check_vision_model,
    export_vision_model,
    image_metadata,
    image_size,
    metadata,
)
from et_ir.language_models.vision import whole_inputs
from et_schema.errors import InputError
from et_vm.llm import LanguageModel, Session
from et_vm.runtime import Runtime

SIZES: Final = Sizes(context=40, chunk=16)
IMAGE: Final = VOCABULARY - 1
STEPS: Final = 12


def _parts(family: str) -> tuple[VisionEncoder, TokenEmbedding, CachedEmbeddingDecoder]:
    model = random_vision_model(family)
    # A grid of more rows than columns, where any size is taken.
    size = (24, 16) if family == "qwen2_vl" else image_size(model.config)
    return VisionEncoder(model, size), TokenEmbedding(model), CachedEmbeddingDecoder(model, SIZES)


@pytest.mark.parametrize("family", VISION)
def test_text_behind_an_image(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    """A prompt with an image between its tokens, then steps; forked, saved and restored; another text behind it."""
    encoder, embedding, decoder = _parts(family)
    check_vision_model(encoder, embedding, decoder, SIZES)
    model = encoder.model
    with warnings.catch_warnings(action="ignore"):
        programs = export_vision_model(encoder, embedding, decoder, SIZES)
        constants = metadata(model, context=SIZES.context, chunk=SIZES.chunk)
        edge = to_edge(programs, constant_methods=constants | image_metadata(encoder, decoder))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    loaded = LanguageModel(Runtime().load_program(file, poison=True))
    assert loaded.images is not None
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(1, 3, *encoder.size, generator=generator)
    tokens = torch.randint(2, VOCABULARY - 1, (STEPS + 7,), generator=generator).tolist()
    prompt = [*tokens[:2], IMAGE, *tokens[2:7]]
    session = Session(loaded)
    if decoder.block == "prompt":
        with pytest.raises(InputError, match="a prompt of 17 tokens that see one another: a call takes 16"):
            session.feed([*tokens[:8], IMAGE], [pixels.numpy()])
        assert session.tokens == ()
    logits = session.feed(prompt, [pixels.numpy()])
    ids = [*tokens[:2], *[IMAGE] * loaded.images.tokens, *tokens[2:7]]
    assert session.tokens == tuple(ids)
    inputs = whole_inputs(encoder, decoder, torch.tensor([ids + tokens[7:]]), pixels)
    if decoder.block == "prompt":  # what is generated sees what was before it alone
        inputs["token_type_ids"][:, len(ids) :] = 1
    with torch.no_grad():
        wanted = model(**inputs, use_cache=False).logits[0].numpy()
    np.testing.assert_allclose(logits, wanted[len(ids) - 1], rtol=1e-4, atol=1e-5)
    other = session.fork()
    session.save(tmp_path / "session.safetensors")
    restored = Session(loaded)
    restored.restore(tmp_path / "session.safetensors")
    for one in (session, other, restored):
        for place, token in enumerate(tokens[7:], len(ids)):
            np.testing.assert_allclose(one.feed([token]), wanted[place], rtol=1e-4, atol=1e-5)
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    (image,) = stock.run(path, [pixels], method="vision_encoder")
    with torch.no_grad():
        torch.testing.assert_close(image, encoder(pixels), rtol=1e-4, atol=1e-5)
        before = embedding(torch.tensor([tokens[:2]]))
        first = model(input_ids=torch.tensor([tokens[:2]]), use_cache=False).logits[:, -1]
    given = [before, torch.arange(2), *([torch.arange(2).repeat(3, 1)] if decoder.is_spatial else [])]
    if decoder.block != "prompt":
        (on_stock,) = stock.run(path, given, method="text_decoder")
        torch.testing.assert_close(on_stock, first, rtol=1e-4, atol=1e-5)


def test_images_that_do_not_fit() -> None:
    encoder, embedding, decoder = _parts("llava")
    with warnings.catch_warnings(action="ignore"):
        programs = export_vision_model(encoder, embedding, decoder, SIZES)
        constants = metadata(encoder.model, context=SIZES.context, chunk=SIZES.chunk)
        edge = to_edge(programs, constant_methods=constants | image_metadata(encoder, decoder))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    session = Session(LanguageModel(Runtime().load_program(file)))
    pixels = np.zeros((1, 3, 24, 24), np.float32)
    logits = session.feed([3, IMAGE, 4], [pixels])
    tokens = session.tokens
    state = {name: array.copy() for name, array in session._state().items()}
    refused: list[tuple[list[int], list[Any], str]] = [
        ([IMAGE], [], "0 images: the prompt has 1"),
        ([3], [pixels], "1 images: the prompt has 0"),
        ([IMAGE], [pixels[:, :, :8]], r"sizes \[1, 3, 8, 24\]: expected \[1, 3, 24, 24\]"),
        ([IMAGE] * 4, [pixels] * 4, "36 tokens after 11 do not fit into the context of 40"),
        ([VOCABULARY], [], "the vocabulary has 64 ids"),
    ]
    for ids, images, message in refused:
        with pytest.raises(InputError, match=message):
            session.feed(ids, images)
    with pytest.raises(InputError, match="inside an image"):
        session.rewind(3)
    assert session.tokens == tokens
    assert session.logits is not None
    assert np.array_equal(session.logits, logits)
    assert all(np.array_equal(array, state[name]) for name, array in session._state().items())


def test_models_of_other_forms() -> None:
    config = hf.Qwen3VLConfig(text_config={"vocab_size": VOCABULARY}, vision_config={"depth": 2})
    with torch.device("meta"):
        model = hf.AutoModelForImageTextToText.from_config(config)
    with pytest.raises(LanguageModelError, match="in several layers"):
        VisionEncoder(model, (32, 32))
    with pytest.raises(LanguageModelError, match="images of 24x20: expected multiples of 8 pixels"):
        VisionEncoder(random_vision_model("qwen2_vl"), (24, 20))
    with pytest.raises(LanguageModelError, match="give their height and width"):
        image_size(VISION["qwen2_vl"]())
    encoder, embedding, decoder = _parts("llava")
    with pytest.raises(
        LanguageModelError, match="an image is 9 tokens, which leaves no room in a context of 12"
    ):
        check_vision_model(encoder, embedding, decoder, Sizes(context=12, chunk=4))
    doubled: Any = lambda tokens: embedding(tokens) * 2  # noqa: E731
    with pytest.raises(LanguageModelError, match="in parts gives logits that are off by"):
        check_vision_model(encoder, doubled, decoder, SIZES)
