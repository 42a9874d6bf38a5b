"""Clients of `rpnb serve`: create, predict, label, observe, with safe retries.

`Client` is synchronous, `AsyncClient` is asynchronous; both have the same methods.
Requests that change something carry an idempotency key, so that a retry has no effect
if the first attempt arrived. Many rows are sent in batches, as Arrow where pyarrow is
installed. Needs ``pip install 'rpnb[serve]'``.
"""

try:
    import httpx as _httpx  # noqa: F401 - to report what is missing
except ImportError as error:
    raise ImportError("rpnb.client needs: pip install 'rpnb[serve]'") from error

from rpnb.client.asynchronous import AsyncClient
from rpnb.client.results import LabelResult, Prediction, ServeError
from rpnb.client.sync import Client

__all__ = ["AsyncClient", "Client", "LabelResult", "Prediction", "ServeError"]
