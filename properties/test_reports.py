"""Inputs distilled from public reports, by their names in the list of reports."""

from __future__ import annotations

from collections.abc import Callable

Prove = Callable[[str], None]


def test_directed_A1(prove: Prove) -> None:
    """Reduced width against a full-width buffer raises; one column is broadcast silently."""
    prove("directed_A1")


def test_directed_A2(prove: Prove) -> None:
    """Eight rows into one raise; one row fills every row of eight."""
    prove("directed_A2")


def test_directed_A3(prove: Prove) -> None:
    """A padded draft head sliced by the target's vocabulary is not sliced at all."""
    prove("directed_A3")


def test_directed_A11(prove: Prove) -> None:
    """An idle rank's zero rows crash downstream."""
    prove("directed_A11")


def test_directed_B1(prove: Prove) -> None:
    """Row r is read at r · vocab_size instead of r · stride(0)."""
    prove("directed_B1")


def test_directed_C1(prove: Prove) -> None:
    """bfloat16 bytes are reinterpreted as float32."""
    prove("directed_C1")


def test_directed_C2(prove: Prove) -> None:
    """float32 logits come back as themselves, and scaling the result scales them."""
    prove("directed_C2")


def test_directed_C8(prove: Prove) -> None:
    """NaN is cleaned, −0.0 loses its sign, subnormals are flushed."""
    prove("directed_C8")


def test_directed_C10(prove: Prove) -> None:
    """float64 logits come back as float64."""
    prove("directed_C10")


def test_directed_E1(prove: Prove) -> None:
    """A new tensor for each call where one address was promised."""
    prove("directed_E1")
