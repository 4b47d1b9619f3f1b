"""Ctrl-C while the library works on the main thread.

Python runs signal handlers between its own instructions on the main thread, which is in the library for as long as a
statement runs. So for the time of a call two things are in place of SIGINT's handler: a function that only notes it,
which runs when the call returns, or in the library's progress function; and, since a statement that waits for a lock or
for another thread calls no function, a file to which Python writes the number of each signal (signal.set_wakeup_fd),
and a thread that reads it and cancels the statement. Where something else, as asyncio, has such a file, or SIGINT has
another handler than Python's, only the first holds, or none."""
from __future__ import annotations

import os
import signal
import threading
from typing import Any, Callable, Optional

from ._lib import lib


class _Watch:
    """The thread, and the connection whose statement it is to cancel now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: Any = None
        self.read_end, self.write_end = os.pipe()
        for end in (self.read_end, self.write_end):
            os.set_blocking(end, False)
        self.thread = threading.Thread(target=self._wait, name="stele interrupts", daemon=True)
        self.thread.start()

    def _drain(self) -> bytes:
        try:
            return os.read(self.read_end, 1024)
        except OSError:  # there is nothing, or it is closed
            return b""

    def _wait(self) -> None:
        import select
        poll = select.poll()
        poll.register(self.read_end, select.POLLIN)
        while True:
            poll.poll()
            with self.lock:  # the signal of a call that has ended is drained by then (forget)
                if signal.SIGINT in self._drain() and self.connection is not None:
                    lib.stele_interrupt(self.connection._handle)

    def begin(self, connection: Any) -> bool:
        """False: another file is in use. On the main thread only."""
        with self.lock:
            self.connection = connection
        before = signal.set_wakeup_fd(self.write_end, warn_on_full_buffer=False)
        if before == -1:
            return True
        signal.set_wakeup_fd(before)
        self.end(False)
        return False

    def end(self, began: bool) -> None:
        if began:
            signal.set_wakeup_fd(-1)
        with self.lock:
            self.connection = None

    def forget(self) -> None:
        """A signal that came is the ended call's."""
        with self.lock:
            self._drain()

    def close(self) -> None:
        """In a child process: the thread is not there, and may have had the lock."""
        self.lock = threading.Lock()
        if self.connection is not None:
            signal.set_wakeup_fd(-1)
        os.close(self.read_end)
        os.close(self.write_end)
        self.read_end = -1


_watch: Optional[_Watch] = None


def _forget() -> None:
    global _watch
    if _watch is not None:
        _watch.close()
    _watch = None


os.register_at_fork(after_in_child=_forget)


def interruptible(connection: Any, call: Callable[[], Any]) -> int:
    """Runs a call of the library so that Ctrl-C ends it with KeyboardInterrupt."""
    global _watch
    connection._interrupted = False
    if threading.current_thread() is not threading.main_thread():
        return int(call())
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        return int(call())

    def note(number: int, frame: Any) -> None:
        connection._interrupted = True
        lib.stele_interrupt(connection._handle)
    if _watch is None:
        _watch = _Watch()
    watch = _watch
    signal.signal(signal.SIGINT, note)
    began = False
    try:
        began = watch.begin(connection)
        status = int(call())
    finally:
        watch.end(began)
        signal.signal(signal.SIGINT, before)  # runs `note` first for a signal that has come
        if connection._interrupted:
            watch.forget()
    if connection._interrupted:
        raise KeyboardInterrupt
    return status
