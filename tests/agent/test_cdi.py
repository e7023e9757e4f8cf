"""The CDI file of a lease: valid by the format's own rules, whole or not there, and gone with its lease."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cdi import CdiFiles, Injection, find_driver, open_cdi
from agent.config import CardPolicy
from agent.enforce.modes.port import Grant, Mount
from tests.agent.bench import make_config
from vxpu.states import Isolation

GRANT = Grant(Isolation.STRICT, "held by the library", nodes=("null", "no-such-node"), share_permille=250)
EDITS = {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt"}
NODE = {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"}


def broken_rules(spec: dict[str, Any]) -> list[str]:
    """What the format forbids, in our own words (SPEC.md of the container device interface, 0.6.0)."""
    found = []
    if set(spec) - {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}:
        found.append("unknown field")
    if not re.fullmatch(r"[a-zA-Z]([\w.-]*[a-zA-Z0-9])?/[a-zA-Z]([\w-]*[a-zA-Z0-9])?", spec["kind"]):
        found.append("kind")
    if not all(isinstance(value, str) and "/" in key for key, value in spec["annotations"].items()):
        found.append("annotations")
    for device in spec["devices"]:
        if not re.fullmatch(r"[a-zA-Z0-9]([\w.:-]*[a-zA-Z0-9])?", device["name"]):
            found.append("device name")
        found += _broken_edits(device["containerEdits"])
    return found


def _broken_edits(edits: dict[str, Any]) -> list[str]:
    found = ["unknown edit"] if set(edits) - EDITS or not edits else []
    found += ["empty list" for value in edits.values() if not value]
    found += ["env" for line in edits["env"] if not re.match(r"\w+=", line)]
    for node in edits.get("deviceNodes", []):
        if set(node) - NODE or not node["path"].startswith("/") or node["type"] not in "bcup":
            found.append("device node")
        if re.sub("[rwm]", "", node["permissions"]):
            found.append("permissions")
    for mount in edits["mounts"]:
        if set(mount) - {"hostPath", "containerPath", "type", "options"} or not Path(mount["hostPath"]).exists():
            found.append(f"mount {mount}")
    return found


@pytest.fixture
def files(tmp_path: Path) -> CdiFiles:
    for name in ("libvxpu.so", "shim.so", "driver/libcuda.so.600.1", "driver/libnvidia-ml.so.1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "driver/libcuda.so.1").symlink_to("libcuda.so.600.1")
    injection = Injection(tmp_path / "libvxpu.so", tmp_path / "shim.so", find_driver([tmp_path / "driver"]))
    return CdiFiles(tmp_path / "cdi", injection)


def written(files: CdiFiles, tmp_path: Path, lease_id: str = "lse_a", **over: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"uid": 61001, "region": tmp_path, "grant": GRANT}
    spec: dict[str, Any] = json.loads(files.write(lease_id, **{**values, **over}).read_text())
    return spec


def mounts(spec: dict[str, Any]) -> dict[str, str]:
    edits = spec["devices"][0]["containerEdits"]
    return {mount["containerPath"]: mount["hostPath"] for mount in edits["mounts"]}


def test_a_file_holds_by_the_rules_what_a_slice_has(files: CdiFiles, tmp_path: Path) -> None:
    spec = written(files, tmp_path)
    assert broken_rules(spec) == []
    assert (spec["kind"], spec["devices"][0]["name"]) == ("vxpu.local/slice", "lse_a")
    assert files.name("lse_a") == "vxpu.local/slice=lse_a"
    (node,) = spec["devices"][0]["containerEdits"]["deviceNodes"]
    assert node == {"path": "/dev/null", "type": "c", "major": 1, "minor": 3, "permissions": "rw"}
    assert spec["devices"][0]["containerEdits"]["env"] == ["VXPU_LEASE=lse_a"]


def test_the_library_stands_before_the_driver_in_the_container(files: CdiFiles, tmp_path: Path) -> None:
    seen = mounts(written(files, tmp_path))
    driver = tmp_path / "driver"
    assert seen == {
        "/run/vxpu/lib/libvxpu.so": str(tmp_path / "libvxpu.so"),
        "/etc/ld.so.preload": str(tmp_path / "cdi/vxpu.local-ld.so.preload"),
        "/run/vxpu/lib/real/libcuda.so.1": str(driver / "libcuda.so.600.1"),
        str(driver / "libcuda.so.1"): str(tmp_path / "shim.so"),
        str(driver / "libnvidia-ml.so.1"): str(driver / "libnvidia-ml.so.1"),
        "/run/vxpu/uid/61001": str(tmp_path),
    }
    assert (tmp_path / "cdi/vxpu.local-ld.so.preload").read_text() == "/run/vxpu/lib/libvxpu.so\n"


def test_the_modes_own_environment_and_mounts_go_in(files: CdiFiles, tmp_path: Path) -> None:
    grant = replace(
        GRANT, environment={"CUDA_MPS_PIPE_DIRECTORY": "/run/vxpu/mps"}, mounts=(Mount(str(tmp_path), "/run/vxpu/mps"),)
    )
    spec = written(files, tmp_path, grant=grant)
    assert broken_rules(spec) == []
    assert "CUDA_MPS_PIPE_DIRECTORY=/run/vxpu/mps" in spec["devices"][0]["containerEdits"]["env"]
    assert mounts(spec)["/run/vxpu/mps"] == str(tmp_path)


def test_a_simulated_card_is_a_file_and_not_a_device_node(files: CdiFiles, tmp_path: Path) -> None:
    (tmp_path / "vxpu-fake0").touch()
    spec = written(files, tmp_path, grant=replace(GRANT, nodes=(str(tmp_path / "vxpu-fake0"),)))
    assert broken_rules(spec) == []
    assert "deviceNodes" not in spec["devices"][0]["containerEdits"]
    assert mounts(spec)["/dev/vxpu-fake0"] == str(tmp_path / "vxpu-fake0")


def test_files_end_with_their_leases_and_strangers_at_the_start(files: CdiFiles, tmp_path: Path) -> None:
    folder = tmp_path / "cdi"
    for lease_id in ("lse_a", "lse_b"):
        written(files, tmp_path, lease_id)
    (folder / "nvidia.yaml").write_text("another vendor's")
    (folder / "vxpu.local-slice_lse_b.json.new").write_text("half")
    assert files.remove_strangers({"lse_a"}) == ["lse_b", "lse_b"]
    files.remove("lse_a")
    files.remove("lse_a")
    assert sorted(path.name for path in folder.iterdir()) == ["nvidia.yaml", "vxpu.local-ld.so.preload"]


def test_the_operator_says_where_the_files_go_and_under_whose_name(
    files: CdiFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path / 'driver'}")
    policy = CardPolicy.parse([f"cdi={tmp_path / 'here'}", "dns=example.org"])
    opened = open_cdi(make_config(tmp_path, cards=policy, library=tmp_path / "libvxpu.so"))
    spec = written(opened, tmp_path)
    assert spec["kind"] == "vxpu.example.org/slice"
    assert (tmp_path / "here/vxpu.example.org-slice_lse_a.json").exists()
    assert mounts(spec)["/run/vxpu/lib/real/libcuda.so.1"] == str(tmp_path / "driver/libcuda.so.600.1")
    with pytest.raises(ValueError, match="dns is a name"):
        CardPolicy.parse(["dns=../x"])


def test_without_library_or_driver_only_what_is_there_is_mounted(tmp_path: Path) -> None:
    bare = CdiFiles(tmp_path / "cdi", Injection(tmp_path / "absent", tmp_path / "absent", find_driver([tmp_path])),
                    dns="example.org")  # fmt: skip
    spec = written(bare, tmp_path)
    assert broken_rules(spec) == []
    assert (spec["kind"], mounts(spec)) == ("vxpu.example.org/slice", {"/run/vxpu/uid/61001": str(tmp_path)})
    assert (os.stat(tmp_path / "cdi/vxpu.example.org-slice_lse_a.json").st_mode & 0o777) == 0o644  # noqa: PTH116
