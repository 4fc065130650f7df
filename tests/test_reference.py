"""The reference: what it refuses, and what its hot path does."""

from __future__ import annotations

import pytest
import torch

from logitsbuf import copy_logits_to_buffer
from logitsbuf.recorder import Recorder

LOGITS = torch.ones(2, 3, dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0], None, 3), TypeError, r"logits is \[1.0\] of type list; expected a tensor"),
        (
            (torch.ones(3), None, 3),
            ValueError,
            r"logits has shape \(3,\); expected \[rows, width\]",
        ),
        ((torch.ones(1, 3).long(), None, 3), TypeError, "logits is torch.int64; expected a float"),
        ((LOGITS, 7, 3), TypeError, "buffer is 7 of type int; expected a tensor or None"),
        ((LOGITS, torch.ones(6), 3), ValueError, r"buffer has shape \(6,\); expected \[rows"),
        ((LOGITS, None, 0), ValueError, "vocab_size is 0; expected at least 1"),
        ((LOGITS, None, 3.0), TypeError, "vocab_size is 3.0 of type float; expected an int"),
        (
            (LOGITS, torch.ones(2, 3).half(), 3),
            TypeError,
            "the buffer matches but is torch.float16",
        ),
        (
            (LOGITS, torch.ones(2, 3, device="meta"), 3),
            ValueError,
            "the buffer is on meta; expected",
        ),
    ],
)
def test_bad_input_is_refused_with_what_was_given_and_expected(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        copy_logits_to_buffer(*arguments)


def test_the_hot_path_is_one_copy() -> None:
    buffer = torch.zeros(2, 3)
    with Recorder() as record:
        copy_logits_to_buffer(LOGITS, buffer, 3)
    costs = record.costs(seen=True)
    assert (costs.writes, costs.views, costs.allocations, costs.host_reads) == (
        ("copy_",),
        (),
        (),
        (),
    )


def test_a_padded_head_costs_one_view() -> None:
    with Recorder() as record:
        copy_logits_to_buffer(LOGITS, torch.zeros(2, 2), 2)
    assert set(record.costs(seen=True).views) == {"slice"}  # older torch slices the rows as well
