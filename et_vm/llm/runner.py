"""Generation of text, under the names of ExecuTorch's `TextLLMRunner`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from et_schema.errors import InputError
from et_vm.llm.audio import LogMel, read_wave
from et_vm.llm.constraint import Constraint
from et_vm.llm.images import read_image
from et_vm.llm.model import LanguageModel
from et_vm.llm.sampling import Sampler
from et_vm.llm.session import Session, generation_is_running
from et_vm.llm.speculation import Draft
from et_vm.llm.stats import Stats
from et_vm.llm.text import TextStream, Tokenizer
from et_vm.llm.transcription import start_transcription
from et_vm.runtime import Runtime
from et_vm.values import Array

__all__ = ["GenerationConfig", "Stats", "TextLLMRunner"]


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """How text is generated. The first seven fields have the names of upstream's, -1 stands for as many as fit."""

    echo: bool = True
    """Whether the prompt is given to the callback first."""
    max_new_tokens: int = -1
    """The most tokens to generate."""
    warming: bool = False
    """Whether nothing is given to the callback."""
    seq_len: int = -1
    """The most tokens of prompt and continuation."""
    temperature: float = 0.8
    """0 takes the likeliest token."""
    num_bos: int = 0
    """Number of BOS tokens to put before the prompt, if the tokenizer adds none."""
    num_eos: int = 0
    """Number of EOS tokens to put after the prompt."""
    add_special_tokens: bool = True
    """Whether a new text gets the tokens that the tokenizer puts around one; a chat template has written its own."""
    top_p: float = 1.0
    """Tokens are the likeliest that together have this probability."""
    top_k: int = 0
    """Tokens are the likeliest of this number; 0: all."""
    seed: int | None = None
    """Repeats the choices; None: other ones each time."""
    constraint: Constraint | None = None
    """Constraint on the text: a regular expression or a JSON schema."""
    language: str | None = None
    """The language of audio, a code as `en`; None: as the program says, or the likeliest for the model."""
    task: str | None = None
    """The task for audio: `transcribe` or `translate`, into English; None: as the program says."""

    def resolve_max_new_tokens(self, max_context_len: int, occupied: int) -> int:
        """The most tokens to generate, where a text of `occupied` tokens is there."""
        most = max_context_len if self.seq_len < 0 else min(self.seq_len, max_context_len)
        left = max(0, most - occupied)
        return left if self.max_new_tokens < 0 else min(self.max_new_tokens, left)


class TextLLMRunner:
    """Generates text with a program and a tokenizer; one text after the other, which `reset` ends.

    The program is a file, or its bytes; `kernels`, `allow_native` and `threads` are those of `et_vm.runtime`. Raises
    what loading a program and a tokenizer raises, and InputError for a tokenizer with more ids than the program.

    While a text is generated, its callback and other threads may call `stop`. In the callback, other calls that would
    change the text, also those of the session, raise ExecutorchError(InvalidState) and change nothing; so do
    `prefill`, `reset` and `generate` in other threads.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | bytes,
        tokenizer_path: str | os.PathLike[str],
        data_path: str | os.PathLike[str] | None = None,
        *,
        any_data: bool = False,
        kernels: str = "portable",
        allow_native: bool = False,
        threads: int | None = None,
    ) -> None:
        self.tokenizer = Tokenizer(os.fspath(tokenizer_path))
        program = Runtime(threads=threads).load_program(
            model_path,
            data_path=data_path,
            any_data=any_data,
            kernels=kernels,
            allow_native=allow_native,
        )
        self.model = LanguageModel(program)
        check_tokenizer(self.model, self.tokenizer)
        self.session = Session(self.model)
        self._stopped = False
        self._lock = threading.Lock()

    def get_vocab_size(self) -> int:
        """The number of token ids of the program."""
        return self.model.vocabulary

    def prefill(self, prompt: str) -> None:
        """Process a text that the following generations continue.

        Raises InputError for one that does not fit, with nothing changed.
        """
        with self._alone():
            self._read(self._ids(prompt, GenerationConfig()))

    def stop(self) -> None:
        """End the generation that runs, after the token that it is at: to be called from a callback, or a thread."""
        self._stopped = True

    def reset(self) -> None:
        """Forget the text."""
        with self._alone():
            self.session.reset()

    @contextmanager
    def _alone(self) -> Generator[None]:
        if not self._lock.acquire(blocking=False):
            raise generation_is_running()
        try:
            yield
        finally:
            self._lock.release()

    def generate(
        self,
        prompt: str,
        config: GenerationConfig | None = None,
        token_callback: Callable[[str], object] | None = None,
        stats_callback: Callable[[Stats], object] | None = None,
        draft: Draft | None = None,
        images: Sequence[str | os.PathLike[str] | Array] = (),
        audio: str | os.PathLike[str] | Array | None = None,
    ) -> str:
        """Read a prompt, generate what follows it, and return that; `token_callback` gets the pieces as they come.

        An empty prompt goes on from the text so far. To an encoder-decoder the prompt is the source of a new text.
        `audio` is a WAV file, or samples `[N]` of floats from -1 to 1, at the rate of the model, that a new text
        transcribes; the prompt is what was said before.
        `images` are files, or arrays `[1, 3, height, width]` f32 that are scaled already; each is read where the prompt
        has the token that stands for one, or all before the prompt, if it has none.

        With a `draft`, a smaller model of the same vocabulary, greedy text is the same, in fewer calls of this one.
        Raises InputError, with nothing changed, for a prompt that does not fit into the context.
        """
        config = config or GenerationConfig()
        if draft is not None and self.model.encoder is not None:
            raise InputError("drafts are for models that continue texts, not for encoder-decoders")
        if draft is not None and images:
            raise InputError("drafts are for texts without images")
        if audio is not None and self.model.audio is None:
            raise InputError("the model takes no audio", hint="leave it out")
        if audio is None and (config.language is not None or config.task is not None):
            raise InputError("a language and a task apply to audio only", hint="leave them out")
        stats = Stats(inference_start_ms=_now())
        with self._alone():
            text = self._generate(
                prompt, config, None if config.warming else token_callback, stats, draft, images, audio
            )
        if stats_callback is not None:
            stats_callback(stats)
        return text

    def _generate(
        self,
        prompt: str,
        config: GenerationConfig,
        callback: Callable[[str], object] | None,
        stats: Stats,
        draft: Draft | None,
        images: Sequence[str | os.PathLike[str] | Array],
        audio: str | os.PathLike[str] | Array | None,
    ) -> str:
        def give(piece: str) -> None:
            if callback is not None:
                with self.session.held():
                    callback(piece)

        sampler = Sampler(config.temperature, config.top_p, config.top_k, config.seed)
        self._stopped = False
        if audio is None:
            ids = self._ids(prompt, config, len(images))
            before = len(self.session.tokens)
            logits = self._read(ids, self._pixels(images))
            read = len(ids) if self.model.encoder is not None else len(self.session.tokens) - before
        else:
            self._pixels(images)
            logits = self._listen(audio, prompt, config)
            read = len(self.session.tokens)
        stats.num_prompt_tokens, stats.prompt_eval_end_ms = read, _now()
        if config.echo:
            give(prompt)
        left = config.resolve_max_new_tokens(self.model.context, len(self.session.tokens))
        stream, pieces = TextStream(self.tokenizer, self.session.tokens), list[str]()
        tokens = self._tokens(logits, left, sampler, config.constraint, draft, stats, is_begun=not read)
        for token in tokens:
            if not stats.num_generated_tokens:
                stats.first_token_ms = _now()
            stats.num_generated_tokens += 1
            piece = stream.put(token)
            pieces.append(piece)
            if piece:
                give(piece)
        pieces.append(stream.end())
        if pieces[-1]:
            give(pieces[-1])
        stats.inference_end_ms = _now()
        return "".join(pieces)

    def _pixels(self, images: Sequence[str | os.PathLike[str] | Array]) -> list[Array]:
        read = self.model.images
        if read is None:
            if images:
                raise InputError("the model reads no images", hint="leave them out")
            return []
        folder, size = self.tokenizer.file.parent, (read.height, read.width)
        return [one if isinstance(one, np.ndarray) else read_image(one, size, folder) for one in images]

    def _listen(self, audio: str | os.PathLike[str] | Array, prompt: str, config: GenerationConfig) -> Array:
        """The logits of what is said first in audio."""
        taken = self.model.audio
        assert taken is not None
        folder = self.tokenizer.file.parent
        mel = LogMel.of_folder(folder)
        if (mel.bands, mel.frames) != (taken.bands, taken.frames):
            raise InputError(
                f"the preprocessor gives spectrograms [{mel.bands}, {mel.frames}]: the program takes "
                f"[{taken.bands}, {taken.frames}]",
                where=str(folder),
                hint="copy preprocessor_config.json from the folder of the model",
            )
        samples = audio if isinstance(audio, np.ndarray) else read_wave(audio, mel)
        return start_transcription(
            self.session,
            self.tokenizer,
            mel.features(samples),
            previous=prompt,
            language=config.language,
            task=config.task,
        )

    def _read(self, ids: list[int], images: Sequence[Array] = ()) -> Array:
        """The logits of what follows a prompt: the source of a new text, or the text so far with it."""
        session, model = self.session, self.model
        if model.encoder is not None and ids:
            if model.bos_id is None:
                raise InputError(
                    "the program does not say which token texts begin with",
                    hint="it is what the constant method 'get_bos_id' returns",
                )
            session.encode(ids)
            return session.feed([model.bos_id])
        return session.logits if session.logits is not None and not ids else session.feed(ids, images)

    def _tokens(
        self,
        logits: Array,
        left: int,
        sampler: Sampler,
        constraint: Constraint | None,
        draft: Draft | None,
        stats: Stats,
        *,
        is_begun: bool,
    ) -> Iterator[int]:
        """The generated ids, without the one that ends the text; each is fed before the next is chosen.

        `is_begun`: the first continues what was generated before.
        """
        follower = None if constraint is None else constraint.start(self.tokenizer, self.model)
        if follower is not None:
            stats.is_match = follower.is_match
        if draft is not None and follower is None and sampler.temperature == 0:
            yield from draft.tokens(self.session, logits, left, self._is_stopped, stats, is_begun=is_begun)
            return
        while left > 0 and not self._stopped:
            if follower is None:
                token = sampler.choose(self.model.possible(logits, is_first=not is_begun))
                is_begun = True
            else:  # a constraint says itself what is possible
                token = sampler.choose(logits, follower.allowed())
            if token in self.model.eos_ids:
                return
            if follower is not None:
                follower.advance(token)
                stats.is_match = follower.is_match
            yield token
            left -= 1
            if left == 0 and self.session.room == 0:
                return
            logits = self.session.advance(token)
            if follower is not None and follower.is_complete:
                return

    def _is_stopped(self) -> bool:
        return self._stopped

    def _ids(self, prompt: str, config: GenerationConfig, images: int = 0) -> list[int]:
        if self.model.audio is not None:
            if prompt or self.session.logits is None:
                raise InputError("the model transcribes audio, and none is given", hint="give a WAV file")
            return []
        if self.model.encoder is not None:
            return self.tokenizer.encode(prompt) if prompt or self.session.logits is None else []
        is_new = not self.session.tokens and config.add_special_tokens
        ids = self.tokenizer.encode(prompt) if is_new else self.tokenizer.encode_rest(prompt)
        model = self.model
        if images and model.images is not None and model.images.token_id not in ids:
            behind = 1 if ids[:1] == [model.bos_id] else 0
            ids = [*ids[:behind], *[model.images.token_id] * images, *ids[behind:]]
        if model.bos_id is not None and not self.session.tokens:
            begun = 0
            while begun < len(ids) and ids[begun] == model.bos_id:
                begun += 1
            ids = [model.bos_id] * max(0, config.num_bos - begun) + ids
        ids += sorted(model.eos_ids)[:1] * config.num_eos
        if not ids and model.bos_id is not None and not self.session.tokens:
            ids = [model.bos_id]
        if not ids and self.session.logits is None:
            raise InputError("the prompt has no tokens")
        return ids


def check_tokenizer(model: LanguageModel, tokenizer: Tokenizer) -> None:
    """Raise InputError for a tokenizer with ids that the model does not have."""
    if tokenizer.size > model.vocabulary:
        raise InputError(
            f"the tokenizer has {tokenizer.size} ids, the program {model.vocabulary}",
            where=str(tokenizer.file),
            hint="give the tokenizer that the model was trained with",
        )


def _now() -> float:
    return time.perf_counter() * 1e3
