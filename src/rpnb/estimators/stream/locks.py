"""A lock per model, so that no thread saves a model while another changes it.

Learning releases the GIL. A model file written in the meantime could hold a mix of
arrays from before and after a row.
"""

import os
import threading
from typing import Any
from weakref import WeakKeyDictionary

# Not in the models themselves, which are pickled and copied.
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_making = threading.Lock()


def lock_of(model: Any) -> "threading.RLock":
    """Return the lock that is held while a model learns or is saved."""
    try:
        return _locks[model]
    except KeyError:
        with _making:
            return _locks.setdefault(model, threading.RLock())


def _forget_locks() -> None:
    """Drop all locks in a forked process, which lacks the threads that hold them."""
    global _making
    _locks.clear()
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
