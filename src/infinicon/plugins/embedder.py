"""The built-in embedder, on sentence-transformers: an installed package, a local folder or the hub; cuda, else the CPU.

Most models are one Transformer behind pooling. For these, all texts of a call are tokenised first, sorted by their true length and
run in batches of nearly equal length: measured on two cores with AMX, short utterances, bf16: 1,000 texts/s, against 370 to 490 with
SentenceTransformer.encode at batch 16 to 32. Any other architecture goes through SentenceTransformer.encode.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from infinicon.domain import Span
from infinicon.errors import InvalidContent, MissingDependency
from infinicon.plugins.chunking import Offsets, chunk
from infinicon.plugins.model_files import ModelSource, locate, revision_of
from infinicon.ports import ModelInfo, Vectors
from infinicon.settings import PREFIX, Settings

_log = logging.getLogger(__name__)

PREFIX_TOKENS = 24  # Room for a short prefix (who, when) that is put before a chunk.
_SMALLEST_NORM = 1e-6
_SHORTEST_IN_BATCH = 0.8  # of the longest: padding costs as much as text.
_FEWEST_IN_BATCH = 8


def load(settings: Settings) -> SentenceTransformersEmbedder:
    """Read the model into memory.

    Raises:
        MissingDependency: the model, its package, or the device is not there; names the setting.
    """
    source = locate(settings.model)
    _prepare_process(offline=source.folder is not None)
    try:
        import sentence_transformers
        import torch
        import transformers
    except ImportError as fault:
        raise MissingDependency(
            f"{PREFIX}EMBEDDER sentence-transformers needs the package {fault.name}; install infinicon[model]"
        ) from None
    transformers.utils.logging.disable_progress_bar()
    device = _device(torch, settings.device)
    dtype = _dtype(torch, settings.precision, device)
    if device == "cpu" and settings.model_threads:
        torch.set_num_threads(settings.model_threads)
    try:
        model = sentence_transformers.SentenceTransformer(
            str(source.folder or source.hub),
            device=device,
            revision=source.hub_revision,
            local_files_only=source.folder is not None,
            model_kwargs={"dtype": dtype},
        )
    except OSError as fault:  # A weights file is missing, or the hub does not answer or does not know the name.
        raise MissingDependency(
            f"{PREFIX}MODEL: {source.folder or source.hub} cannot be read: {type(fault).__name__}"
        ) from None
    info = _info(model, source)
    _log.info("model loaded: %s, revision %s, on %s in %s", info.name, info.revision, device, dtype)
    return SentenceTransformersEmbedder(model, info, device, wide=dtype is torch.float32)


def _prepare_process(*, offline: bool) -> None:
    """Variables of other libraries, which they read when they are imported or loaded.

    Passive waiting: with spinning OpenMP threads, encoding beside any other work falls to a tenth. The tokeniser's own thread
    pool does not survive a fork. A local model must start without asking the hub.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["TRANSFORMERS_OFFLINE"] = "1"


def _device(torch: Any, wanted: str) -> str:
    there = bool(torch.cuda.is_available())
    if wanted == "cuda" and not there:
        raise MissingDependency(f"{PREFIX}DEVICE is cuda, and torch finds no cuda device")
    return "cuda" if there and wanted != "cpu" else "cpu"


def _dtype(torch: Any, wanted: str, device: str) -> Any:
    """bfloat16 only where the hardware multiplies it: elsewhere it is slower than float32."""
    if wanted == "auto":
        has = (
            torch.cuda.is_bf16_supported()
            if device == "cuda"
            else torch.cpu.get_capabilities().get("avx512_bf16", False)
        )
        wanted = "bfloat16" if has else "float32"
    return torch.bfloat16 if wanted == "bfloat16" else torch.float32


def _info(model: Any, source: ModelSource) -> ModelInfo:
    revision = revision_of(source.folder) if source.folder else _hub_revision(model, source)
    specials = _specials(model)
    prompt = max((_prompt_tokens(model, model.prompts.get(kind) or "") for kind in ("document", "query")), default=0)
    limit = model.max_seq_length or 512
    return ModelInfo(source.name, revision, int(model.get_embedding_dimension()), max(16, limit - specials - prompt))


def _hub_revision(model: Any, source: ModelSource) -> str:
    config = getattr(model.transformers_model, "config", None)
    return str(getattr(config, "_commit_hash", None) or source.hub_revision or "main")


def _specials(model: Any) -> int:
    count = getattr(model.tokenizer, "num_special_tokens_to_add", None)
    return int(count()) if count else 0


def _prompt_tokens(model: Any, prompt: str) -> int:
    return len(model.tokenizer(prompt, add_special_tokens=False)["input_ids"]) if prompt else 0


class SentenceTransformersEmbedder:
    """Implements ports.Embedder. One thread at a time is in torch; tokenising goes on beside it."""

    def __init__(self, model: Any, info: ModelInfo, device: str, *, wide: bool) -> None:
        """`model` is a SentenceTransformer; `wide` says that it computes in float32."""
        self._model = model
        self._info = info
        self._device = device
        self._lock = Lock()
        # Padded tokens and texts in a forward pass: beyond them the CPU's caches lose more than wide batches gain (measured).
        self._batch_tokens = 65_536 if device == "cuda" else 1_024 if wide else 4_096
        self._batch_texts = 2_048 if device == "cuda" else 128
        self._plain = _is_plain(model)
        self._pad = int(getattr(model.tokenizer, "pad_token_id", 0) or 0)
        self._inputs = set(getattr(model.tokenizer, "model_input_names", ()))
        if self._plain:
            self._whole = _own_tokeniser(model, truncate=None)
            self._cut = _own_tokeniser(model, truncate=model.max_seq_length)

    @property
    def model(self) -> ModelInfo:
        """`max_tokens` leaves out the model's special tokens and its longest prompt."""
        return self._info

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        """Spans of at most max_tokens, less the room for a prefix; cut at sentences and spaces where there are some."""
        _check(texts)
        return chunk(texts, max(8, self._info.max_tokens - PREFIX_TOKENS), self._offsets)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float16, shape (texts, dimension), in the order of `texts`.

        Raises:
            InvalidContent: a text is not Unicode, or the model gives it no direction; `details.index` says which.
        """
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> Vectors:
        """float16, shape (1, dimension), with the model's prompt for queries where it has one."""
        return self._embed([text], "query")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As embed_query, for several at once: the Coalescing embedder asks for it where there is one."""
        return self._embed(texts, "query")

    def _embed(self, texts: Sequence[str], kind: str) -> Vectors:
        _check(texts)
        if not texts:
            return np.empty((0, self._info.dimension), np.float16)
        prompt = self._model.prompts.get(kind) or ""
        if not self._plain:
            with self._lock:
                encode = self._model.encode_query if kind == "query" else self._model.encode_document
                return _unit(np.asarray(encode(list(texts), batch_size=16, show_progress_bar=False), np.float32))
        encodings = self._cut.encode_batch_fast([prompt + text for text in texts] if prompt else list(texts))
        rows = [np.asarray(encoding.ids, np.int64) for encoding in encodings]
        with self._lock:
            return _unit(self._run(rows))

    def _run(self, rows: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        import torch

        found = np.empty((len(rows), self._info.dimension), np.float32)
        with torch.inference_mode():
            for batch in self._batches(np.array([len(row) for row in rows])):
                ids = np.full((len(batch), max(len(rows[at]) for at in batch)), self._pad, np.int64)
                mask = np.zeros_like(ids)
                for line, at in enumerate(batch):
                    ids[line, : len(rows[at])] = rows[at]
                    mask[line, : len(rows[at])] = 1
                features = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
                if "token_type_ids" in self._inputs:
                    features["token_type_ids"] = torch.zeros(ids.shape, dtype=torch.long)
                out = self._model({name: tensor.to(self._device) for name, tensor in features.items()})
                found[batch] = out["sentence_embedding"].float().cpu().numpy()
        return found

    def _batches(self, lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Positions, longest first: bounded by padded tokens, texts, and the share of the longest that the shortest must have."""
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            longest = max(1, int(lengths[order[start]]))
            batch = order[start : start + max(1, min(self._batch_texts, self._batch_tokens // longest))]
            alike = int(np.count_nonzero(lengths[batch] >= longest * _SHORTEST_IN_BATCH))
            batch = batch[: max(alike, _FEWEST_IN_BATCH)]
            start += len(batch)
            yield batch

    def _offsets(self, texts: list[str]) -> list[Offsets]:
        if self._plain:
            return [encoding.offsets for encoding in self._whole.encode_batch(texts, add_special_tokens=False)]
        tokenizer = self._model.tokenizer
        if getattr(tokenizer, "is_fast", False):
            return [
                tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
                for text in texts
            ]
        # A tokeniser that tells no offsets: a token is at least one byte of UTF-8, so every byte counts as one.
        return [[(at, at + 1) for at, char in enumerate(text) for _ in char.encode()] for text in texts]


def _is_plain(model: Any) -> bool:
    """Whether the model takes token ids, mask and types, and nothing that its preprocessing adds beyond them."""
    from sentence_transformers.base.modules.transformer import Transformer

    first = model[0]
    if type(first) is not Transformer or "message" in first.modality_config or "text" not in first.modality_config:
        return False
    tokenizer = first.tokenizer
    return bool(
        first.transformer_task == "feature-extraction"
        and getattr(tokenizer, "is_fast", False)
        and getattr(tokenizer, "padding_side", "right") == "right"
        and not first.query_expansion
        and all(getattr(module, "include_prompt", True) for module in model)
        and set(tokenizer.model_input_names) <= {"input_ids", "attention_mask", "token_type_ids"}
    )


def _own_tokeniser(model: Any, truncate: int | None) -> Any:
    """A copy, because truncation is a state of the tokeniser: changing it in one thread while another tokenises is an error."""
    from tokenizers import Tokenizer

    own = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    own.no_padding()
    own.no_truncation()
    if truncate:
        own.enable_truncation(truncate)
    return own


def _check(texts: Sequence[str]) -> None:
    for index, text in enumerate(texts):
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InvalidContent("a text to embed holds a lone surrogate", details={"index": index}) from None


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    good = np.isfinite(norms[:, 0]) & (norms[:, 0] > _SMALLEST_NORM)
    if not good.all():
        raise InvalidContent("the model gave a text no direction", details={"index": int(np.argmin(good))})
    return cast(Vectors, (vectors / norms).astype(np.float16))
