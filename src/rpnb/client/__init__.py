"""Clients of `rpnb serve`: create, predict, label, observe, with safe retries.

`Client` waits for its answers, `AsyncClient` awaits them; both have the same methods.
Requests that change something carry a key, so that a retry is carried out once, even
if the first try did arrive. Many rows are sent in batches, as Arrow where pyarrow is
installed. Needs ``pip install 'rpnb[serve]'``.
"""

try:
    import httpx as _httpx  # noqa: F401 - to say what is missing
except ImportError as error:
    raise ImportError("rpnb.client needs: pip install 'rpnb[serve]'") from error

from rpnb.client.awaiting import AsyncClient
from rpnb.client.results import LabelResult, Prediction, ServeError
from rpnb.client.waiting import Client

__all__ = ["AsyncClient", "Client", "LabelResult", "Prediction", "ServeError"]
