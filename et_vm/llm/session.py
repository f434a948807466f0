"""Sessions: texts over one set of weights, each with its own state, which can be kept, brought back and forked."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.scalar_type import numpy_dtype
from et_schema.wording import worded
from et_vm.llm.model import LanguageModel, Step
from et_vm.state.files import read_tensors, write_tensors
from et_vm.values import Array

__all__ = ["Session", "generation_is_running", "is_session"]

_TOKENS: Final = "session.tokens"
_PROGRAM: Final = "session.program"
_LOGITS: Final = "session.logits"
_SOURCE: Final = "session.source"


def is_session(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one that `Session.save` has written."""
    try:
        return {_TOKENS, _PROGRAM} <= read_tensors(path).keys()
    except ExecutorchError:
        return False


def generation_is_running() -> ExecutorchError:
    """The refusal to change a text that is being generated."""
    return ExecutorchError(
        Error.InvalidState,
        "a generation is running, whose text cannot be changed",
        hint="call stop(), and wait until generate returns",
    )


class Session:
    """A text so far, and what a model keeps of it.

    Sessions share weights, and may run at the same time, each in one thread.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._program = model.program.instance()
        self._methods = {
            step.method: self._program.load_method(step.method)
            for step in (model.prefill_step, model.decode_step, model.block_step)
            if step is not None
        }
        self._embed, self._see = (
            None if name is None else self._program.load_method(name)
            for name in (model.embedding, None if model.images is None else "vision_encoder")
        )
        self._encoder = None if model.encoder is None else self._program.load_method(model.encoder)
        self._source: Array | None = None
        """Hidden states of what an encoder has read."""
        self._tokens: list[int] = []
        self._logits: Array | None = None
        self._is_lent = False
        """Whether the logits are in memory of a method, which the next call overwrites."""
        self._is_held = False
        self._next_id, self._next_position = np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
        self._place: int | None = 0
        """The place of the next token in time, where images take up more than one; `None` if it is to be counted."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids of the text so far."""
        return tuple(self._tokens)

    @property
    def length(self) -> int:
        """The number of tokens of the text so far."""
        return len(self._tokens)

    def tokens_from(self, start: int) -> tuple[int, ...]:
        """The ids behind the first `start` tokens, without a copy of those."""
        return tuple(self._tokens[start:])

    @property
    def logits(self) -> Array | None:
        """Of what follows the text, `[V]` float32; `None` for an empty text, and one that was gone back to."""
        if self._is_lent:
            self._keep(np.array(self._logits))
        return self._logits

    def _keep(self, logits: Array | None) -> None:
        self._logits, self._is_lent = logits, False

    @property
    def room(self) -> int:
        """Number of tokens that can be added."""
        return self.model.context - len(self._tokens)

    @contextmanager
    def held(self) -> Generator[None]:
        """A context in which the text cannot change: calls that would do so raise ExecutorchError(InvalidState)."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def _check_free(self) -> None:
        if self._is_held:
            raise generation_is_running()

    def encode(self, ids: Sequence[int]) -> None:
        """Have the encoder read the tokens of a source, and begin a new text.

        Raises ExecutorchError(NotSupported) for a model without an encoder, and InputError, with nothing changed, for
        no tokens, an id that the vocabulary lacks, and a source that is too long.
        """
        if self._encoder is None:
            raise ExecutorchError(
                Error.NotSupported,
                "the model has no encoder",
                where=self.model.program.core.name,
                hint="feed the text to be continued",
            )
        if self.model.audio is not None:
            raise InputError("the encoder reads audio, not text", hint="encode its features")
        self._check_ids(ids)
        longest = self.model.program.metadata(self._encoder.name).input_tensor_meta(0).sizes()[1]
        if len(ids) > longest:
            raise InputError(
                f"a source of {len(ids)} tokens: the encoder takes up to {longest}",
                hint="shorten it, or compile the model with a larger et-compile --max-len",
            )
        self._encode(np.array([ids], np.int64))

    def encode_features(self, features: Array) -> None:
        """Have the encoder read the spectrogram `[1, bands, frames]` f32 of audio, and begin a new text.

        Raises ExecutorchError(NotSupported) for a model that takes no audio, and InputError, with nothing changed, for
        other sizes or another dtype.
        """
        audio = self.model.audio
        if audio is None:
            raise ExecutorchError(
                Error.NotSupported,
                "the model takes no audio",
                where=self.model.program.core.name,
                hint="feed or encode text",
            )
        expected = (1, audio.bands, audio.frames)
        if features.shape != expected or features.dtype != np.float32:
            raise InputError(
                f"features {features.dtype}{list(features.shape)}: expected float32{list(expected)}"
            )
        self._encode(features)

    def _encode(self, source: Array) -> None:
        assert self._encoder is not None
        self._check_free()
        (hidden,) = self._encoder.execute([source])
        self.reset()
        self._source = np.array(hidden)

    def feed(self, ids: Sequence[int], images: Sequence[Array] = ()) -> Array:
        """Add tokens to the text; the logits `[V]` float32 of what follows them.

        The n-th of `images`, `[1, 3, height, width]` f32, is read for the n-th token that stands for an image; in the
        text there is one such token for each of its embeddings. Raises InputError, with nothing changed, for no tokens,
        for an id that the vocabulary lacks, for more tokens than the context has left, for images of other number or
        sizes, and where an encoder has read nothing yet.
        """
        return self._fed(ids, images)[-1]

    def feed_all(self, ids: Sequence[int]) -> Array:
        """The same of text alone, with the logits behind each of the tokens, `[len(ids), V]`.

        Raises ExecutorchError(NotSupported), with nothing changed, for several tokens and a program that gives logits
        of the last only.
        """
        if any(last - first > 1 and not step.gives_all for step, first, last in self._calls(ids)):
            raise ExecutorchError(
                Error.NotSupported,
                "the program gives the logits of the last token of a call only",
                where=self.model.program.core.name,
                hint="compile it with et-compile --all-logits",
            )
        return self._fed(ids, ())

    def advance(self, token: int) -> Array:
        """Add one token to the text; the logits `[V]` float32 of what follows it, which the next call may overwrite.

        Raises like `feed`.
        """
        is_first = self._encoder is not None and (self._source is None or not self._tokens)
        is_fit = 0 <= token < self.model.vocabulary and self.room > 0
        if self._is_held or self._embed is not None or is_first or not is_fit:
            return self.feed([token])
        if self._is_lent:
            self._keep(None)
        self._next_id[0, 0], self._next_position[0] = token, len(self._tokens)
        step = self.model.decode_step
        given = self._given(self._next_id, self._next_position)
        found = self._methods[step.method].execute(given, clone_outputs=False)
        self._tokens.append(token)
        logits: Array = found[0].reshape(-1, step.vocabulary)[-1]
        self._logits, self._is_lent = logits, True
        return logits

    def _check_ids(self, ids: Sequence[int]) -> None:
        if not ids:
            raise InputError("no tokens", hint="give at least one, as the id that texts begin with")
        vocabulary, images = self.model.vocabulary, self.model.images
        stands = None if images is None else images.token_id
        wrong = next((token for token in ids if not 0 <= token < vocabulary and token != stands), None)
        if wrong is not None:
            raise InputError(
                f"token id {wrong}: the vocabulary has {vocabulary} ids",
                hint="the tokenizer is of another model",
            )

    def _fed(self, given: Sequence[int], images: Sequence[Array]) -> Array:
        self._check_free()
        self._check_ids(given)
        if self._encoder is not None and self._source is None:
            raise InputError("the encoder has read nothing", hint="encode a source first")
        ids = self._with_images(given, images)
        if len(ids) > self.room:
            raise InputError(
                f"{len(ids)} tokens after {len(self._tokens)} do not fit into the context of {self.model.context}",
                hint="shorten the prompt, or compile the model with a larger et-compile --max-len",
            )
        calls = list(self._calls(ids))
        inputs = np.array([ids], np.int64) if self._embed is None else self._embedded(ids, images)
        if self._is_lent:
            self._keep(None)
        takes_places = any(step.takes_places for step, _, _ in calls)
        places, place = self._places(ids) if takes_places else (None, None)
        rows = [
            self._call(
                step,
                inputs[:, first:last],
                len(self._tokens) + first,
                None if places is None else places[:, first:last],
            )
            for step, first, last in calls
        ]
        self._tokens += ids
        self._place = place
        self._keep(rows[-1][-1])
        return np.concatenate(rows) if len(rows) > 1 else rows[0]

    def _with_images(self, ids: Sequence[int], images: Sequence[Array]) -> list[int]:
        """The ids, with one for each embedding of an image."""
        read = self.model.images
        if read is None:
            if images:
                raise InputError("the model reads no images")
            return list(ids)
        count = sum(token == read.token_id for token in ids)
        if count != len(images):
            raise InputError(f"{len(images)} images: the prompt has {count} tokens that stand for one")
        for one in images:
            if one.shape != (1, 3, read.height, read.width):
                expected = [1, 3, read.height, read.width]
                raise InputError(f"an image of the sizes {list(one.shape)}: expected {expected}")
        return [one for token in ids for one in [token] * (read.tokens if token == read.token_id else 1)]

    def _calls(self, ids: Sequence[int]) -> Iterator[tuple[Step, int, int]]:
        """The calls that read new tokens: their form, and the tokens from the first to before the last."""
        model, block = self.model, self.model.block_step
        images = model.images if block is not None else None
        first = 0
        if block is not None and images is not None and images.is_prompt_block and not self._tokens:
            if len(ids) > block.longest:
                raise InputError(
                    f"a prompt of {len(ids)} tokens that see one another: a call takes {block.longest}",
                    hint="shorten it, or compile the model with a larger et-compile --max-prefill",
                )
            yield block, 0, len(ids)
            return
        while first < len(ids):
            end = len(ids)
            if block is not None and images is not None and not images.is_prompt_block:
                if ids[first] == images.token_id:
                    yield block, first, first + images.tokens
                    first += images.tokens
                    continue
                end = next((at for at in range(first, end) if ids[at] == images.token_id), end)
            # The first call of a text computes what later ones attend to of a source.
            is_first = self._encoder is not None and not self._tokens and not first
            step = model.decode_step if end - first == 1 and not is_first else model.prefill_step
            # A call of a fixed size takes that many tokens, or its last ones singly.
            many = min(step.longest, model.chunk, end - first)
            if step.is_fixed and many < step.longest and not is_first:
                step, many = model.decode_step, 1
            yield step, first, first + many
            first += many

    def _embedded(self, ids: Sequence[int], images: Sequence[Array]) -> Array:
        """Embeddings `[1, len(ids), width]` of tokens and images."""
        assert self._embed is not None
        model, read = self.model, self.model.images
        longest = model.program.metadata(self._embed.name).input_tensor_meta(0).sizes()[1]
        found = np.empty((1, len(ids), model.prefill_step.width), np.float32)
        waiting = iter(images)
        first = 0
        while first < len(ids):
            if read is not None and ids[first] == read.token_id:
                assert self._see is not None
                last = first + read.tokens
                (part,) = self._see.execute([next(waiting)])
            else:
                last = first + 1
                while last < min(len(ids), first + longest) and (read is None or ids[last] != read.token_id):
                    last += 1
                (part,) = self._embed.execute([np.array([ids[first:last]], np.int64)])
            found[:, first:last] = part
            first = last
        return found

    def _call(self, step: Step, inputs: Array, position: int, places: Array | None) -> Array:
        count = inputs.shape[1]
        positions = np.arange(position, position + (1 if step.by_first else count), dtype=np.int64)
        given = self._given(inputs, positions)
        if step.takes_places:
            assert places is not None
            given.append(places)
        (logits,) = self._methods[step.method].execute(given)
        found: Array = np.asarray(logits, np.float32).reshape(-1, step.vocabulary)
        return found

    def _given(self, inputs: Array, positions: Array) -> list[Array]:
        return [inputs, positions] if self._source is None else [inputs, self._source, positions]

    def _places(self, ids: Sequence[int]) -> tuple[Array, int]:
        """Times, rows and columns `[3, len(ids)]` i64 of new tokens, and the time of what follows them.

        What follows an image is behind the longer side of its grid. After Wang et al. 2024 (Qwen2-VL), section 2.1.
        """
        if self._place is None:
            self._place = int(self._durations(self._tokens).sum())
        durations = self._durations(ids)
        times = self._place + np.cumsum(durations)
        found = np.tile(times - durations, (3, 1))
        read = self.model.images
        if read is not None:
            (seen,) = np.nonzero(np.array(ids, np.int64) == read.token_id)
            found[1, seen] += np.arange(len(seen)) % read.tokens // read.grid[1]
            found[2, seen] += np.arange(len(seen)) % read.tokens % read.grid[1]
        return found, int(times[-1])

    def _durations(self, ids: Sequence[int]) -> Array:
        """The time from each token to the next; of an image, whose tokens are all in `ids`, behind its last token."""
        found = np.ones(len(ids), np.int64)
        read = self.model.images
        if read is not None:
            (seen,) = np.nonzero(np.array(ids, np.int64) == read.token_id)
            found[seen] = 0
            found[seen[read.tokens - 1 :: read.tokens]] = max(read.grid)
        return found

    def rewind(self, length: int, logits: Array | None = None) -> None:
        """Go back to the first `length` tokens, by fewer than one call may have; `logits` `[V]` are of what follows.

        Raises InputError for a length that there was not, ExecutorchError(NotSupported) for a model whose state is not
        by position, or too far a way back.
        """
        self._check_free()
        back = len(self._tokens) - length
        if not 0 <= back <= len(self._tokens):
            raise InputError(f"length {length}: the text has {len(self._tokens)} tokens")
        if not back:
            return
        read = self.model.images
        if read is not None and sum(one == read.token_id for one in self._tokens[:length]) % read.tokens:
            raise InputError(f"length {length}: that is inside an image")
        if back > self.model.reach:
            raise ExecutorchError(
                Error.NotSupported,
                f"the state cannot go back by {back} tokens",
                hint=f"by up to {self.model.reach}; fork or save a session to come back to it",
            )
        del self._tokens[length:]
        self._place = None
        self._keep(logits)

    def reset(self) -> None:
        """Begin a new text, of the same source."""
        self._check_free()
        for method in self._methods.values():
            method.state.reset()
        self._tokens.clear()
        self._place = 0
        self._keep(None)

    def fork(self) -> Session:
        """Another session that goes on from the same text."""
        other = Session(self.model)
        other._restore(self._state(), self._tokens, self.logits, self._source)
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write text and state to a `.safetensors` file, which is there completely or as it was.

        Raises ExecutorchError(AccessFailed) for a path that cannot be written.
        """
        tensors = self._state()
        tensors[_TOKENS] = np.array(self._tokens, np.int64)
        if self.logits is not None:
            tensors[_LOGITS] = self.logits
        if self._source is not None:
            tensors[_SOURCE] = self._source
        tensors[_PROGRAM] = np.frombuffer(self.model.fingerprint(), np.uint8)
        write_tensors(path, tensors)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Go on from the text and state of a file that `save` has written, with the same program.

        Raises InputError, with nothing changed, for a file of another program or a damaged one, and what reading it
        raises: ExecutorchError(AccessFailed), InvalidFile.
        """
        self._check_free()
        tensors = dict(read_tensors(path))
        tokens, program = tensors.pop(_TOKENS, None), tensors.pop(_PROGRAM, None)
        if tokens is None or program is None:
            writer = worded(python="session.save", command="--save-session")
            raise InputError(f"{os.fspath(path)} is not a saved session, as {writer} writes it")
        if program.tobytes() != self.model.fingerprint():
            raise InputError(f"{os.fspath(path)} is a session of another program")
        # The file may be gone when they are looked at.
        logits, source = (
            None if found is None else np.array(found)
            for found in (tensors.pop(_LOGITS, None), tensors.pop(_SOURCE, None))
        )
        if not self._is_saved(tokens, logits, source):
            raise InputError(f"{os.fspath(path)} is a damaged session")
        try:
            self._restore(tensors, [int(token) for token in tokens], logits, source)
        except ExecutorchError as error:
            raise InputError(f"{os.fspath(path)} is a damaged session: {error.message}") from error

    def _is_saved(self, tokens: Array, logits: Array | None, source: Array | None) -> bool:
        """Whether tokens, logits and source may be of a session of the model."""
        model = self.model
        if tokens.dtype != np.int64 or tokens.ndim != 1 or len(tokens) > model.context:
            return False
        known = (tokens >= 0) & (tokens < model.vocabulary)
        if model.images is not None:
            known |= tokens == model.images.token_id
        good = bool(known.all())
        if logits is not None:
            steps = (model.prefill_step, model.decode_step, model.block_step)
            shapes = [(step.vocabulary,) for step in steps if step is not None]
            good &= logits.dtype == np.float32 and logits.shape in shapes
        if self._encoder is None or source is None:
            return good and source is None
        hidden = model.program.metadata(self._encoder.name).output_tensor_meta(0)
        sizes = hidden.sizes()
        return good and (
            source.dtype == numpy_dtype(hidden.dtype())
            and source.ndim == len(sizes)
            and all(
                size == most or (dim == 1 and size < most)
                for dim, (size, most) in enumerate(zip(source.shape, sizes, strict=True))
            )
        )

    def _state(self) -> dict[str, Array]:
        return dict(self._methods[self.model.prefill_step.method].state.arrays())

    def _restore(
        self, state: dict[str, Array], tokens: Sequence[int], logits: Array | None, source: Array | None
    ) -> None:
        self._methods[self.model.prefill_step.method].state.restore(state)
        self._tokens = list(tokens)
        self._place = None
        self._keep(logits)
        self._source = source
