"""Checks of headers against cross-site request forgery.

Browsers let any page send some requests to other sites without a preflight: a POST of a
form, of plain text, or without a content type (`fetch` with mode "no-cors",
`sendBeacon`). They add `Origin` and `Sec-Fetch-Site`, which pages cannot change. Other
clients send neither.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping

from rpnb.serve.http.routes import OPEN, Access
from rpnb.serve.limits import ApiError

# Headers that must occur once: programs differ in which of two they read.
_ONCE = frozenset(
    (
        *(b"host", b"origin", b"authorization", b"content-type", b"content-length"),
        *(b"content-encoding", b"idempotency-key", b"sec-fetch-site"),
        *(b"sec-fetch-mode", b"sec-fetch-dest"),
    )
)
_AUTHORITY = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_OWN_SITES = (b"same-origin", b"none")

Authority = tuple[str, int | None]


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; refuse duplicates of those that must be unique."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in found and name in _ONCE:
            raise ApiError(
                400, "headers", f"the header {name.decode()} must occur only once"
            )
        found[name] = value
    return found


def read_authority(text: str) -> Authority | None:
    """Return the lower-case name and the port of an authority; None if malformed.

    >>> read_authority("LocalHost:8000")
    ('localhost', 8000)
    >>> read_authority("localhost:x@evil") is None
    True
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    name, port = found["name"].lower(), found["port"]
    if name.startswith("["):
        try:
            ipaddress.IPv6Address(name[1:-1])
        except ValueError:
            return None
    if port is not None and not 0 < int(port) < 2**16:
        return None
    return name, None if port is None else int(port)


def check_host(headers: Mapping[bytes, bytes]) -> Authority:
    """Return the host of a request, or refuse a malformed one."""
    given = headers.get(b"host")
    host = None if given is None else read_authority(given.decode("latin-1"))
    if host is None:
        raise ApiError(
            400, "host", "the header Host must be a name with an optional port"
        )
    return host


def check_origin(
    method: str, headers: Mapping[bytes, bytes], host: Authority, access: Access
) -> None:
    """Refuse requests from pages of other origins, except links to open routes."""
    site = headers.get(b"sec-fetch-site")
    if site is not None and site not in _OWN_SITES:
        link = (
            method == "GET"
            and access.scope == OPEN
            and headers.get(b"sec-fetch-mode") == b"navigate"
            and headers.get(b"sec-fetch-dest") == b"document"
        )
        if not link:
            raise _foreign()
    origin = headers.get(b"origin")
    if origin is None:
        return
    scheme, _, rest = origin.decode("latin-1").partition("://")
    page = read_authority(rest)
    default = _DEFAULT_PORTS.get(scheme.lower())
    if page is None or default is None:
        raise _foreign()
    if (page[0], page[1] or default) != (host[0], host[1] or default):
        raise _foreign()


def _foreign() -> ApiError:
    return ApiError(403, "origin", "requests from pages of other origins are refused")


def check_content_type(headers: Mapping[bytes, bytes], access: Access) -> None:
    """Refuse a body whose media type the endpoint does not accept."""
    given = headers.get(b"content-type", b"").decode("latin-1")
    if given.partition(";")[0].strip().lower() not in access.takes:
        raise ApiError(
            415, "media_type", f"Content-Type must be {' or '.join(access.takes)}"
        )
