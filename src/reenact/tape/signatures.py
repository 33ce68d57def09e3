"""Who has signed a tape: keys of Ed25519 (RFC 8032) in PEM files, and what is signed with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from reenact.errors import MissingExtraError, SignatureError, UsageError
from reenact.tape import seal as seals
from reenact.tape.seal import MOST_SIGNATURES, Seal, Signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as Key

PUBLIC: Final = ".pub"
"""What the name of a public key's file ends with; that of its private half is the same without."""
_MOST_BYTES: Final = 64 * 1024  # of a key's file
_SHOWN: Final = 32  # digits of a key's digest
_NO_KEY: Final = "{path} holds no key of Ed25519 as PEM: {reason}. Make one with: reenact keygen FILE"


def name_of(key: bytes) -> str:
    """What a public key is called, so that people can compare it: the beginning of its SHA-256."""
    return f"ed25519:{hashlib.sha256(key).hexdigest()[:_SHOWN]}"


def new_key(path: Path, passphrase: bytes = b"") -> bytes:
    """Makes a key: its private half at `path`, for its owner only, and the public one beside it, which is returned.

    Raises:
        UsageError: there is such a file already, or none can be made.
    """
    _require()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  it is an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  as above

    key, pem = Ed25519PrivateKey.generate(), serialization.Encoding.PEM
    secrecy: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        secrecy = serialization.BestAvailableEncryption(passphrase)
    public = key.public_key()
    halves = (
        (path, 0o600, key.private_bytes(pem, serialization.PrivateFormat.PKCS8, secrecy)),
        (
            path.with_name(path.name + PUBLIC),
            0o644,
            public.public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo),
        ),
    )
    made: list[Path] = []
    try:
        for file, mode, data in halves:
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
            made.append(file)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
    except OSError as error:
        for file in made:
            file.unlink(missing_ok=True)
        raise UsageError(f"cannot make the key {path}: {error.filename}: {error.strerror}") from error
    return public.public_bytes_raw()


def private_key(path: Path, passphrase: Callable[[], bytes]) -> Key:
    """The key in a file. `passphrase` is asked when the file is encrypted.

    Raises:
        UsageError: there is none, or the passphrase is wrong.
    """
    _require()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  as above
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415  as above

    data = _content(path)
    try:
        try:
            key = load_pem_private_key(data, None)
        except TypeError:
            key = load_pem_private_key(data, passphrase())
    except Exception as error:  # of several kinds, and none of them is documented
        raise UsageError(_NO_KEY.format(path=path, reason=f"{error}".partition("\n")[0])) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(_NO_KEY.format(path=path, reason="it is one of another kind"))
    return key


def public_key(path: Path) -> bytes:
    """The public half of the key in a file, which may hold either.

    Raises:
        UsageError: there is none.
    """
    _require()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  as above
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415  as above

    data = _content(path)
    if b"PRIVATE KEY" in data:
        raise UsageError(f"{path} is the private half of a key; to check a signature takes the public one: {path}.pub")
    try:
        key = load_pem_public_key(data)
    except Exception as error:  # as above
        raise UsageError(_NO_KEY.format(path=path, reason=f"{error}".partition("\n")[0])) from error
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(_NO_KEY.format(path=path, reason="it is one of another kind"))
    return key.public_bytes_raw()


def sign(path: Path, seal: Seal, key: Key) -> bytes:
    """Signs a tape that has this seal, if that key has not done it yet. The public half of the key.

    Raises:
        UsageError: it has too many signatures, or cannot be written.
        TapeError: it has changed meanwhile.
    """
    public = key.public_key().public_bytes_raw()
    others = tuple(one for one in seal.signatures if one.key != public)
    if len(others) >= MOST_SIGNATURES:
        raise UsageError(f"{path} has {MOST_SIGNATURES} signatures, which is as many as there can be")
    signature = Signature(public, key.sign(seal.statement))
    if signature not in seal.signatures:
        try:
            seals.change(path, msgspec.structs.replace(seal, signatures=(*others, signature)))
        except OSError as error:
            raise UsageError(f"cannot sign {path}: {error.strerror}") from error
    return public


def signers(seal: Seal | None) -> tuple[str, ...]:
    """The keys of the signatures on a tape that has this seal, whether they are right or not."""
    return tuple(name_of(one.key) for one in seal.signatures) if seal is not None else ()


def check(seal: Seal | None, wanted: bytes = b"") -> None:
    """Whether all signatures are right, and one is of the key that is `wanted`, given by its public half.

    Where the library is not installed they are not looked at, unless one is wanted.

    Raises:
        SignatureError: they are not.
    """
    found = seal.signatures if seal is not None else ()
    if wanted and not found:
        raise SignatureError(f"it is not signed, and should be by {name_of(wanted)}")
    if wanted and wanted not in {one.key for one in found}:
        raise SignatureError(f"it is signed by {', '.join(signers(seal))}, and not by {name_of(wanted)}")
    for one in found if wanted or can_check() else ():
        if seal is None or not _is_right(one, seal.statement):
            raise SignatureError(f"its signature by {name_of(one.key)} is wrong: that key has not signed this tape")


def can_check() -> bool:
    """Whether the library is installed by which signatures are checked."""
    return find_spec("cryptography") is not None


def _is_right(signature: Signature, statement: bytes) -> bool:
    _require()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  as above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  as above

    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.value, statement)
    except (InvalidSignature, ValueError):
        return False
    return True


def _require() -> None:
    if not can_check():
        raise MissingExtraError("cryptography", "sign")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read the key {path}: {error.strerror}") from error
