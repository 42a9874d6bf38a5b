"""Access tokens: random, stored as hashes, each with scopes.

A token file has one token per line: its name, its scopes separated by commas, and the
SHA-256 of the token in hexadecimal digits. Tokens have 256 random bits, so a plain hash
cannot be reversed. Lines that begin with # are comments.
"""

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple, final

from rpnb.atomic import open_atomic

#: Scopes: read and predict; send labels and rows to learn; manage models.
SCOPES = ("predict", "learn", "admin")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_PREFIX = "rpnb_"


class TokenFileError(ValueError):
    """A token file that cannot be used."""


class Token(NamedTuple):
    """A line of a token file."""

    name: str
    scopes: frozenset[str]
    digest: bytes


@final
class Tokens:
    """The tokens of a service."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, given: str) -> Token | None:
        """Return the token with a secret; comparisons take constant time."""
        digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found


def read_tokens(path: Path) -> Tokens:
    """Read a token file."""
    tokens = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenFileError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        if len(words) != 3 or re.fullmatch(r"[0-9a-f]{64}", words[2]) is None:
            raise TokenFileError(
                f"{path}, line {number}: expected a name, scopes separated by commas, "
                "and a SHA-256 in hexadecimal digits"
            )
        name, scopes, digest = words
        tokens.append(Token(name, check_scopes(scopes), bytes.fromhex(digest)))
    return Tokens(tokens)


def check_scopes(text: str) -> frozenset[str]:
    """Return the scopes of a text that separates them by commas."""
    scopes = frozenset(text.split(","))
    if not scopes <= set(SCOPES):
        raise TokenFileError(f"scopes must be among {', '.join(SCOPES)}")
    return scopes


def add_token(path: Path, name: str, scopes: str) -> str:
    """Add a new token to a file, readable by its owner only; return its secret."""
    if _NAME.fullmatch(name) is None:
        raise TokenFileError("a token's name must be 1 to 64 letters, digits and _.-")
    words = ",".join(sorted(check_scopes(scopes)))
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if any(line.split()[:1] == [name] for line in before.splitlines()):
        raise TokenFileError(f"{path} has a token of this name already")
    secret = _PREFIX + secrets.token_urlsafe(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    with open_atomic(path, "w") as file:
        file.write(before + f"{name} {words} {digest}\n")
    return secret
