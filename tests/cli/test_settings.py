"""Where log-ins are kept, and what the environment overrides."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.errors import NotLoggedIn, UsageError
from cli.settings import ConfigFile, Context, config_path, current_context


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("VXPU_SERVER", "VXPU_TOKEN", "VXPU_PROJECT", "VXPU_CONTEXT", "VXPU_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def keep(**contexts: Context) -> None:
    file = ConfigFile.load()
    file.contexts.update(contexts)
    file.current = next(iter(contexts))
    file.save()


def test_nobody_is_logged_in_at_first() -> None:
    with pytest.raises(NotLoggedIn, match="not logged in") as raised:
        current_context()
    assert raised.value.exit_code == 5


def test_what_is_kept_comes_back() -> None:
    keep(work=Context("https://a", "vxp_pat_a", "prj_a"), home=Context("https://b", "vxp_pat_b"))
    assert current_context() == Context("https://a", "vxp_pat_a", "prj_a")


def test_the_environment_wins_field_by_field(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(work=Context("https://a", "vxp_pat_a", "prj_a"), home=Context("https://b", "vxp_pat_b"))
    monkeypatch.setenv("VXPU_CONTEXT", "home")
    monkeypatch.setenv("VXPU_TOKEN", "vxp_pat_other")
    assert current_context() == Context("https://b", "vxp_pat_other", "")


def test_a_token_is_never_shown_by_accident() -> None:
    assert "vxp_pat" not in repr(Context("https://a", "vxp_pat_secret"))


@pytest.mark.parametrize("text", ["{", "[]", '{"contexts": {"a": {"colour": "red"}}}', '{"contexts": 7}'])
def test_a_file_of_somebody_else_is_said_and_not_overwritten(text: str) -> None:
    config_path().parent.mkdir()
    config_path().write_text(text)
    with pytest.raises(UsageError, match="not a configuration"):
        ConfigFile.load()
    assert config_path().read_text() == text


def test_saving_leaves_no_draft_behind() -> None:
    keep(work=Context("https://a", "t"))
    keep(work=Context("https://a", "u"))
    assert [path.name for path in config_path().parent.iterdir()] == ["config.json"]
