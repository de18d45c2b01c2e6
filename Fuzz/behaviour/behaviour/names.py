# SPDX-License-Identifier: Apache-2.0
"""The meaning of a path: how its origin behaves, and which octets belong to it.

Everybody can compute the content of a path, so that octets of another one are found wherever they turn up.
"""

import dataclasses
import functools
import hashlib


@functools.lru_cache(maxsize=4096)
def _pattern(name):
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"<{name} {digest}>".encode()


def content(name, size):
    """The `size` octets that belong to `name`."""
    pattern = _pattern(name)
    return (pattern * (size // len(pattern) + 1))[:size]


@dataclasses.dataclass(frozen=True)
class Name:
    """A path: `/MODE/FRAMING/KEEP/SIZE/AMOUNT/NUMBER`."""

    # How the origin behaves.
    mode: str
    # length, chunked or close.
    framing: str
    # keep (for all), mine (for one user), no (for nobody).
    keep: str
    size: int
    # The number that the mode needs: octets, responses, milliseconds.
    amount: int
    number: int

    @property
    def path(self):
        return f"/{self.mode}/{self.framing}/{self.keep}/{self.size}/{self.amount}/{self.number}"

    @staticmethod
    def of(path):
        parts = path.split("/")
        if len(parts) != 7:
            return None
        try:
            return Name(parts[1], parts[2], parts[3], int(parts[4]), int(parts[5]), int(parts[6]))
        except ValueError:
            return None

    def content(self, user):
        """The content that the origin answers with."""
        return content(self.path + (" for " + user if self.keep == "mine" else ""), self.size)

    def upload(self, size):
        """The content that clients send with a request for it."""
        return content("upload to " + self.path, size)
