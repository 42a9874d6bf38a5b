"""A lock per model, so that no thread saves what another one is changing.

Learning leaves the interpreter to other threads. A model file that was written
meanwhile would hold arrays of before and of after a row, or of neither.
"""

import os
import threading
from typing import Any
from weakref import WeakKeyDictionary

# Not in the models themselves, which are pickled and copied.
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_making = threading.Lock()


def lock_of(model: Any) -> "threading.RLock":
    """Return the lock that is held while a model learns, or is saved."""
    try:
        return _locks[model]
    except KeyError:
        with _making:
            return _locks.setdefault(model, threading.RLock())


def _forget_locks() -> None:
    """Begin without locks in a fork: threads that hold some are not in it."""
    global _making
    _locks.clear()
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
