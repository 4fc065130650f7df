"""``logitsbuf check`` as users run it: exit codes, messages, replays, scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from verbs import command, python

REPLAY = '{{"scenario":"{}","calls":[{{"logits":{{"rows":{},"columns":1}},"vocab_size":1}}]}}'

IMPLEMENTATIONS = """
import os, sys
from logitsbuf import copy_logits_to_buffer as right

class Empty:
    pass

class Engine:
    @staticmethod
    def copy_logits_to_buffer(logits, buffer, vocab_size):
        return right(logits, buffer, vocab_size)

def broadcasts(logits, buffer, vocab_size):
    if buffer is None:
        return logits[:, :vocab_size].float()
    return buffer.copy_(logits[:, :vocab_size])

def leaves(logits, buffer, vocab_size):
    if len(logits) == 1 and buffer is not None and len(buffer) > 1:
        os._exit(0)
    return right(logits, buffer, vocab_size)

def exits(logits, buffer, vocab_size):
    sys.exit(0)

def seventh(logits, buffer, vocab_size, count=[0]):
    count[0] += 1
    result = right(logits, buffer, vocab_size)
    return result if count[0] % 7 else result + 1

def views(logits, buffer, vocab_size):
    return right(logits.narrow(1, 0, min(logits.shape[1], vocab_size)), buffer, vocab_size)

number = 7
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is not ours, with settings that must not disturb a check."""
    (tmp_path / "mine.py").write_text(IMPLEMENTATIONS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not for logitsbuf')\n")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "dying.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "lazy.py").write_text("def __getattr__(name):\n    raise OSError('not today')\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")
    return tmp_path


def check(project: Path, *arguments: str, **environment: str):
    return command("check", *arguments, "--max-examples", "5", cwd=project, **environment)


def test_a_right_implementation_conforms_inside_a_foreign_project(project: Path) -> None:
    run = check(project, "mine:Engine", "-k", "row", PYTEST_ADDOPTS="--no-such-option")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (
        "implementation: mine:Engine (logitsbuf.reference" in run.stdout
        or "mine.Engine" in run.stdout
    )
    assert re.search(r"COPY-SHAPE +MUST +pass", run.stdout)
    assert re.search(r"COPY-SELF +MUST +not exercised", run.stdout)
    assert "mine:Engine conforms" in run.stdout


def test_a_broadcast_is_refuted_with_a_replay_and_a_script(project: Path) -> None:
    run = check(project, "mine:broadcasts", "-k", "test_one_row_logits", "--repro-dir", "found")
    assert run.returncode == 1
    assert "case:     one_row_logits: logits float32[1, 1], buffer float32[2, 1]" in run.stdout
    replay = re.search(r"--replay '(.*)'", run.stdout).group(1)
    assert command("check", "mine:broadcasts", "--replay", replay, cwd=project).returncode == 1
    assert command("check", "mine:Engine", "--replay", replay, cwd=project).returncode == 0
    script = python("found/one_row_logits-copy-shape.py", cwd=project, PYTHONPATH=str(project))
    assert script.returncode == 1
    assert "AssertionError" in script.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_ending_the_process_is_a_violation_and_loses_no_table(project: Path, workers) -> None:
    run = check(project, "mine:leaves", "-k", "one_row or exact", *workers)
    assert run.returncode == 1
    assert "the process ended with status 0" in run.stdout or "process ended" in run.stdout
    assert re.search(r"COPY-TOTAL +MUST +fail +\d+  .*one_row_logits", run.stdout)
    assert re.search(r"COPY-REUSE +MUST +pass", run.stdout)  # the rest was run all the same
    assert "logits float32[1, 1], buffer float32[2, 1]" in run.stdout


def test_a_crash_is_replayed_as_a_violation(project: Path) -> None:
    case = {
        "scenario": "one_row_logits",
        "calls": [
            {
                "logits": {"rows": 1, "columns": 1},
                "vocab_size": 1,
                "buffer": {"rows": 2, "columns": 1},
            }
        ],
    }
    run = command("check", "mine:leaves", "--replay", json.dumps(case), cwd=project)
    assert run.returncode == 1
    assert "the process ended with status 0 during the calls" in run.stdout


def test_sys_exit_is_a_violation(project: Path) -> None:
    run = check(project, "mine:exits", "-k", "test_exact")
    assert run.returncode == 1
    assert "raised SystemExit: 0" in run.stdout


def test_the_seventh_call_is_refuted_by_a_sequence_that_replays(project: Path) -> None:
    run = check(project, "mine:seventh", "-k", "repeated")
    assert run.returncode == 1
    assert "history-dependent" in run.stdout
    block = run.stdout[run.stdout.index("COPY-PURE (MUST) violated") :]
    replay = re.search(r"--replay '(.*)'", block).group(1)
    assert command("check", "mine:seventh", "--replay", replay, cwd=project).returncode == 1


def test_a_violated_should_warns_and_fails_if_strict(project: Path) -> None:
    assert check(project, "mine:views", "-k", "cost").returncode == 0
    run = check(project, "mine:views", "-k", "cost", "--strict")
    assert run.returncode == 1
    assert re.search(r"COST-ONE-WRITE +SHOULD +warn", run.stdout)


def test_only_judges_what_it_names(project: Path) -> None:
    run = check(project, "mine:broadcasts", "-k", "one_row_logits", "--only", "COPY-FLOAT32")
    assert run.returncode == 0
    assert "COPY-SHAPE" not in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "implementation 'nothing'; expected reference, pkg.mod:attr"),
        (["nowhere:fn"], "importing nowhere failed with ModuleNotFoundError"),
        (
            ["broken:fn"],
            "importing broken failed with ModuleNotFoundError: No module named 'nothing",
        ),
        (["leaving:fn"], "importing leaving failed with SystemExit"),
        (["mine:absent"], "mine:absent: mine has no 'absent'"),
        (["mine:number"], "mine:number is 7; expected a function or an object"),
        (["mutant:absent"], "unknown mutant 'absent'"),
        (["sglang@absent.whl"], "absent.whl"),
        (["sglang==not.a.version"], "not.a.version"),
        (["reference", "--device", "tpu"], "device 'tpu'; expected cpu, cuda or cuda:N"),
        (["reference", "--device", "cuda:99"], "device 'cuda:99', but torch sees"),
        (["reference", "--only", "COPY-NOPE"], "--only COPY-NOPE: expected some of COPY-TOTAL"),
        (["reference", "--seed", "x"], "--seed x: expected a whole number"),
        (["reference", "--replay", "{}"], "case lacks ['calls', 'scenario']"),
        (["reference", "-k", "nothing_at_all"], "no scenario was selected"),
        (["reference", "-k", "a b ("], "pytest did not take the options"),
        (["reference", "-n", "many"], "-n many: expected a whole number"),
        ([""], "the implementation is empty"),
        (["mine:Empty"], "expected a function or an object"),
        (["lazy:fn"], "lazy has no 'fn' (not today)"),
        (["dying:fn"], "importing dying:fn ended the process"),
        (["reference", "--replay", "[" * 3000], "the case is not JSON"),
        (["reference", "--replay", REPLAY.format("nope", 1)], "scenario 'nope'; expected one of"),
        (["reference", "--replay", REPLAY.format("exact", 10**11)], "expected at most"),
    ],
)
def test_a_wrong_command_is_one_message_and_exit_code_2(project: Path, arguments, message) -> None:
    run = command("check", *arguments, cwd=project)
    assert run.returncode == 2, run.stdout + run.stderr
    assert message in run.stdout + run.stderr
    assert "Traceback" not in run.stdout + run.stderr


@pytest.mark.parametrize("count", ["0", "-1", "many", "1.5"])
def test_examples_are_counted_in_whole_numbers(project: Path, count: str) -> None:
    run = command("check", "--max-examples", count, cwd=project)
    assert run.returncode == 2
    assert f"--max-examples {count}: expected a whole number, at least 1" in run.stderr


def test_optimized_python_is_refused(project: Path) -> None:
    run = python("-O", "-m", "logitsbuf", "check", cwd=project)
    assert run.returncode == 2
    assert "python -O removes asserts" in run.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["spec"], ["list"], ["explain", "COPY-SHAPE"], ["--version"]]
)
def test_reading_commands_do_not_import_torch(project: Path, arguments) -> None:
    run = python("-X", "importtime", "-m", "logitsbuf", *arguments, cwd=project)
    assert run.returncode == 0
    assert not re.search(r"\| +(torch|hypothesis|pytest)$", run.stderr, re.MULTILINE)


def test_importing_logitsbuf_does_not_initialise_cuda(project: Path) -> None:
    code = "import logitsbuf; logitsbuf.check; import torch; print(torch.cuda.is_initialized())"
    assert python("-c", code, cwd=project).stdout.strip() == "False"


def test_self_check_prints_the_matrix(project: Path) -> None:
    run = command("self-check", "-k", "guards_before", "--max-examples", "1", cwd=project)
    assert run.returncode == 0
    assert "ok  wrong guards_before_matching  COPY-TOTAL" in run.stdout
