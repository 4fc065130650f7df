"""Tell a person's Ctrl-C from a KeyboardInterrupt that an implementation raises.

The second is a fault of the implementation (COPY-TOTAL), the first must stop the run at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_received = threading.Event()


def reraise_if_real(error: BaseException) -> None:
    """Let an interrupt through if a signal caused it."""
    if isinstance(error, KeyboardInterrupt) and _received.is_set():
        raise error


@contextmanager
def watching() -> Iterator[None]:
    """Note interrupts while inside; does nothing off the main thread, where none arrive."""
    _received.clear()
    previous = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or not callable(previous):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        _received.set()
        previous(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
