"""A thin hold on llama.cpp's C functions: tokens and logits.

The code is the llama.cpp (b11549) compiled into the wheel xllamacpp==2026.10.11549, whose shared object exports the
whole C interface. The declarations (structs, enums, prototypes; generated from llama.h of b11548) come from
llama-cpp-py-sync==0.11548, whose own binary is not loaded: it wants a newer glibc than Debian 12 has.
Also numpy==2.4.6. Not run by itself; the make_*.py scripts import it.
"""

import numpy as np
import xllamacpp.xllamacpp as extension
from llama_cpp_py_sync import _cffi_bindings

ffi = _cffi_bindings.ffi
lib = ffi.dlopen(extension.__file__)


@ffi.callback("void(enum ggml_log_level, const char *, void *)")
def _quiet(level, text, user_data):
    if level == 4:  # errors; 5 continues a line of any level
        print(ffi.string(text).decode(), end="")


lib.llama_log_set(_quiet, ffi.NULL)
lib.llama_backend_init()


class Model:
    """A GGUF file opened by llama.cpp; `vocab_only` reads no tensor, `repack` lets it reorder the quantised blocks."""

    def __init__(self, path: str, vocab_only: bool = False, repack: bool = True):
        params = lib.llama_model_default_params()
        params.vocab_only = vocab_only
        params.use_extra_bufts = repack
        self._model = lib.llama_model_load_from_file(path.encode(), params)
        if self._model == ffi.NULL:
            raise SystemExit(f"llama.cpp could not load `{path}`")
        self._vocab = lib.llama_model_get_vocab(self._model)
        self.n_vocab = lib.llama_vocab_n_tokens(self._vocab)

    def tokenize(self, text: str, parse_special: bool) -> list[int]:
        """Ids without BOS/EOS; `parse_special` says whether `<|im_start|>` and its like become one id."""
        data = text.encode("utf-8")
        capacity = len(data) + 8
        ids = ffi.new("llama_token[]", capacity)
        n = lib.llama_tokenize(self._vocab, data, len(data), ids, capacity, False, parse_special)
        assert n >= 0, n
        return list(ids[0:n])

    def piece(self, token_id: int) -> bytes:
        buffer = ffi.new("char[]", 256)
        n = lib.llama_token_to_piece(self._vocab, token_id, buffer, 256, 0, True)
        assert n >= 0, n
        return ffi.buffer(buffer, n)[:]

    def context(self, n_ctx: int, n_threads: int, plain_cache: bool = True) -> "Context":
        return Context(self, n_ctx, n_threads, plain_cache)


class Context:
    """A key-value cache over a model.

    With `plain_cache` it is f32 and without flash attention, so that only the matrix products are quantised;
    otherwise as llama.cpp does by default (f16, flash attention).
    """

    def __init__(self, model: Model, n_ctx: int, n_threads: int, plain_cache: bool):
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = n_ctx
        params.n_threads = params.n_threads_batch = n_threads
        if plain_cache:
            params.type_k = params.type_v = lib.GGML_TYPE_F32
            params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self._model = model  # keeps it alive
        self._n_vocab = model.n_vocab
        self._context = lib.llama_init_from_model(model._model, params)
        assert self._context != ffi.NULL

    def clear(self) -> None:
        lib.llama_memory_clear(lib.llama_get_memory(self._context), True)

    def feed(self, ids: list[int]) -> np.ndarray:
        """Append `ids`, return the logits after the last of them."""
        tokens = ffi.new("llama_token[]", ids)
        status = lib.llama_decode(self._context, lib.llama_batch_get_one(tokens, len(ids)))
        assert status == 0, status
        logits = lib.llama_get_logits_ith(self._context, -1)
        return np.frombuffer(ffi.buffer(logits, self._n_vocab * 4), dtype=np.float32).copy()
