"""What can go wrong with a run, as exceptions that say whose fault it is.

Each kind carries the exit code that ``logitsbuf check`` ends with. A fault of the
implementation under test is never an exception here: it is a violation, which is data.
"""

from __future__ import annotations


class LogitsbufError(Exception):
    """A run could not be carried out; the message is one sentence for the user."""

    exit_code = 3


class UsageError(LogitsbufError):
    """The command was wrong: what was given and what was expected."""

    exit_code = 2


class HarnessError(LogitsbufError):
    """logitsbuf itself, or one of its engine adapters, failed."""

    exit_code = 3


class NotRun(LogitsbufError):
    """The implementation cannot run here (a missing kernel package, say); nothing was judged."""

    exit_code = 3
