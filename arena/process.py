"""What a worker process does to itself before it plays: it dies with its parent, and nothing reaches the terminal."""

import ctypes
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from multiprocessing import forkserver
from multiprocessing.connection import wait

COLLECT = (20_000, 20, 50)
"""Thresholds of the garbage collector: results that wait to be sent are many objects and none of them is garbage."""


def settle(line: socket.socket) -> None:
    """Prepare a new worker process; `line` is where it talks to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: what is finished is kept
    os.setpgid(0, 0)  # a group of its own: what agents start ends with this process
    os.dup2(2, 1)  # stdout is the data of the command line; what an agent prints goes to stderr
    # A fork that an agent makes and forgets to end plays its match on; it must not be heard.
    os.register_at_fork(after_in_child=line.close)
    _die_with_parent()
    gc.freeze()  # what was imported stays: no collection need look at it again
    gc.set_threshold(*COLLECT)


def _die_with_parent() -> None:
    """End this process when the one that began the run ends, however that comes, even in the middle of a computation.

    On Linux the kernel does it: the fork server, whose child this is, ends once nobody holds its `alive` pipe open any
    more, and workers hold it too unless they close it. Elsewhere a thread waits.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform != "linux":
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()
        return
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    server = getattr(forkserver, "_forkserver", None)
    alive: int | None = getattr(server, "_forkserver_alive_fd", None)
    if alive is not None:
        os.close(alive)
        server._forkserver_alive_fd = None  # type: ignore[union-attr]
    if not parent.is_alive():
        os._exit(1)


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
