"""Stand-alone scripts: they fail for the implementation that they were written for, and only so."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
import torch
from verbs import CPU, confirmed, quick

from logitsbuf.mutants import by_name
from logitsbuf.report.script import script

# One for each kind of assertion and each way to build tensors.
MUTANTS = {
    "width_only_match": ("one_row_logits", "fewer_rows"),
    "no_dtype_guard": ("wrong_dtype_match",),
    "writes_before_the_guard": ("wrong_dtype_match",),
    "layout_is_guessed": ("layouts",),
    "nan_is_cleaned": ("bit_patterns", "exact", "cost"),
    "wrong_above_65536_columns": ("exact",),
    "stride_is_taken_for_width": ("no_buffer",),
    "dtype_is_kept": ("more_rows",),
    "result_on_another_device": ("no_buffer",),
    "a_clone_is_returned": ("exact", "cost"),
    "a_large_match_spills": ("exact",),
    "large_padding_is_masked_in_place": ("exact_after_narrowing",),
    "padding_is_masked_in_place": ("exact_after_narrowing",),
    "clears_before_copying": ("logits_are_buffer", "cost"),
    "fallbacks_share_scratch": ("repeated_calls",),
    "every_seventh_call_is_wrong": ("repeated_calls",),
    "last_logits_are_kept": ("exact",),
    "default_dtype_is_trusted": ("modes",),
    "grad_mode_is_left_off": ("no_buffer",),
    "a_misfit_warns": ("more_rows",),
    "match_is_written_twice": ("cost",),
    "values_are_read_on_the_host": ("cost",),
}


def with_function(text: str, function: str) -> str:
    """The script with a function in place of the adapter line."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("copy_logits_to_buffer = ..."))
    return "\n".join([*lines[:at], function, *lines[at + 1 :]])


def outcome(text: str) -> str:
    """How a script ends, run here: the kind of its exception, or nothing."""
    with warnings.catch_warnings():
        try:
            exec(text, {"print": lambda *_: None})
        except Exception as error:  # noqa: BLE001  (a script may end in any way)
            return f"{type(error).__name__}: {error}"
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_grad_enabled(True)
    return ""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_script_fails_for_the_mutant_and_holds_for_the_reference(name: str) -> None:
    mutant = (
        f"from logitsbuf.mutants import by_name; copy_logits_to_buffer = by_name({name!r}).make()"
    )
    shown = confirmed(quick(f"mutant:{name}", *MUTANTS[name]))
    assert {finding.scenario for finding in shown} == set(MUTANTS[name])
    for finding in shown:
        assert finding.invariant in by_name(name).kills
        text = script(finding, f"mutant:{name}", CPU)
        assert outcome(with_function(text, mutant)) != "", text
        assert outcome(with_function(text, "from logitsbuf import copy_logits_to_buffer")) == "", (
            text
        )


def test_a_script_needs_torch_alone_and_is_short() -> None:
    report = quick("mutant:width_only_match", "one_row_logits")
    text = script(confirmed(report)[0], "pkg.mod:engine.fn", CPU)
    code = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert "from pkg.mod import engine as target" in code
    assert [line for line in code if "logitsbuf" in line and "print" not in line] == []
    assert len(code) <= 18


def test_a_script_runs_on_its_own() -> None:
    text = script(confirmed(quick("mutant:no_dtype_guard", "wrong_dtype_match"))[0], "x:y", CPU)
    own = text.replace("from x import y as target", "target = lambda x, b, v: b.copy_(x[:, :v])")
    done = subprocess.run([sys.executable, "-c", own], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError: a bfloat16 buffer was accepted" in done.stderr
