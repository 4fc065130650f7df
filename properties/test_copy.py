"""The logits copy: one property for each relation of buffer to logits and for each situation."""

from __future__ import annotations

from collections.abc import Callable

Prove = Callable[[str], None]


def test_repeated_calls(prove: Prove) -> None:
    """State between calls: other buffers, reused tensors, a refusal in between."""
    prove("repeated_calls")


def test_no_buffer(prove: Prove) -> None:
    """Outside of captured steps there is no buffer."""
    prove("no_buffer")


def test_exact(prove: Prove) -> None:
    """The buffer fits the logits as they are."""
    prove("exact")


def test_exact_after_narrowing(prove: Prove) -> None:
    """The buffer fits once the padded columns are dropped."""
    prove("exact_after_narrowing")


def test_more_rows(prove: Prove) -> None:
    """A full-size buffer meets a smaller batch."""
    prove("more_rows")


def test_fewer_rows(prove: Prove) -> None:
    """A batch outgrows the buffer."""
    prove("fewer_rows")


def test_one_row_buffer(prove: Prove) -> None:
    """Many rows meet a one-row buffer."""
    prove("one_row_buffer")


def test_one_row_logits(prove: Prove) -> None:
    """torch broadcasts one row over a larger buffer without a word."""
    prove("one_row_logits")


def test_wider_buffer(prove: Prove) -> None:
    """Reduced-vocabulary logits meet a full-width buffer."""
    prove("wider_buffer")


def test_narrower_buffer(prove: Prove) -> None:
    """Full-width logits meet a draft runner's buffer."""
    prove("narrower_buffer")


def test_one_column_logits(prove: Prove) -> None:
    """torch broadcasts one column over a wider buffer without a word."""
    prove("one_column_logits")


def test_same_count(prove: Prove) -> None:
    """As many elements in another shape."""
    prove("same_count")


def test_transposed(prove: Prove) -> None:
    """The same two sizes the other way round."""
    prove("transposed")


def test_wrong_dtype_match(prove: Prove) -> None:
    """A buffer of the right shape that is not float32 must not be written."""
    prove("wrong_dtype_match")


def test_wrong_dtype_misfit(prove: Prove) -> None:
    """A buffer that does not match is ignored, whatever its dtype."""
    prove("wrong_dtype_misfit")


def test_zero_rows(prove: Prove) -> None:
    """An idle rank has no rows at all."""
    prove("zero_rows")


def test_any_shapes(prove: Prove) -> None:
    """Whatever nobody listed."""
    prove("any_shapes")


def test_bit_patterns(prove: Prove) -> None:
    """Every bit pattern of each 8- and 16-bit dtype, a sample of wider ones, on both paths."""
    prove("bit_patterns")


def test_specials(prove: Prove) -> None:
    """NaN, infinities, signed zeros, subnormals, ties: every special of each dtype."""
    prove("specials")


def test_layouts(prove: Prove) -> None:
    """Heads that are stored transposed give column-major logits."""
    prove("layouts")


def test_logits_are_buffer(prove: Prove) -> None:
    """A head may write straight into the shared buffer."""
    prove("logits_are_buffer")


def test_modes(prove: Prove) -> None:
    """Warm-up, capture and serving differ in grad mode, autocast and default dtype."""
    prove("modes")


def test_cost(prove: Prove) -> None:
    """What the hot path allocates, writes, views and reads on the host."""
    prove("cost")
