"""The properties under pytest: from a clone, with xdist, and against any implementation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from verbs import python

ROOT = Path(__file__).parents[1]
WRONG = "def fn(x, b, v):\n    return x[:, :v].double()\n"


def properties(*arguments: str, cwd: Path = ROOT, **environment: str):
    quick = ("--max-examples", "5", "-p", "no:cacheprovider")
    folder = str(ROOT / "properties")
    return python("-m", "pytest", folder, *quick, *arguments, cwd=cwd, **environment)


def test_the_properties_pass_in_parallel_with_one_table_and_one_seed() -> None:
    run = properties("-n", "2", "--seed", "5")
    assert run.returncode == 0, run.stdout
    assert "device: cpu, seed: 5" in run.stdout or "device: cuda" in run.stdout
    assert len(re.findall(r"COPY-SHAPE +MUST +pass", run.stdout)) == 1
    assert "not exercised" not in run.stdout
    assert "reference conforms" in run.stdout


def test_a_scenario_is_picked_by_name() -> None:
    run = properties("-k", "one_row_logits")
    assert re.search(r"1 passed, \d+ deselected", run.stdout)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_another_implementation_is_judged(tmp_path: Path, how: str) -> None:
    (tmp_path / "mine.py").write_text(WRONG)
    options = ["--impl", "mine:fn"] if how == "option" else []
    environment = {"LOGITSBUF_IMPL": "mine:fn"} if how == "environment" else {}
    run = properties("-k", "no_buffer", *options, PYTHONPATH=str(tmp_path), cwd=ROOT, **environment)
    assert run.returncode == 1
    assert "COPY-FLOAT32 (MUST) violated" in run.stdout
    assert "case:     no_buffer: logits float32[1, 1], no buffer, vocab_size 1" in run.stdout


def test_an_unknown_implementation_is_one_message() -> None:
    run = properties("--impl", "nowhere:fn", "-n", "2")
    assert run.returncode != 0
    assert (run.stdout + run.stderr).count("importing nowhere failed") == 1


def test_hypothesis_seed_and_derandomized_profiles_are_left_to_hypothesis() -> None:
    run = properties("-k", "test_exact", "--hypothesis-seed", "3")
    assert "seed: chosen by Hypothesis" in run.stdout
