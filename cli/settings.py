"""Where the command line keeps its log-ins: ``~/.config/vxpu/config.json`` (0600), and what the environment overrides.

The file: ``{"current": "default", "contexts": {"default": {"server": ..., "token": ..., "project": ...}}}``.
``VXPU_SERVER``, ``VXPU_TOKEN`` and ``VXPU_PROJECT`` win over the file, ``VXPU_CONTEXT`` picks another context.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cli.errors import NotLoggedIn, UsageError


@dataclass(frozen=True)
class Context:
    """One log-in."""

    server: str = ""
    token: str = field(default="", repr=False)
    project: str = ""


@dataclass
class ConfigFile:
    """All log-ins of this user."""

    path: Path
    current: str = "default"
    contexts: dict[str, Context] = field(default_factory=dict)

    @classmethod
    def load(cls) -> ConfigFile:
        path = config_path()
        try:
            data = json.loads(path.read_text())
            contexts = {name: Context(**values) for name, values in data.get("contexts", {}).items()}
            return cls(path, str(data.get("current", "default")), contexts)
        except FileNotFoundError:
            return cls(path)
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{path} is not a configuration of this command: {error}",
                suggestion=f"move it away and log in again: mv {path} {path}.old",
            ) from error

    def save(self) -> None:
        """Write whole and rename: a reader never sees half a file, and nobody else ever sees a token."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        data = {"current": self.current, "contexts": {name: asdict(value) for name, value in self.contexts.items()}}
        draft.write_text(json.dumps(data, indent=2) + "\n")
        draft.replace(self.path)


def config_path() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(os.environ.get("VXPU_CONFIG") or Path(home) / "vxpu" / "config.json")


def current_context() -> Context:
    """The context in force: environment over file. Raises NotLoggedIn when no server or no token is known."""
    file = ConfigFile.load()
    name = os.environ.get("VXPU_CONTEXT") or file.current
    stored = file.contexts.get(name, Context())
    context = Context(
        server=os.environ.get("VXPU_SERVER") or stored.server,
        token=os.environ.get("VXPU_TOKEN") or stored.token,
        project=os.environ.get("VXPU_PROJECT") or stored.project,
    )
    if not context.server or not context.token:
        raise NotLoggedIn(
            f"you are not logged in (context {name!r})",
            suggestion="vxpu login --server https://..., or set VXPU_SERVER and VXPU_TOKEN",
        )
    return context
