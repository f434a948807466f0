"""Loading of image files with Pillow, scaled as a model expects."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from et_schema.distribution import installation
from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.llm.preprocessor import read_preprocessor
from et_vm.values import Array

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["read_image"]

_BICUBIC: Final = 3
_MOST_PIXELS: Final = 1 << 27
"""Of an image that is scaled to be cropped."""
_FEW_PIXELS: Final = 1 << 22
"""Pixels that a file of any size may have."""
_EXPANSION: Final = 4096
"""Pixels for each byte of a file with more, at most: photographs have some 10, and no drawing is that empty."""
_INSTALL: Final = installation("llm")


def read_image(path: str | os.PathLike[str], size: tuple[int, int], folder: Path) -> Array:
    """An image of `size` (height, width) as `[1, 3, height, width]` f32.

    `preprocessor_config.json` in `folder` says how numbers from 0 to 255 are scaled and normalized. Images of other
    sizes are stretched, or cropped at the middle where it says `do_center_crop`. Raises ExecutorchError: NotSupported
    if Pillow is not installed, AccessFailed for a file that cannot be read; InputError for one that is no image, and a
    folder without such a configuration.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ExecutorchError(
            Error.NotSupported, "the package pillow is not installed", hint=_INSTALL
        ) from None
    config = read_preprocessor(folder, "image_processor", "images")
    try:
        with Image.open(path) as opened:
            _check_pixels(opened, path)
            image = opened.convert("RGB")
    except InputError:
        raise
    except Image.UnidentifiedImageError:
        raise InputError("not an image, or of an unknown format", where=os.fspath(path)) from None
    except Image.DecompressionBombError as error:
        raise InputError(str(error), where=os.fspath(path)) from None
    except OSError as error:
        raise ExecutorchError(
            Error.AccessFailed, f"no image: {error.strerror or error}", where=os.fspath(path)
        ) from None
    except Exception as error:  # which one damaged files lead to is up to the decoder of their format
        raise InputError(f"the image is damaged: {error}", where=os.fspath(path)) from None
    try:
        return _scaled(image, size, config)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise InputError(
            f"images cannot be scaled as its configuration says: {error}", where=str(folder)
        ) from None


def _check_pixels(image: Image.Image, path: str | os.PathLike[str]) -> None:
    """Raise InputError for an image that takes memory out of proportion to its file, before it is decoded."""
    pixels = image.width * image.height
    status = os.stat(path)
    if stat.S_ISREG(status.st_mode) and pixels > max(_FEW_PIXELS, _EXPANSION * status.st_size):
        message = f"an image of {image.width} by {image.height} pixels in {status.st_size:,} bytes"
        raise InputError(message, where=os.fspath(path))


def _scaled(image: Image.Image, size: tuple[int, int], config: dict[str, Any]) -> Array:
    from PIL import Image

    height, width = size
    resample = Image.Resampling(int(config.get("resample", _BICUBIC)))
    if config.get("do_center_crop"):
        factor = max(height / image.height, width / image.width)
        wide, high = max(width, round(image.width * factor)), max(height, round(image.height * factor))
        if wide * high > _MOST_PIXELS:
            raise InputError(
                f"the image of {image.width} by {image.height} pixels is too narrow to be cropped"
            )
        left, top = (wide - width) // 2, (high - height) // 2
        image = image.resize((wide, high), resample).crop((left, top, left + width, top + height))
    else:
        image = image.resize((width, height), resample)
    pixels: Array = np.asarray(image, np.float32)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        if config.get("do_rescale", True):
            pixels = pixels * np.float32(config.get("rescale_factor", 1 / 255))
        if config.get("do_normalize", True) and "image_mean" in config:
            mean, deviation = (np.array(config[name], np.float32) for name in ("image_mean", "image_std"))
            pixels = (pixels - mean) / deviation
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])
