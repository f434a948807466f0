"""Images from files: sizes, scales, and what is no image."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from et_schema.errors import ExecutorchError, InputError
from et_vm.llm.images import read_image

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 10, 3), np.uint8)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A picture of 6 rows and 10 columns, in a folder with a configuration of nothing."""
    path = tmp_path / "picture.png"
    Image.fromarray(PIXELS).save(path)
    (tmp_path / "preprocessor_config.json").write_text("{}")
    return path


@pytest.mark.parametrize("name", ["preprocessor_config.json", "processor_config.json"])
def test_scales(picture: Path, name: str) -> None:
    (picture.parent / "preprocessor_config.json").unlink()
    scales = {"image_mean": [0.5, 0.25, 0.125], "image_std": [0.5, 0.25, 0.125]}
    whole = scales if name.startswith("pre") else {"image_processor": scales}
    (picture.parent / name).write_text(json.dumps(whole))
    found = read_image(picture, (6, 10), picture.parent)
    mean = np.array([0.5, 0.25, 0.125])
    expected = ((PIXELS / 255 - mean) / mean).transpose(2, 0, 1)[None]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_unscaled(picture: Path) -> None:
    (picture.parent / "preprocessor_config.json").write_text('{"do_rescale": false, "do_normalize": false}')
    found = read_image(picture, (6, 10), picture.parent)
    assert np.array_equal(found[0].transpose(1, 2, 0), PIXELS)


def test_other_sizes(picture: Path) -> None:
    """Stretched; or the middle, where the configuration says so."""
    stretched = read_image(picture, (12, 10), picture.parent)
    assert stretched.shape == (1, 3, 12, 10)
    assert np.all((stretched > -0.5) & (stretched < 1.5))
    (picture.parent / "preprocessor_config.json").write_text('{"do_center_crop": true, "resample": 0}')
    middle = read_image(picture, (6, 6), picture.parent)
    np.testing.assert_allclose(middle[0].transpose(1, 2, 0), PIXELS[:, 2:8] / 255, rtol=1e-6)
    # Twice as large, of which the nearest pixels are copies.
    larger = read_image(picture, (12, 12), picture.parent)
    np.testing.assert_allclose(
        larger[0].transpose(1, 2, 0), np.repeat(np.repeat(PIXELS, 2, 0), 2, 1)[:, 4:16] / 255, rtol=1e-6
    )


def test_gray_and_transparent_pictures(picture: Path) -> None:
    for mode in ("L", "RGBA"):
        Image.open(picture).convert(mode).save(picture)
        assert read_image(picture, (6, 10), picture.parent).shape == (1, 3, 6, 10)


def test_refusals(picture: Path) -> None:
    with pytest.raises(ExecutorchError, match="No such file"):
        read_image(picture.with_name("absent.png"), (6, 10), picture.parent)
    picture.write_bytes(picture.read_bytes()[:60])
    with pytest.raises(ExecutorchError, match="no image"):
        read_image(picture, (6, 10), picture.parent)
    picture.write_text("text")
    with pytest.raises(InputError, match="not an image"):
        read_image(picture, (6, 10), picture.parent)
    (picture.parent / "preprocessor_config.json").write_text("{")
    with pytest.raises(InputError, match="not a configuration of images"):
        read_image(picture, (6, 10), picture.parent)


@pytest.mark.parametrize(
    "content",
    [b"P6\n2 x2\n255\n" + bytes(12), b"\x89PNG\r\n\x1a\n\x00\x00\x00\rI\x00DR" + bytes(99)],
    ids=["ppm", "png"],
)
def test_damaged_pictures(picture: Path, content: bytes) -> None:
    """What decoders raise for them is not always of the system."""
    picture.write_bytes(content)
    with pytest.raises(InputError, match="image"):
        read_image(picture, (6, 10), picture.parent)


@pytest.mark.parametrize(
    "text",
    [
        '{"resample": 99}',
        '{"resample": "nearest"}',
        '{"image_mean": [0.5, 0.5, 0.5]}',
        '{"image_mean": [0.5, 0.5], "image_std": [0.5, 0.5]}',
        '{"rescale_factor": []}',
        '{"rescale_factor": 1e38}',
        '{"image_mean": [0, 0, 0], "image_std": [0, 1, 1]}',
        '{"image_processor": 3}',
        "[" * 100_000,
    ],
)
def test_configurations_that_make_no_sense(picture: Path, text: str) -> None:
    (picture.parent / "preprocessor_config.json").write_text(text)
    with pytest.raises(InputError):
        read_image(picture, (6, 10), picture.parent)


def test_a_picture_that_is_larger_than_its_file_may_be(picture: Path) -> None:
    """Of 214 bytes, and 36 million pixels."""
    header = b"BM" + struct.pack("<IIIIiiHHIIiiII", 214, 0, 54, 40, 6000, 6000, 1, 24, 0, 0, 0, 0, 0, 0)
    picture.write_bytes(header.ljust(214, b"\0"))
    with pytest.raises(InputError, match="6000 by 6000 pixels in 214 bytes"):
        read_image(picture, (6, 10), picture.parent)


def test_large_pictures_of_one_color(picture: Path) -> None:
    Image.new("RGB", (3000, 3000)).save(picture)
    assert read_image(picture, (6, 10), picture.parent).shape == (1, 3, 6, 10)


def test_a_picture_that_is_too_narrow(picture: Path) -> None:
    """Which would be scaled to billions of pixels before it is cropped."""
    Image.new("RGB", (1, 1 << 20)).save(picture)
    (picture.parent / "preprocessor_config.json").write_text('{"do_center_crop": true}')
    with pytest.raises(InputError, match="too narrow"):
        read_image(picture, (224, 224), picture.parent)
