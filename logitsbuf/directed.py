"""Inputs distilled from public reports, by name.

Each stands for a kind of fault that the scenarios search for; the very input is kept as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from logitsbuf.case import Call, Case, Layout, Matrix, Special


@dataclass(frozen=True)
class Directed:
    """A distilled report: what faulty code did, and where it was reported."""

    name: str
    why: str
    reports: tuple[str, ...]
    calls: tuple[Call, ...]

    @property
    def case(self) -> Case:
        return Case(f"directed_{self.name}", self.calls)


def _bf16(rows: int, columns: int) -> Matrix:
    return Matrix(rows, columns, "bfloat16")


_BUFFER_8X4 = Matrix(8, 4)

_ALL = (
    Directed(
        "A1",
        "Reduced width against a full-width buffer raises; one column is broadcast silently.",
        ("sgl-project/sglang#29943", "sgl-project/sglang#28856"),
        (
            Call(_bf16(8, 32), 128, Matrix(8, 128)),
            Call(Matrix(8, 1), 128, Matrix(8, 128), seed=1, buffer_of=0),
        ),
    ),
    Directed(
        "A2",
        "Eight rows into one raise; one row fills every row of eight.",
        ("sgl-project/sglang#29943",),
        (
            Call(_bf16(8, 16), 16, Matrix(1, 16)),
            Call(_bf16(1, 16), 16, Matrix(8, 16), seed=1),
        ),
    ),
    Directed(
        "A3",
        "A padded draft head sliced by the target's vocabulary is not sliced at all.",
        ("sgl-project/sglang#10106", "sgl-project/sglang#9975"),
        (Call(_bf16(2, 32000), 31990, Matrix(2, 31990)),),
    ),
    Directed(
        "A11",
        "An idle rank's zero rows crash downstream.",
        ("vllm-project/vllm-ascend#1133",),
        (Call(_bf16(0, 8), 8, Matrix(4, 8)), Call(_bf16(0, 8), 8, Matrix(0, 8))),
    ),
    Directed(
        "B1",
        "Row r is read at r · vocab_size instead of r · stride(0).",
        (
            "vllm-project/vllm#42684",
            "PrimeIntellect-ai/prime-rl#2497",
            "flashinfer-ai/flashinfer#1866",
            "flashinfer-ai/flashinfer#4713",
        ),
        (
            Call(Matrix(4, 10, layout=Layout(pad=3)), 10, None, seed=1),
            Call(Matrix(4, 10, layout=Layout(pad=3)), 10, Matrix(4, 10), seed=2),
            Call(_bf16(4, 10), 10, Matrix(4, 10, layout=Layout(pad=3)), seed=3),
        ),
    ),
    Directed(
        "C1",
        "bfloat16 bytes are reinterpreted as float32.",
        ("microsoft/onnxruntime-genai#2203", "triton-inference-server/tensorrtllm_backend#598"),
        (Call(_bf16(2, 8), 8), Call(_bf16(2, 8), 8, Matrix(2, 8), seed=1)),
    ),
    Directed(
        "C2",
        "float32 logits come back as themselves, and scaling the result scales them.",
        ("PrimeIntellect-ai/prime-rl#2497", "NVIDIA/Megatron-LM#1594"),
        (Call(Matrix(2, 8), 8), Call(Matrix(2, 8), 8, Matrix(3, 8), seed=1)),
    ),
    Directed(
        "C8",
        "NaN is cleaned, −0.0 loses its sign, subnormals are flushed.",
        ("PrimeIntellect-ai/prime-rl#2497",),
        tuple(
            Call(
                Matrix(1, 7),
                7,
                buffer,
                specials=tuple(
                    Special(f"0,{column}", value)
                    for column, value in enumerate(
                        ("nan", "inf", "-inf", "-0.0", "0.0", "65504", "subnormal")
                    )
                ),
            )
            for buffer in (Matrix(1, 7), None)
        ),
    ),
    Directed(
        "C10",
        "float64 logits come back as float64.",
        ("sgl-project/sglang#29943",),
        tuple(
            Call(Matrix(1, 2, "float64"), 2, buffer, specials=(Special("0,0", "1+1e-12"),))
            for buffer in (Matrix(1, 2), None)
        ),
    ),
    Directed(
        "E1",
        "A new tensor for each call where one address was promised.",
        (
            "NVIDIA/recsys-examples#439",
            "wejoncy/sfllm#44",
            "NVIDIA/TensorRT-LLM#16307",
            "kekzl/imp#1648",
        ),
        (
            Call(_bf16(8, 4), 4, _BUFFER_8X4, seed=1),
            Call(_bf16(8, 4), 4, _BUFFER_8X4, seed=2, buffer_of=0),
            Call(_bf16(4, 4), 4, Matrix(4, 4), seed=3, buffer_of=0),
            Call(_bf16(1, 4), 4, Matrix(1, 4), seed=4, buffer_of=0),
        ),
    ),
)

DIRECTED: Mapping[str, Directed] = MappingProxyType({d.name: d for d in _ALL})
