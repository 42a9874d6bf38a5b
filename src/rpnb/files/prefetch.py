"""Reading ahead in a thread, while what was read before is learnt."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: Seconds after which a waiting reader or taker looks whether to stop.
_PATIENCE = 0.1


class _End:
    """After the last item: why it was the last."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class ReadAhead(Generic[Item]):
    """Items of an iterator, made in a thread, at most `ahead` of them waiting.

    An error of the iterator is raised in its place, after the items before it.
    """

    def __init__(self, items: Iterator[Item], ahead: int = 2) -> None:
        self._queue: queue.Queue[Item | _End] = queue.Queue(ahead)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._fill, args=(items,), daemon=True)
        self._thread.start()

    def _fill(self, items: Iterator[Item]) -> None:
        end = _End(None)
        try:
            for item in items:
                if not self._put(item):
                    return
        except BaseException as error:  # raised again where items are taken
            end = _End(error)
        self._put(end)

    def _put(self, item: Item | _End) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE)
            except queue.Full:
                continue
            return True
        return False

    def items(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Item]:
        """Yield the items until they end or `stop()` holds."""
        while not stop():
            try:
                item = self._queue.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item

    def close(self) -> None:
        """Let the thread end."""
        self._stopped.set()
        self._thread.join(timeout=1.0)
