"""The oracle against independent decodings: exact fractions, and C's own conversion."""

from __future__ import annotations

import ctypes
import random
import struct
from fractions import Fraction

import pytest
import torch

from logitsbuf.formats import FORMATS, Format
from logitsbuf.oracle import float32_bits, is_nan, widening_table

WIDENED = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")


def fraction(pattern: int, fmt: Format) -> Fraction | str:
    """The value of a pattern by the definition of the format."""
    sign = -1 if pattern & fmt.sign else 1
    exponent, mantissa = divmod(pattern & (fmt.sign - 1), 1 << fmt.mantissa)
    top = (1 << fmt.exponent) - 1
    if exponent == top and fmt.ieee:
        return "nan" if mantissa else ("-inf" if sign < 0 else "inf")
    if exponent == top and mantissa == (1 << fmt.mantissa) - 1:
        return "nan"
    scale = Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.mantissa)
    return sign * (mantissa + (1 << fmt.mantissa if exponent else 0)) * scale


def float32_value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


@pytest.mark.parametrize("dtype", WIDENED)
def test_every_pattern_widens_to_its_exact_value(dtype: str) -> None:
    fmt = FORMATS[dtype]
    patterns = torch.arange(1 << fmt.bits).to(torch.uint8 if fmt.bits == 8 else torch.int16)
    for pattern, bits in enumerate(float32_bits(patterns, dtype).tolist()):
        value, expected = float32_value(bits), fraction(pattern, fmt)
        if isinstance(expected, str):
            assert repr(value) == expected
        else:
            assert Fraction(value) == expected
            assert (bits < 0) == bool(pattern & fmt.sign)  # −0.0 keeps its sign


def test_float32_is_left_as_it_is() -> None:
    bits = torch.tensor([0, -(2**31), 1, 0x7F800001])
    assert float32_bits(bits, "float32") is bits


def doubles() -> list[float]:
    """Every magnitude where the conversion turns, with its neighbours, and random ones."""
    draw = random.Random(5)
    special = [
        struct.unpack("<d", struct.pack("<Q", p))[0] for p in FORMATS["float64"].specials.values()
    ]
    scaled = [draw.getrandbits(60) * 2.0 ** draw.randint(-215, 80) for _ in range(20000)]
    halves = [draw.getrandbits(25) * 2.0**-150 for _ in range(5000)]
    return [sign * x for x in (*special, *scaled, *halves, 0.0) for sign in (1, -1)]


def test_float64_rounds_as_c_does() -> None:
    values = doubles()
    bits = torch.tensor(values, dtype=torch.float64).view(torch.int64)
    for value, got in zip(values, float32_bits(bits, "float64").tolist(), strict=True):
        wanted = ctypes.c_float(value).value
        assert repr(float32_value(got)) == repr(wanted), value


def test_nan_is_told_from_infinity() -> None:
    bits = torch.tensor([0x7F800000, 0x7F800001, -0x00800000, -1], dtype=torch.int32)
    assert is_nan(bits).tolist() == [False, True, False, True]


def test_a_table_covers_its_format() -> None:
    assert [len(widening_table(dtype)) for dtype in WIDENED[1:]] == [65536, 256, 256]
