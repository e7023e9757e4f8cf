"""Who this node is: an Ed25519 key made here and never sent, tokens signed with it, and what enrolment gave.

Sources: RFC 8032 (Ed25519), RFC 8037 (EdDSA in JOSE), RFC 7519 (JWT).
"""

from __future__ import annotations

import base64
import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from agent.config import agent_version
from agent.devices.opencl import machine_hash
from agent.state import write_whole
from vxpu.wire import node

TOKEN_S = 100
HTTP_S = 10


class NotEnrolled(RuntimeError):
    """The node has no identity yet, or the server refused to give one; the text says what to do."""


class BadLeaseToken(RuntimeError):
    """A lease token that does not open a slice here; `code` is stable."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What the server gave at enrolment. Keys are base64 of 32 raw bytes."""

    node_id: str
    server: str
    server_public_key: str
    socket_url: str


class Credential:
    """The node's key and enrolment, in `state_dir`, readable by the agent alone."""

    def __init__(self, state_dir: Path) -> None:
        self._key_file = state_dir / "node.key"
        self._next_file = state_dir / "node.key.next"
        self._enrolment_file = state_dir / "node.json"
        state_dir.mkdir(parents=True, exist_ok=True)
        state_dir.chmod(0o700)
        self._key = _load_or_make(self._key_file)
        self.enrolment = self._load_enrolment()

    @property
    def node_id(self) -> str:
        return self._enrolled().node_id

    def enrol(self, *, server: str, one_time_token: str) -> Enrolment:
        """Spend the one-time token. The key is on disk before it is shown. Raises NotEnrolled, httpx.HTTPError."""
        body = node.Enrol(
            one_time_token=one_time_token.strip(), public_key=public_text(self._key),
            hostname=os.uname().nodename[:253], machine_id=machine_hash(), agent_version=agent_version(),
            rack=os.environ.get("VXPU_RACK", "")[:64],
        )  # fmt: skip
        answer = httpx.post(
            server.rstrip("/") + node.ENROL_PATH, content=body.model_dump_json(exclude_defaults=True), timeout=HTTP_S,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        if answer.status_code not in {200, 201}:
            raise NotEnrolled(f"the server refused the enrolment: {answer.status_code} {answer.text[:300]}")
        given = node.Enrolled.model_validate_json(answer.content)
        self.enrolment = Enrolment(given.node_id, server, given.server_public_key, given.socket_url)
        write_whole(self._enrolment_file, json.dumps(asdict(self.enrolment)))
        return self.enrolment

    def follow(self, *, server: str, socket_url: str) -> None:
        """The same server at new addresses: what the agent is started with wins over what enrolment said.

        `socket_url` is the address without a path, ``ws://host:port``; empty if it has not moved.
        """
        known = self._enrolled()
        door = socket_url.rstrip("/") + node.SOCKET_PATH if socket_url else known.socket_url
        moved = replace(known, server=server, socket_url=door)
        if moved != known:
            self.enrolment = moved
            write_whole(self._enrolment_file, json.dumps(asdict(moved)))

    def rotate(self, *, now_s: int) -> None:
        """Replace the key; the new one is on disk before the server hears of it. Raises as `enrol`."""
        enrolment = self._enrolled()
        fresh = Ed25519PrivateKey.generate()
        write_whole(self._next_file, _pem(fresh))
        answer = httpx.post(
            enrolment.server.rstrip("/") + node.ROTATE_PATH, timeout=HTTP_S,
            content=node.Rotate(public_key=public_text(fresh)).model_dump_json(),
            headers={"Content-Type": "application/json", **self.authorization(now_s=now_s)},
        )  # fmt: skip
        if answer.status_code not in {200, 201, 204}:
            self._next_file.unlink()
            raise NotEnrolled(f"the server refused the new key: {answer.status_code} {answer.text[:300]}")
        self.take_next()

    def take_next(self) -> bool:
        """Change to a key whose rotation a crash cut short; False when there is none."""
        if not self._next_file.exists():
            return False
        self._next_file.replace(self._key_file)
        self._key = _load_or_make(self._key_file)
        return True

    def authorization(self, *, now_s: int) -> dict[str, str]:
        """The header with a fresh node token; `now_s` by the server's clock."""
        claims = {
            "iss": self.node_id, "aud": node.NODE_TOKEN_AUDIENCE, "iat": now_s - 1, "exp": now_s + TOKEN_S,
            "jti": uuid.uuid4().hex,
        }  # fmt: skip
        return {"Authorization": f"Bearer {jwt.encode(claims, self._key, algorithm='EdDSA')}"}

    def sign(self, raw: bytes) -> str:
        """base64 of the Ed25519 signature over `raw`."""
        return base64.b64encode(self._key.sign(raw)).decode()

    def read_lease_token(self, token: str, *, now_s: int) -> tuple[str, int]:
        """(lease id, fencing token) of a lease token that the server signed. Raises BadLeaseToken."""
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self._enrolled().server_public_key))
        try:
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=["EdDSA"], audience=node.LEASE_TOKEN_AUDIENCE,
                options={"require": ["exp", "sub", "aud"], "verify_exp": False, "verify_iat": False,
                         "verify_nbf": False},
            )  # fmt: skip
            lease_id, fence, expires_s = str(claims["sub"]), int(claims["fence"]), int(claims["exp"])
        except (jwt.InvalidTokenError, KeyError, ValueError, TypeError) as error:
            raise BadLeaseToken("bad_token", f"not a lease token of this node's server: {error}") from error
        if expires_s <= now_s:  # by the server's clock, which made it: ours may be minutes off
            raise BadLeaseToken("expired_token", "the lease token has expired; ask for a new one")
        return lease_id, fence

    def _load_enrolment(self) -> Enrolment | None:
        return Enrolment(**json.loads(self._enrolment_file.read_text())) if self._enrolment_file.exists() else None

    def _enrolled(self) -> Enrolment:
        if self.enrolment is None:
            raise NotEnrolled("this node is not enrolled: run `vxpu-agent enrol` with a one-time token")
        return self.enrolment


def public_text(key: Ed25519PrivateKey) -> str:
    """base64 of the raw public half."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def _load_or_make(path: Path) -> Ed25519PrivateKey:
    if not path.exists():
        write_whole(path, _pem(Ed25519PrivateKey.generate()))
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise NotEnrolled(f"{path} is not an Ed25519 key")
    return key


def _pem(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
