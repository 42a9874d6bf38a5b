"""Reading ahead in a thread while earlier rows are learned."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

# Seconds after which a waiting thread checks whether to stop.
_POLL = 0.1


class _End:
    """End of the items, with the error that ended them, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class ReadAhead(Generic[Item]):
    """Computes the items of an iterator in a thread, ahead of their use.

    An error of the iterator is raised in its place, after the items before it.

    Parameters
    ----------
    items : iterator
        Iterator to read from.
    ahead : int, default=2
        Largest number of items that wait to be used.

    Examples
    --------
    >>> from rpnb.files import ReadAhead
    >>> ahead = ReadAhead(iter([1, 2, 3]))
    >>> list(ahead.items())
    [1, 2, 3]
    >>> ahead.close()
    """

    def __init__(self, items: Iterator[Item], ahead: int = 2) -> None:
        self._queue: queue.Queue[Item | _End] = queue.Queue(ahead)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._fill, args=(items,), daemon=True)
        self._thread.start()

    def _fill(self, items: Iterator[Item]) -> None:
        """Put all items into the queue, then the end; runs in the thread."""
        end = _End(None)
        try:
            for item in items:
                if not self._put(item):
                    return
        except BaseException as error:  # raised again by `items`
            end = _End(error)
        self._put(end)

    def _put(self, item: Item | _End) -> bool:
        """Wait for room in the queue; return False if stopped in the meantime."""
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=_POLL)
            except queue.Full:
                continue
            return True
        return False

    def items(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Item]:
        """Yield the items until they end or `stop` returns true.

        Parameters
        ----------
        stop : callable, optional
            Function that is called before each item, and while waiting for one.

        Examples
        --------
        >>> from rpnb.files import ReadAhead
        >>> ahead = ReadAhead(iter(range(1000)))
        >>> next(ahead.items())
        0
        >>> ahead.close()
        """
        while not stop():
            try:
                item = self._queue.get(timeout=_POLL)
            except queue.Empty:
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item

    def close(self) -> None:
        """Stop the thread; items that were not used are lost.

        Examples
        --------
        >>> from rpnb.files import ReadAhead
        >>> ReadAhead(iter([1, 2, 3])).close()
        """
        self._stopped.set()
        self._thread.join(timeout=1.0)
