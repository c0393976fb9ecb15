"""Seeds: every random draw of the project comes from a 63-bit integer derived here."""

from hashlib import blake2b

SEED_BITS = 63


def derive(*parts: int | str) -> int:
    """Return the 63-bit seed of a sequence of parts.

    The same parts give the same seed in every process and on every machine; Python's `hash` is never used.
    """
    return int.from_bytes(digest(8, *parts), "big") >> (64 - SEED_BITS)


def digest(size: int, *parts: int | str) -> bytes:
    """Return the BLAKE2b digest (RFC 7693) of `size` bytes of a sequence of parts.

    What is hashed is how Python writes the tuple: ("ab", "c") and ("a", "bc"), or 1 and "1", differ.
    """
    return blake2b(repr(parts).encode(), digest_size=size).digest()
