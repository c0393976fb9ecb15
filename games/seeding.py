"""Seeds: every random draw of the project comes from a 63-bit integer derived here."""

from hashlib import blake2b

SEED_BITS = 63


def derive(*parts: int | str) -> int:
    """Return the 63-bit seed of a sequence of parts.

    The same parts give the same seed in every process and on every machine; Python's `hash` is never used.
    Parts are joined with their type and length, so that ("ab", "c") and ("a", "bc"), or 1 and "1", differ.
    """
    return int.from_bytes(digest(8, *parts)[:8], "big") >> (64 - SEED_BITS)


def digest(size: int, *parts: int | str) -> bytes:
    """Return the BLAKE2b digest of `size` bytes of a sequence of parts (RFC 7693)."""
    text = "".join([f"i{part};" if isinstance(part, int) else f"s{len(part)}:{part}" for part in parts])
    return blake2b(text.encode(), digest_size=size).digest()
