"""The specification of the logits copy, as data.

Rules of this table:

1. An id is semantic and permanent: it is never renamed and never used again.
2. Levels are those of RFC 2119. A violated MUST fails a run, a violated SHOULD warns
   (``--strict``: fails), a violated MAY informs.
3. Each invariant says why it is there and which public reports motivate it.
4. Each invariant is exercised by at least one scenario and needed by at least one known-bad
   implementation that nothing else refutes.
5. ``properties/README.md`` is generated from this table (``logitsbuf spec --markdown``).

Terms: *narrowed* is ``logits[:, :vocab_size]`` if the logits are wider than ``vocab_size``, else
the logits. A buffer *matches* if its full shape equals that of *narrowed*. A call *falls back* if
there is no buffer or it does not match. Source of the contract: sgl-project/sglang#29943.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["MUST", "SHOULD", "MAY"]


@dataclass(frozen=True, kw_only=True)
class Invariant:
    """One sentence that every implementation is held to."""

    id: str
    level: Level
    statement: str
    why: str
    reports: tuple[str, ...]
    scenarios: tuple[str, ...]


_EVERY_RELATION = (
    "no_buffer",
    "exact",
    "exact_after_narrowing",
    "more_rows",
    "fewer_rows",
    "one_row_buffer",
    "one_row_logits",
    "wider_buffer",
    "narrower_buffer",
    "one_column_logits",
    "same_count",
    "transposed",
    "wrong_dtype_misfit",
    "zero_rows",
    "any_shapes",
)
_MATCHES = ("exact", "exact_after_narrowing")
_MISFITS = tuple(name for name in _EVERY_RELATION if name not in ("no_buffer", *_MATCHES))

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        id="COPY-TOTAL",
        level="MUST",
        statement=(
            "Every valid call returns a tensor: no exception for any dtype named in COPY-FLOAT32, "
            "shape (zero rows included) or relation of buffer to logits, with unit column stride "
            "and any row stride (logits' rows may repeat, the buffer's may not)."
        ),
        why=(
            "A draft head of reduced width, or a batch of other rows, meets the shared buffer in "
            "ordinary serving; an exception there takes the server down."
        ),
        reports=(
            "sgl-project/sglang#29943",
            "sgl-project/sglang#28856",
            "sgl-project/sglang#10106",
        ),
        scenarios=_EVERY_RELATION,
    ),
    Invariant(
        id="COPY-LAYOUT",
        level="MUST",
        statement=(
            "Any other layout (column-major, column step) is handled right, or refused with "
            "nothing written. (Accepting it is a SHOULD.)"
        ),
        why="A kernel that assumes unit column stride reads or writes other cells, silently.",
        reports=("vllm-project/vllm#42684", "flashinfer-ai/flashinfer#1866"),
        scenarios=("layouts",),
    ),
    Invariant(
        id="COPY-FLOAT32",
        level="MUST",
        statement=(
            "The output is float32 for float64, float32, bfloat16, float16, float8 (e4m3, e5m2) "
            "input, whatever torch's default dtype."
        ),
        why="Samplers and log-probabilities downstream are written for float32.",
        reports=("microsoft/onnxruntime-genai#2203",),
        scenarios=_EVERY_RELATION,
    ),
    Invariant(
        id="COPY-SHAPE",
        level="MUST",
        statement=(
            "The output's shape is (rows, min(width, vocab_size)) of the logits: never the "
            "buffer's, never broadcast, truncated or padded."
        ),
        why=(
            "One row copied into an eight-row buffer is broadcast without an error, and eight "
            "requests sample from one request's logits."
        ),
        reports=("sgl-project/sglang#29943", "sgl-project/sglang#9975"),
        scenarios=_EVERY_RELATION,
    ),
    Invariant(
        id="COPY-DEVICE",
        level="MUST",
        statement="The output is on the logits' device.",
        why="A result on another device mixes devices in the sampler, or forces a transfer.",
        reports=("sgl-project/sglang#29943",),
        scenarios=_EVERY_RELATION,
    ),
    Invariant(
        id="COPY-VALUES",
        level="MUST",
        statement=(
            "Every element is the IEEE-754 conversion of its input: exact when widening, to "
            "nearest even from float64 (overflow to ±inf). NaN stays NaN, ±inf and −0.0 stay, "
            "subnormals are not flushed. NaN payload and sign are free."
        ),
        why=(
            "A shifted row, a missed column or a rounding detour changes which token wins, and "
            "nothing crashes."
        ),
        reports=(
            "vllm-project/vllm#42684",
            "microsoft/onnxruntime-genai#2203",
            "triton-inference-server/tensorrtllm_backend#598",
            "m87-labs/kestrel#212",
        ),
        scenarios=(*_EVERY_RELATION, "bit_patterns", "specials"),
    ),
    Invariant(
        id="COPY-REUSE",
        level="MUST",
        statement=(
            "On a match the output is the buffer's memory: same address, shape, and strides of "
            "dimensions longer than 1 (for no elements: shape and dtype)."
        ),
        why="A captured graph's consumer reads the buffer's address, not the returned tensor.",
        reports=("NVIDIA/recsys-examples#439", "NVIDIA/TensorRT-LLM#16307"),
        scenarios=_MATCHES,
    ),
    Invariant(
        id="COPY-NO-ALIAS",
        level="MUST",
        statement="Without a match the output shares no byte with the buffer.",
        why="A result that lies in a buffer of another shape changes when the next runner writes.",
        reports=("sgl-project/sglang#29943",),
        scenarios=_MISFITS,
    ),
    Invariant(
        id="COPY-UNTOUCHED",
        level="MUST",
        statement=(
            "Without a match, or when the call raises, no byte of the buffer's storage changes."
        ),
        why="Another runner may still read what the shared buffer holds.",
        reports=("sgl-project/sglang#29943", "vllm-project/vllm-ascend#1133"),
        scenarios=(*_MISFITS, "wrong_dtype_match"),
    ),
    Invariant(
        id="COPY-IN-BOUNDS",
        level="MUST",
        statement=(
            "On a match only the buffer's own elements change: nothing before, after, or between "
            "its rows."
        ),
        why="The buffer is a view into a larger storage whose other rows belong to others.",
        reports=("vllm-project/vllm#41856", "vllm-project/vllm#53017"),
        scenarios=_MATCHES,
    ),
    Invariant(
        id="COPY-INPUT",
        level="MUST",
        statement=(
            "No byte of the logits' storage outside the buffer's elements changes, padded columns "
            "included."
        ),
        why="The head's output may be read again: for log-probabilities, by another runner.",
        reports=("PrimeIntellect-ai/prime-rl#2497", "NVIDIA/Megatron-LM#1594"),
        scenarios=_EVERY_RELATION,
    ),
    Invariant(
        id="COPY-DTYPE-GUARD",
        level="MUST",
        statement=(
            "A matching buffer that is not float32 is refused with an exception, and nothing is "
            "written."
        ),
        why="A bfloat16 buffer would silently round the logits that everyone shares.",
        reports=("sgl-project/sglang#29943",),
        scenarios=("wrong_dtype_match",),
    ),
    Invariant(
        id="COPY-PURE",
        level="MUST",
        statement=(
            "A result depends on its call's arguments alone: no earlier call changes it, and no "
            "later call on other tensors changes an earlier fallback result."
        ),
        why="State kept between calls hands one step the logits of another.",
        reports=("sgl-project/sglang#29779", "sgl-project/sglang#8579", "vllm-project/vllm#53488"),
        scenarios=("repeated_calls",),
    ),
    Invariant(
        id="COPY-SELF",
        level="MUST",
        statement=(
            "float32 logits of width ≤ vocab_size that are the buffer, or another tensor over "
            "exactly its bytes, come back right, as the buffer."
        ),
        why="A head may write straight into the buffer that the copy is then given.",
        reports=("m87-labs/kestrel#212",),
        scenarios=("logits_are_buffer",),
    ),
    Invariant(
        id="COPY-MODES",
        level="MUST",
        statement=(
            "The same under no_grad, inference_mode (inference-mode buffers are used inside it "
            "only), autocast, another default dtype or device; grad mode, default dtype and "
            "random state are as before; no warning."
        ),
        why="Engines warm up, capture and serve under different modes.",
        reports=("sgl-project/sglang#18991", "lightseekorg/tokenspeed#794"),
        scenarios=("modes",),
    ),
    Invariant(
        id="COPY-FRESH",
        level="MAY",
        statement=(
            "A fallback result does not alias the logits. (A contract may promise it; then it is "
            "a MUST.)"
        ),
        why="Scaling an aliased result in place scales the head's output as well.",
        reports=("PrimeIntellect-ai/prime-rl#2497", "NVIDIA/Megatron-LM#1594"),
        scenarios=("no_buffer", *_MISFITS),
    ),
    Invariant(
        id="COPY-RELEASE",
        level="SHOULD",
        statement="The implementation keeps neither arguments nor results alive.",
        why="One retained step of logits is hundreds of megabytes at real sizes.",
        reports=("sgl-project/sglang#31498", "wejoncy/sfllm#44"),
        scenarios=(*_EVERY_RELATION, "repeated_calls"),
    ),
    Invariant(
        id="COST-NO-ALLOC",
        level="SHOULD",
        statement="The match path allocates nothing.",
        why="The buffer exists so that a decode step allocates no logits.",
        reports=("wejoncy/sfllm#44", "kekzl/imp#1648"),
        scenarios=("cost",),
    ),
    Invariant(
        id="COST-ONE-WRITE",
        level="SHOULD",
        statement=(
            "The match path makes at most one write, and no view unless the logits are wider than "
            "the vocabulary."
        ),
        why="Each operator of the hot path costs a launch in every decode step.",
        reports=("sgl-project/sglang#29943",),
        scenarios=("cost",),
    ),
    Invariant(
        id="COST-NO-SYNC",
        level="SHOULD",
        statement="No step reads tensor data on the host.",
        why="A host read waits for the device, and breaks the capture of a graph.",
        reports=("NVIDIA/TensorRT-LLM#16307",),
        scenarios=("cost",),
    ),
)

BY_ID: dict[str, Invariant] = {invariant.id: invariant for invariant in INVARIANTS}
