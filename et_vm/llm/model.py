"""Programs of language models: methods, sizes and ids of tokens, as constant methods say."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import Any, Final, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_schema.wording import in_words
from et_vm.runtime import Program
from et_vm.values import Array

__all__ = ["Audio", "Images", "LanguageModel", "Step"]

_EDGES: Final = 1 << 20
"""Bytes at the beginning and the end of a file that tell it from others."""


@dataclass(frozen=True)
class Step:
    """The form of the calls of a method."""

    method: str
    longest: int
    """The most tokens of a call."""
    is_fixed: bool
    """Whether each call has that many."""
    by_first: bool
    """Whether a call takes the position of its first token, not of each."""
    gives_all: bool
    """Whether logits are of each token, not of the last."""
    vocabulary: int
    """Logits of a token."""
    width: int = 0
    """The size of embeddings, which a call takes instead of token ids; 0 for ids."""
    takes_places: bool = False
    """Whether a call takes times, rows and columns behind positions."""


@dataclass(frozen=True)
class Images:
    """The images that a model takes."""

    height: int
    width: int
    tokens: int
    """Embeddings of an image."""
    token_id: int
    """The id that stands for an image in a prompt."""
    grid: tuple[int, int]
    """Rows and columns of the embeddings, for models whose positions depend on them."""
    is_prompt_block: bool | None
    """Whether the tokens of a prompt see one another; False: those of an image; None: neither."""


@dataclass(frozen=True)
class Audio:
    """The audio that a model takes, as a spectrogram, and how its transcription begins."""

    bands: int
    """Numbers of a frame."""
    frames: int
    """Frames of a chunk."""
    start_ids: tuple[int, ...]
    """The ids that a transcription begins with."""
    language_ids: tuple[int, ...]
    """The ids of languages, one of which is behind the first of these; none for a model of one language."""


class LanguageModel:
    """A program whose methods take token ids `[1, T]` and positions, i64, and give logits in float32.

    `forward`, or `prefill`, takes up to `chunk` tokens; `decode`, where there is one, the next token of a text.
    Positions are `[T]`, of each token, or `[1]`, of the first. Logits are of the last token, `[1, V]` or `[1, 1, V]`,
    or of each, `[1, T, V]`. What other programs lack in constant methods has upstream's defaults.

    An encoder-decoder has the methods `encoder`, from token ids `[1, S]` i64, or a spectrogram `[1, bands, frames]`
    f32, to hidden states, and `text_decoder`, which takes them between tokens and positions. `decode`, where there is
    one, takes the same for one token behind others, of the source that `text_decoder` was called with last.

    A model of images has `vision_encoder`, from an image `[1, 3, height, width]` f32 to embeddings, `token_embedding`,
    and `text_decoder`, which takes embeddings `[1, T, width]` f32 in the place of tokens, and maybe times, rows and
    columns `[3, T]` i64 behind positions; `block_decoder` is the same for tokens that see one another.
    """

    def __init__(self, program: Program) -> None:
        """Raises ExecutorchError(InvalidArgument) for a program that has no such methods."""
        self.program = program
        names = program.method_names
        self.encoder = "encoder" if {"encoder", "text_decoder"} <= names else None
        """The method that reads sources; `None` for a model that continues texts."""
        self.embedding = "token_embedding" if {"token_embedding", "text_decoder"} <= names else None
        """The method that embeds tokens; `None` for a model that takes their ids."""
        many = "prefill" if "prefill" in names else "forward"
        one = "decode" if "decode" in names else many
        if self.encoder is not None or self.embedding is not None:
            many = "text_decoder"
            # That of an encoder-decoder reads what a call of the other method has kept of the source.
            one = "decode" if self.encoder is not None and "decode" in names else many
        self.prefill_step = self._step(many)
        self.decode_step = self._step(one)
        vocabulary = self._constant("get_vocab_size", None)
        self.chunk = min(self.prefill_step.longest, int(self._constant("get_max_seq_len", 1 << 62)))
        """The most tokens of one call."""
        self.reach = 0 if self._constant("use_recurrent_state", False) else self.chunk - 1
        """The number of tokens that a text can go back by: a recurrent state knows none before the last."""
        self.context = int(self._constant("get_max_context_len", self._constant("get_max_seq_len", 128)))
        """The most tokens of a text."""
        self.vocabulary = int(vocabulary) if vocabulary is not None else self.decode_step.vocabulary
        """The number of token ids."""
        first = self._constant("get_bos_id", None)
        self.bos_id = None if first is None else int(first)
        """The id that texts begin with."""
        last: Any = self._constant("get_eos_ids", [])
        ends = cast("list[Any]", last if isinstance(last, list) else [last])
        self.eos_ids = frozenset(int(one) for one in ends)
        """The ids that end a text."""
        self.audio = None if self.encoder is None else self._audio(self.encoder)
        """The audio that the model takes; `None` for a model of text."""
        self._suppressed = self._mask(self._ids("get_suppress_ids"))
        self._suppressed_first = self._mask(
            [*self._ids("get_suppress_ids"), *self._ids("get_begin_suppress_ids")]
        )
        self.block_step = self._step("block_decoder") if self._is_method("block_decoder") else None
        """The form of calls whose tokens see one another."""
        self.images = self._images() if self._is_method("vision_encoder") else None
        """The images that the model takes; `None` for a model of text."""

    def _is_method(self, name: str) -> bool:
        return self.embedding is not None and name in self.program.method_names

    def _images(self) -> Images:
        meta = self.program.metadata("vision_encoder")
        kinds = [meta.input_tag(at) for at in range(meta.num_inputs())], meta.num_outputs()
        if kinds != (["Tensor"], 1) or meta.output_tag(0) != "Tensor":
            raise self._refusal(
                f"'vision_encoder' has {in_words(meta.num_inputs(), 'input')} and "
                f"{in_words(meta.num_outputs(), 'output')}"
            )
        pixels, found = meta.input_tensor_meta(0), meta.output_tensor_meta(0)
        good = (
            pixels.dtype() is found.dtype() is ScalarType.FLOAT
            and pixels.sizes()[:2] == (1, 3)
            and len(pixels.sizes()) == 4
            and len(found.sizes()) == 3
            and found.sizes()[::2] == (1, self.prefill_step.width)
        )
        if not good:
            raise self._refusal(f"'vision_encoder' takes {pixels!r} and gives {found!r}")
        token = self._constant("get_image_token_id", None)
        if token is None:
            raise self._refusal("it does not say by 'get_image_token_id' which token stands for an image")
        tokens = found.sizes()[1]
        grid: Any = self._constant("get_image_grid", [1, tokens])
        sides = cast("list[Any]", grid) if isinstance(grid, list) else []
        if len(sides) != 2 or not all(type(one) is int and one > 0 for one in sides) or prod(sides) != tokens:
            raise self._refusal(f"{grid} are not rows and columns of the {tokens} embeddings of an image")
        block = bool(self._constant("get_is_prompt_block", False)) if self.block_step is not None else None
        height, width = pixels.sizes()[2:]
        return Images(height, width, tokens, int(token), (sides[0], sides[1]), block)

    def _step(self, name: str) -> Step:
        """The form of a method's calls."""
        if name not in self.program.method_names:
            raise self._refusal(f"it has no method '{name}'")
        meta = self.program.metadata(name)
        last = 1 if self.encoder is None else 2
        takes_places = self.embedding is not None and meta.num_inputs() == last + 2
        if meta.num_inputs() != last + 1 + takes_places or meta.num_outputs() != 1:
            raise self._refusal(
                f"'{name}' has {in_words(meta.num_inputs(), 'input')} and {in_words(meta.num_outputs(), 'output')}"
            )
        tags = (*(meta.input_tag(at) for at in range(meta.num_inputs())), meta.output_tag(0))
        if set(tags) != {"Tensor"}:
            raise self._refusal(f"inputs and output of '{name}' are {', '.join(tags)}")
        tokens, positions, logits = (
            meta.input_tensor_meta(0),
            meta.input_tensor_meta(last),
            meta.output_tensor_meta(0),
        )
        taken = (ScalarType.LONG, 2) if self.embedding is None else (ScalarType.FLOAT, 3)
        good = (
            (tokens.dtype(), len(tokens.sizes())) == taken
            and positions.dtype() is ScalarType.LONG
            and logits.dtype() is ScalarType.FLOAT
            and tokens.sizes()[0] == 1
            and len(positions.sizes()) == 1
            and positions.sizes()[0] in (1, tokens.sizes()[1])
            and len(logits.sizes()) in (2, 3)
            and logits.sizes()[0] == 1
        )
        if takes_places:
            places = meta.input_tensor_meta(last + 1)
            good &= places.dtype() is ScalarType.LONG and places.sizes() == (3, tokens.sizes()[1])
        if not good:
            raise self._refusal(f"'{name}' takes {tokens!r} and {positions!r} and gives {logits!r}")
        longest = tokens.sizes()[1]
        return Step(
            name,
            longest,
            is_fixed=not tokens.is_dynamic(),
            by_first=positions.sizes()[0] == 1 < longest,
            gives_all=len(logits.sizes()) == 3 and (longest == 1 or logits.sizes()[1] == longest),
            vocabulary=logits.sizes()[-1],
            width=0 if self.embedding is None else tokens.sizes()[2],
            takes_places=takes_places,
        )

    def _audio(self, name: str) -> Audio | None:
        """The audio that an encoder takes; `None` for one of texts."""
        meta = self.program.metadata(name)
        if meta.num_inputs() != 1 or meta.num_outputs() != 1 or meta.input_tag(0) != "Tensor":
            raise self._refusal(
                f"'{name}' has {in_words(meta.num_inputs(), 'input')} and {in_words(meta.num_outputs(), 'output')}"
            )
        source = meta.input_tensor_meta(0)
        sizes = source.sizes()
        if sizes[:1] == (1,) and len(sizes) == 2 and source.dtype() is ScalarType.LONG:
            return None
        is_audio = source.dtype() is ScalarType.FLOAT and not source.is_dynamic()
        if sizes[:1] != (1,) or len(sizes) != 3 or not is_audio:
            raise self._refusal(
                f"'{name}' takes {source!r}, neither token ids [1, S] nor a spectrogram [1, bands, frames]"
            )
        start = self._ids("get_decoder_start_ids") or ([] if self.bos_id is None else [self.bos_id])
        return Audio(sizes[1], sizes[2], tuple(start), tuple(self._ids("get_language_ids")))

    def _ids(self, name: str) -> list[int]:
        """The token ids that a constant method returns; none without it."""
        found: Any = self._constant(name, [])
        ids = cast("list[Any]", found if isinstance(found, list) else [found])
        if not all(type(one) is int and 0 <= one < self.vocabulary for one in ids):
            raise self._refusal(f"'{name}' returns {found!r}, no ids of its {self.vocabulary} tokens")
        return ids

    def _mask(self, ids: list[int]) -> Array | None:
        if not ids:
            return None
        mask = np.zeros(self.decode_step.vocabulary, np.bool_)
        mask[ids] = True
        return mask

    def possible(self, logits: Array, *, is_first: bool = False) -> Array:
        """Logits `[V]` f32 with -inf at tokens that are never generated; `is_first`: or not as the first one."""
        mask = self._suppressed_first if is_first else self._suppressed
        return logits if mask is None else np.where(mask, np.float32(-np.inf), logits)

    def _refusal(self, reason: str) -> ExecutorchError:
        return ExecutorchError(
            Error.InvalidArgument,
            f"not a language model: {reason}",
            where=self.program.core.name,
            hint="a method 'forward' takes token ids [1, T] and positions, int64, and returns logits; "
            "et-compile hf:FOLDER makes such programs",
        )

    def _constant(self, name: str, default: Any) -> Any:
        """The result of a constant method: a value, or a list of several."""
        if name not in self.program.method_names:
            return default
        found = self.program.load_method(name).execute([])
        return found[0] if len(found) == 1 else found

    def fingerprint(self) -> bytes:
        """An identifier of the program, 32 bytes: a digest of the ends of its file."""
        data = self.program.core.file
        digest = hashlib.sha256(str(data.nbytes).encode())
        digest.update(data[:_EDGES])
        digest.update(data[-_EDGES:])
        return digest.digest()
