"""What the agent keeps: state over a restart, the node's key, and the pure parts of a slice's tree."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent.credential import BadLeaseToken, Credential, NotEnrolled, public_text
from agent.enforce.place import Place, outermost, shown, workdir_target
from agent.metrics import SliceFigures, exposition, ratio, seconds
from agent.state import SliceRecord, State
from vxpu.states import LeaseState


def record(**over: object) -> SliceRecord:
    values = {
        "lease_id": "lse_a", "token": 3, "version": 1, "state": "ready", "device_key": "cpu:x", "uid": 61000,
        "memory_mib": 64, "share_permille": 250, "compute_units": 2, "icd": "", "devices": [], "ends_at_ns": None,
    }  # fmt: skip
    return SliceRecord.from_json({**values, **over})


def test_state_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    state = State.load(tmp_path / "slices.json")
    state.put(record())
    state.put(record(lease_id="lse_b", token=1))
    state.change("lse_b", state=LeaseState.DRAINING, end_reason="expired", draining_ns=5)
    state.end("lse_b", windows_closed=9)
    again = State.load(tmp_path / "slices.json")
    assert again == state
    assert again.slices["lse_a"].state is LeaseState.READY
    assert (again.ended, again.unreported, again.windows_closed) == (
        {"lse_b": 1},
        {"lse_b": (1, "expired")},
        {"lse_b": 9},
    )


def test_an_end_is_reported_until_the_server_knows_it_under_that_token(tmp_path: Path) -> None:
    state = State(tmp_path / "slices.json")
    state.put(record())
    state.end("lse_a", windows_closed=0)
    state.acknowledge_end("lse_a", 2)
    assert "lse_a" in state.unreported
    state.acknowledge_end("lse_a", 3)
    assert State.load(tmp_path / "slices.json").unreported == {}
    assert state.tokens_seen == {"lse_a": 3}


@pytest.fixture
def server_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def credential(tmp_path: Path, server_key: Ed25519PrivateKey) -> Credential:
    given = {
        "node_id": "nod_a",
        "server": "http://x",
        "server_public_key": public_text(server_key),
        "socket_url": "ws://x",
    }
    (tmp_path / "node.json").write_text(json.dumps(given))
    return Credential(tmp_path)


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path: Path, credential: Credential) -> None:
    assert (tmp_path / "node.key").stat().st_mode & 0o777 == 0o600
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    before = (tmp_path / "node.key").read_bytes()
    assert Credential(tmp_path).node_id == credential.node_id
    assert (tmp_path / "node.key").read_bytes() == before


def test_a_node_token_is_short_and_never_the_same(credential: Credential) -> None:
    tokens = [credential.authorization(now_s=1000)["Authorization"].removeprefix("Bearer ") for _ in range(2)]
    claims = [jwt.decode(token, options={"verify_signature": False}) for token in tokens]
    assert claims[0]["exp"] - 1000 <= 120
    assert (claims[0]["iss"], claims[0]["aud"]) == ("nod_a", "vxpu-server")
    assert claims[0]["jti"] != claims[1]["jti"]


@pytest.mark.parametrize(("claims", "code"), [
    ({}, ""), ({"aud": "other"}, "bad_token"), ({"exp": 999}, "expired_token"), ({"fence": "x"}, "bad_token"),
])  # fmt: skip
def test_a_lease_token_must_be_the_servers_and_in_time(
    credential: Credential, server_key: Ed25519PrivateKey, claims: dict[str, object], code: str
) -> None:
    token = jwt.encode({"aud": "vxpu-agent", "sub": "lse_a", "fence": 3, "exp": 1300, **claims}, server_key, "EdDSA")
    if not code:
        assert credential.read_lease_token(token, now_s=1000) == ("lse_a", 3)
        return
    with pytest.raises(BadLeaseToken) as refused:
        credential.read_lease_token(token, now_s=1000)
    assert refused.value.code == code


def test_a_token_signed_by_anyone_else_or_by_nobody_is_refused(credential: Credential) -> None:
    claims = {"aud": "vxpu-agent", "sub": "lse_a", "fence": 3, "exp": 1300}
    forged = jwt.encode(claims, Ed25519PrivateKey.generate(), "EdDSA")
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    for token in (forged, f"{head}.{forged.split('.')[1]}.", "rubbish"):
        with pytest.raises(BadLeaseToken):
            credential.read_lease_token(token, now_s=1000)


def test_a_node_without_enrolment_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotEnrolled, match="vxpu-agent enrol"):
        Credential(tmp_path / "new").authorization(now_s=1)


def test_only_outermost_paths_that_exist_are_bound(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    paths = [f"{tmp_path}/a/b", f"{tmp_path}/a", f"{tmp_path}/ab", f"{tmp_path}/gone", "/usr/lib"]
    assert outermost(paths) == [f"{tmp_path}/a", f"{tmp_path}/ab"]


@pytest.mark.parametrize(("cwd", "seen"), [
    ("/home/ada/work", "/home/ada/work"), ("/run/x", "/workdir"), ("/", "/workdir"), ("/runner", "/runner"),
])  # fmt: skip
def test_where_the_callers_folder_appears(cwd: str, seen: str) -> None:
    assert workdir_target(cwd) == seen


def test_a_hidden_path_is_covered_only_where_the_host_shows_through() -> None:
    hidden = ["/run/vxpu", "/srv/clone/var", "/srv/clones"]
    assert shown(hidden, within=["/srv/clone", "/opt"]) == ["/srv/clone/var"]
    assert shown(hidden, within=["/"]) == hidden


def test_a_place_travels_as_json() -> None:
    values = {
        name: () if "tuple" in kind else 0 if kind == "int" else "" for name, kind in Place.__annotations__.items()
    }
    place = Place(**values)  # type: ignore[arg-type]
    assert Place.from_json(json.loads(json.dumps(place.to_json()))) == place


def test_metrics_leave_out_what_is_not_known() -> None:
    figures = SliceFigures(
        "lse_a", "cpu:x", "limiter-strict", 1 << 20, ratio(250), seconds(1_500_000_000), None, seconds(0), None, "0.1"
    )
    text = exposition([figures])
    assert 'vxpu_slice_share_ratio{lease="lse_a",device="cpu:x",mode="limiter-strict"} 0.250' in text
    assert 'vxpu_slice_cpu_seconds_total{lease="lse_a",device="cpu:x",mode="limiter-strict"} 1.500' in text
    assert "vxpu_slice_memory_bytes{" not in text
