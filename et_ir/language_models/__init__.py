"""Language models of Hugging Face folders as programs with a cache.

Needs `transformers`, of the extra `llm`.

```python
from pathlib import Path
from et_ir.language_models import CachedDecoder, ModelFolder, Sizes, export_decoder, metadata

sizes = Sizes(context=2048, chunk=128)
model = ModelFolder(Path("SmolLM3")).load()
found = export_decoder(CachedDecoder(model, sizes), sizes)
constants = metadata(model, context=sizes.context, chunk=found.chunk)
```
"""

from et_ir.language_models.cache import AttentionCache, CacheBuffers
from et_ir.language_models.decoder import CachedDecoder, DecoderPrograms, Sizes, check_decoder, export_decoder
from et_ir.language_models.encoder_decoder import (
    CachedTextDecoder,
    Encoder,
    check_encoder_decoder,
    export_encoder_decoder,
)
from et_ir.language_models.errors import LanguageModelError
from et_ir.language_models.folder import ModelFolder
from et_ir.language_models.metadata import metadata
from et_ir.language_models.quantization import quantize_weights
from et_ir.language_models.vision import (
    CachedEmbeddingDecoder,
    TokenEmbedding,
    VisionEncoder,
    check_vision_model,
    export_vision_model,
    image_metadata,
    image_size,
    least_chunk,
)

__all__ = [
    "AttentionCache",
    "CacheBuffers",
    "CachedDecoder",
    "CachedEmbeddingDecoder",
    "CachedTextDecoder",
    "DecoderPrograms",
    "Encoder",
    "LanguageModelError",
    "ModelFolder",
    "Sizes",
    "TokenEmbedding",
    "VisionEncoder",
    "check_decoder",
    "check_encoder_decoder",
    "check_vision_model",
    "export_decoder",
    "export_encoder_decoder",
    "export_vision_model",
    "image_metadata",
    "image_size",
    "least_chunk",
    "metadata",
    "quantize_weights",
]
