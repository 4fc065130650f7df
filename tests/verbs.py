"""Tiny verbs, so that a test is three lines whose name is the claim."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from hypothesis import find, settings
from hypothesis.strategies import SearchStrategy

from logitsbuf.api import Report, check
from logitsbuf.case import Call, Case, Matrix
from logitsbuf.implementation import Implementation
from logitsbuf.judge import judge
from logitsbuf.verdict import Finding

CPU = torch.device("cpu")


def call(rows: int = 2, columns: int = 3, buffer: Matrix | None = None, **fields: Any) -> Call:
    """bfloat16 logits without padding."""
    dtype = fields.pop("dtype", "bfloat16")
    vocab_size = fields.pop("vocab_size", columns)
    return Call(Matrix(rows, columns, dtype), vocab_size, buffer, **fields)


def case(*calls: Call, scenario: str = "any_shapes") -> Case:
    return Case(scenario, calls)


def implementation(copy: Callable[..., Any]) -> Implementation:
    return Implementation(spec=None, qualified_name="a test's own", copy=copy)


def violated(copy: Callable[..., Any], *calls: Call) -> set[str]:
    """The invariants that an implementation violates in these calls, MAY left out."""
    found = judge(implementation(copy), case(*calls), CPU).found
    return {fault.invariant for fault in found if fault.level != "MAY"}


def guilty(report: Report) -> set[str]:
    """The invariants that a report's findings refute, MAY left out."""
    return {f.invariant for f in confirmed(report)}


def confirmed(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.level != "MAY" and f.status == "confirmed"]


def quick(target: Any, *scenarios: str, **options: Any) -> Report:
    """A check on the CPU with few examples."""
    defaults = {"device": "cpu", "max_examples": 5, "seed": 1, "scenarios": scenarios}
    return check(target, **{**defaults, **options})


def reaches(strategy: SearchStrategy[Case], wanted: Callable[[Call], bool]) -> bool:
    """Whether a strategy draws such a call within 2,000 examples. NoSuchExample if not."""
    options = settings(max_examples=2000, database=None, deadline=None)
    find(strategy, lambda drawn: any(wanted(c) for c in drawn.calls), settings=options)
    return True


def command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python -m logitsbuf …`` in a folder of its own."""
    return python("-m", "logitsbuf", *arguments, cwd=cwd, **environment)


def python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "LOGITSBUF_IMPL"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
