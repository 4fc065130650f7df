"""Processes in which the implementation has never been called.

A zygote is forked once, before the first call of a run. It forks again for each request, so every
answer comes from a process whose implementation is as it was imported. That takes milliseconds,
and works for a lambda as well. Whatever a child does, it cannot hurt the run: a crash is an
answer. Where forking is not possible (CUDA is up already, or the platform cannot), requests are
answered in this process, and :attr:`Pristine.isolated` says so.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

import torch

from logitsbuf.case import Case
from logitsbuf.errors import HarnessError
from logitsbuf.implementation import Implementation
from logitsbuf.judge import Found, Key, judge
from logitsbuf.reduce import reduce
from logitsbuf.scenarios import SCENARIOS
from logitsbuf.values import warm

PATIENCE = 20.0
"""Seconds after which a child is not waited for any longer."""


@dataclass(frozen=True)
class Crashed:
    """The child ended without an answer."""

    how: str

    @property
    def found(self) -> Found:
        """What a crash violates."""
        return Found(
            invariant="COPY-TOTAL",
            level="MUST",
            call=0,
            expected="a tensor",
            observed=self.how,
            cause="COPY-TOTAL",
        )


@dataclass(frozen=True)
class First:
    """The first case of a list that violates an invariant, by position, and all it violates."""

    position: int
    found: tuple[Found, ...]


@dataclass(frozen=True)
class _Replay:
    """Make these cases in order, stop at the first that violates the invariant (None: any),
    or when half of the patience is used up."""

    cases: tuple[Case, ...]
    key: Key | None

    def answer(self, implementation: Implementation, device: torch.device) -> First | None:
        deadline = time.monotonic() + PATIENCE / 2
        for position, case in enumerate(self.cases):
            if time.monotonic() > deadline:
                return None
            judgement = judge(implementation, case, device)
            hit = judgement.found if self.key is None else judgement.of(self.key)
            if hit:
                return First(position, judgement.found)
        return None


@dataclass(frozen=True)
class _Reduce:
    """Reduce a case inside one process: quick, right for implementations without state."""

    case: Case
    key: Key

    def answer(self, implementation: Implementation, device: torch.device) -> Case | None:
        def fails(case: Case) -> bool:
            return judge(implementation, case, device).of(self.key) is not None

        return reduce(self.case, fails, admission(self.case)) if fails(self.case) else None


def admission(case: Case) -> Callable[[Case], bool]:
    """What a reduced form of this case must satisfy."""
    scenario = SCENARIOS.get(case.scenario)
    return scenario.admits if scenario else lambda case: True


class Pristine:
    """A source of processes without a past. Use as a context manager."""

    def __init__(self, implementation: Implementation, device: torch.device) -> None:
        self._implementation = implementation
        self._device = device
        self.isolated = hasattr(os, "fork") and not torch.cuda.is_initialized()
        self._pipe: Connection | None = None
        self._pid = 0

    def __enter__(self) -> Pristine:
        if self.isolated:
            self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pipe is not None:
            self._pipe.close()
            os.waitpid(self._pid, 0)
            self._pipe = None

    def replay(self, cases: tuple[Case, ...], key: Key | None) -> First | Crashed | None:
        """The first of these cases that violates the invariant, all made in one new process."""
        answer: First | Crashed | None = self._ask(_Replay(cases, key))
        return answer

    def reduce(self, case: Case, key: Key) -> Case | Crashed | None:
        """The case reduced in one new process, None if it does not fail there."""
        answer: Case | Crashed | None = self._ask(_Reduce(case, key))
        return answer

    def _ask(self, request: _Replay | _Reduce) -> Any:
        if self._pipe is None:
            return request.answer(self._implementation, self._device)
        self._pipe.send(request)
        if not self._pipe.poll(2 * PATIENCE):
            raise HarnessError(f"no answer from a replay within {2 * PATIENCE:.0f} s")
        answer = self._pipe.recv()
        if isinstance(answer, HarnessError):
            raise answer
        return answer

    def _start(self) -> None:
        ours, theirs = Pipe()
        if self._device.type == "cpu":
            warm(self._device)
        flush()
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _leave_after(lambda: _zygote(theirs, self._implementation, self._device))
        theirs.close()
        self._pipe = ours


def prepare_process() -> None:
    """Set what a process that judges needs.

    Two processes with torch's default threads run several times slower than one; a warning that
    torch shows once per process would be seen by one case only; and a default device, even the
    CPU, sends every operator through Python.
    """
    torch.set_num_threads(1)
    torch.set_warn_always(True)
    torch.set_default_device(None)
    gc.collect()
    gc.freeze()  # so that looking for what a call keeps alive takes microseconds


def flush() -> None:
    """Nothing buffered may be written twice, by us and by a forked child."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _leave_after(work: Callable[[], None]) -> None:
    """Run and end this forked process, past every exit handler of the run it was forked from."""
    try:
        work()
    finally:
        os._exit(0)


def _zygote(pipe: Connection, implementation: Implementation, device: torch.device) -> None:
    prepare_process()
    _silence()
    while True:
        try:
            request = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_answer_in_child(request, implementation, device))


def _silence() -> None:
    """What an implementation prints belongs to the run, not to its replays."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    faulthandler.disable()  # it writes to a descriptor of its own


def _answer_in_child(
    request: _Replay | _Reduce, implementation: Implementation, device: torch.device
) -> Any:
    ours, theirs = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _leave_after(lambda: theirs.send(_answer(request, implementation, device)))
    theirs.close()
    if not ours.poll(PATIENCE):
        os.kill(pid, signal.SIGKILL)
    try:
        answer = ours.recv()
    except EOFError:
        answer = None
        crashed = True
    else:
        crashed = False
    _, status = os.waitpid(pid, 0)
    return Crashed(_ending(status)) if crashed else answer


def _answer(
    request: _Replay | _Reduce, implementation: Implementation, device: torch.device
) -> Any:
    try:
        return request.answer(implementation, device)
    except HarnessError as error:
        return error
    except Exception as error:  # noqa: BLE001  (a fault of ours must not pass for a crash of theirs)
        return HarnessError(f"a replay failed inside logitsbuf: {error!r}")


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return f"the process was ended after {PATIENCE:.0f} s without an answer"
    if os.WIFSIGNALED(status):
        return f"the process died of signal {os.WTERMSIG(status)}"
    return f"the process ended with status {os.WEXITSTATUS(status)}"
