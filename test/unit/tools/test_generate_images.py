"""Folders with models of images, compiled by et-compile, and text about images by et-vm generate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from language_models import hf, random_vision_model
from PIL import Image
from support.command_line import Command
from support.language_model import tokenizer

from et_vm.llm import Tokenizer

IMAGE = 280
SIZES = ("--max-len", "40", "--max-prefill", "16", "--target", "et-vm", "-q")
SCALES = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]}
LINE = ("et-vm", "generate", "m.pte", "--max-new-tokens", "6", "-q", "--prompt")


@pytest.fixture
def model(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A small Llava in a folder, with a tokenizer that knows `<image>`, and a picture of its size."""
    import language_models

    def config() -> Any:
        text = hf.LlamaConfig(
            vocab_size=288,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=1,
            initializer_range=0.3,
        )
        vision = language_models.VISION["llava"]().vision_config
        return hf.LlavaConfig(text_config=text, vision_config=vision, image_token_id=IMAGE)

    monkeypatch.setitem(language_models.VISION, "own", config)
    found = random_vision_model("own")
    folder = workplace / "llava"
    found.save_pretrained(folder)
    made = tokenizer(folder)
    assert made.add_special_tokens(["<image>"]) == 1
    made.save(str(folder / "tokenizer.json"))
    (folder / "preprocessor_config.json").write_text(json.dumps(SCALES))
    pixels = np.random.default_rng(0).integers(0, 256, (24, 24, 3), np.uint8)
    Image.fromarray(pixels).save(workplace / "picture.png")
    return found


def _greedy(model: Any, text: str) -> str:
    """What the model as a whole writes behind a prompt with an image at its beginning."""
    reader = Tokenizer("llava")
    pixels = np.asarray(Image.open("picture.png"), np.float32) / 255
    pixels = (pixels - np.array(SCALES["image_mean"])) / np.array(SCALES["image_std"])
    given = torch.tensor(pixels.transpose(2, 0, 1)[None], dtype=torch.float32)
    ids = reader.encode(text)
    ids = [*ids[:1], *[IMAGE] * 9, *ids[1:]]
    first = len(ids)
    with torch.no_grad():
        for _ in range(6):
            logits = model(input_ids=torch.tensor([ids]), pixel_values=given, use_cache=False).logits
            ids.append(int(logits[0, -1].argmax()))
    return reader.decode(ids[first:])


def test_text_about_an_image(command: Command, model: Any) -> None:
    assert command("et-compile", "hf:llava", "-o", "m.pte", *SIZES) == (0, "", "")
    ran = command(*LINE, "<image>the import", "--image", "picture.png")
    assert ran == (0, _greedy(model, "the import") + "\n", "")
    assert command(*LINE, "the import", "--image", "picture.png") == ran
    other = command(*LINE, "the import")
    assert (other.code, other.out != ran.out) == (0, True)
    found = json.loads(command(*LINE, "the import", "--image", "picture.png", "--json").out)
    assert found["num_prompt_tokens"] == len(Tokenizer("llava").encode("the import")) + 9
    Path("text.png").write_text("no picture")
    for line, code, message in (
        (("x", "--image", "absent.png"), 2, "no image: No such file"),
        (("x", "--image", "text.png"), 2, "not an image"),
        (("<image><image>", "--image", "picture.png"), 2, "1 images: the prompt has 2 tokens"),
        (("x" * 90, "--image", "picture.png"), 2, "do not fit into the context of 40"),
    ):
        ran = command(*LINE, *line)
        assert (ran.code, message in ran.err) == (code, True), ran
    Path("m.tokenizer/preprocessor_config.json").unlink()
    ran = command(*LINE, "x", "--image", "picture.png")
    assert (ran.code, "no preprocessor_config.json" in ran.err) == (2, True)


@pytest.mark.usefixtures("model")
def test_refused_sizes(command: Command) -> None:
    line = ("et-compile", "hf:llava", "-o", "m.pte", "-q")
    for options, code, message in (
        (("--image-size", "24"), 2, "'24' is not a size: expected HEIGHTxWIDTH"),
        (("--image-size", "32x32"), 3, "LlavaForConditionalGeneration"),
        (("--max-len", "12"), 3, "an image is 9 tokens, which leaves no room"),
    ):
        ran = command(*line, *options)
        assert (ran.code, message in ran.err) == (code, True), ran
    assert not Path("m.pte").exists()
    ran = command("et-compile", "relu.mlir", "-o", "m.pte", "-q", "--image-size", "24x24")
    assert (ran.code, "--image-size applies to hf:FOLDER only" in ran.err) == (2, True)
