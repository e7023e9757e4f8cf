"""`vxpu-agent`: run the node's daemon, enrol it, look at it, or give a developer a region without one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent import shm, status
from agent.config import ROOT, CardPolicy, Config, host_reserve_permille
from vxpu.units import parse_memory_mib, parse_share_permille

if TYPE_CHECKING:
    from agent.region import CardLimits

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

STATE = Path("/var/lib/vxpu-agent")
RUN = Path("/run/vxpu")

Server = Annotated[str, typer.Option(envvar="VXPU_SERVER", help="Address of the market, http(s)://...")]
SocketUrl = Annotated[str, typer.Option(envvar="VXPU_SOCKET_URL", help="Its sockets, if not where enrolment said.")]
TokenFile = Annotated[Path | None, typer.Option(envvar="VXPU_TOKEN_FILE", help="File with the one-time token.")]
StateDir = Annotated[Path, typer.Option(envvar="VXPU_STATE_DIR", help="Keys, slices, spool: outlives a reboot.")]
RunDir = Annotated[Path, typer.Option(envvar="VXPU_RUN_DIR", help="Socket, regions, scratch.")]


@app.command()
def run(
    *,
    server: Server,
    token_file: TokenFile = None,
    socket_url: SocketUrl = "",
    state_dir: StateDir = STATE,
    run_dir: RunDir = RUN,
    socket: Annotated[Path | None, typer.Option(help="Exec socket; RUN_DIR/agent.sock unless given.")] = None,
    mode: Annotated[str, typer.Option(help="auto, strict or advisory.")] = "auto",
    expose: Annotated[list[Path] | None, typer.Option(help="Folder that every slice sees, read-only.")] = None,
    hide: Annotated[list[Path] | None, typer.Option(help="Path that no slice sees, even inside such a folder.")] = None,
    library: Annotated[Path, typer.Option(help="The limiter.")] = ROOT / "native" / "build" / "libvxpu.so",
    on_stop: Annotated[str, typer.Option(help="Slices at SIGTERM: keep (for the next agent) or end.")] = "keep",
    runtime_mib: Annotated[int, typer.Option(help="Memory for a slice's interpreter beyond what was bought.")] = 512,
    card_cpu: Annotated[
        int,
        typer.Option(min=0, help="Processor time of a slice of a card, in ‰ of one processor; 0: a weight, no quota."),
    ] = 0,
    card_mode: Annotated[
        list[str] | None,
        typer.Option(help="How cards are shared: auto, exclusive, mig, mps or limiter; of one card: GPU-UUID=MODE."),
    ] = None,
    hook: Annotated[
        str,
        typer.Option(envvar="VXPU_HOOK", help="Run in a slice before it loses its place: HOOK lease reason deadline."),
    ] = "",
    card: Annotated[
        list[str] | None,
        typer.Option(help="Of slices of cards: lend=hard|work-conserving, escape=report|kill, context-mib=N..."),
    ] = None,
) -> None:
    """Enrol if this is the first start, then keep the slices of this node."""
    from agent.daemon import Daemon
    from agent.enforce.modes.choose import parse_card_modes

    if mode not in {"auto", "strict", "advisory"} or on_stop not in {"keep", "end"}:
        raise typer.BadParameter("mode is auto, strict or advisory; on-stop is keep or end")
    try:
        cards = CardPolicy.parse(card or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--card") from error
    try:
        parse_card_modes(",".join(card_mode or ()))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--card-mode") from error
    config = Config(
        server=server.rstrip("/"), state_dir=state_dir.absolute(), run_dir=run_dir.absolute(), token_file=token_file,
        socket_url=socket_url, socket_path=socket, mode=mode, expose=tuple(path.absolute() for path in expose or ()),
        hide=tuple(path.absolute() for path in hide or ()), library=library.absolute(), on_stop=on_stop,
        runtime_mib=runtime_mib, card_cpu_permille=card_cpu, cards=cards, card_mode=",".join(card_mode or ()),
        host_reserve_permille=host_reserve_permille(), hook=tuple(shlex.split(hook)),
    )  # fmt: skip
    with _plain_errors():
        asyncio.run(Daemon(config).run())


@app.command()
def enrol(server: Server, token_file: Annotated[Path, typer.Option()], state_dir: StateDir = STATE) -> None:
    """Spend a one-time token: make the node's key here and tell the server its public half."""
    from agent.credential import Credential

    with _plain_errors():
        given = Credential(state_dir).enrol(server=server.rstrip("/"), one_time_token=token_file.read_text())
        typer.echo(given.node_id)


@app.command()
def rotate(state_dir: StateDir = STATE) -> None:
    """Replace the node's key; a running agent takes the new one at its next connection."""
    from agent.credential import Credential

    with _plain_errors():
        Credential(state_dir).rotate(now_s=int(time.time()))


@app.command(name="status")
def show_status(
    state_dir: StateDir = STATE,
    run_dir: RunDir = RUN,
    as_json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,
) -> None:
    """The node, its devices and its slices; exits 1 when no agent runs."""
    del run_dir  # accepted beside --state-dir so that one set of options fits every command
    with _plain_errors():
        report = status.read(state_dir)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    _print_tables(report)


@app.command(name="dev-region")
def dev_region(
    memory: Annotated[str, typer.Option("-m", "--memory", help="512MiB, 24GiB...")] = "1GiB",
    share: Annotated[str, typer.Option("-c", "--share", help="25%, 12.5%...")] = "25%",
    card: Annotated[str, typer.Option(help="A card by its UUID (GPU-...), or auto: the first there is.")] = "",
    spill: Annotated[str, typer.Option(help="Managed memory beyond what is guaranteed (with --card).")] = "",
    copy: Annotated[str, typer.Option(help="Bytes a second over the bus, 2GiB... (with --card).")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take it away again.")] = False,
) -> None:
    """A region for your own user, without an agent: programs that load libvxpu.so are limited by it."""
    from agent.region import Region, RegionLimits

    region = Region(Path(f"{shm.DEV_REGION_PREFIX}{os.getuid()}"), uid=os.getuid())
    region.remove()  # another device's figures are of no use to this one
    if remove:
        return
    with _plain_errors():
        found = _developers_card(card, spill=spill, copy=copy) if card else None
    units = 1 if found else len(os.sched_getaffinity(0))
    limits = RegionLimits(parse_memory_mib(memory), parse_share_permille(share), units, fencing_token=0, card=found)
    region.create(limits)
    typer.echo(region.folder)


def _developers_card(wanted: str, *, spill: str, copy: str) -> CardLimits:
    """Raises typer.BadParameter when there is no such card."""
    from agent.devices.nvidia import NvidiaPort
    from agent.region import CardLimits, card_uuid

    cards = {device.key.removeprefix("nvidia:"): device for device in NvidiaPort().discover()}
    name = next(iter(cards), "") if wanted == "auto" else wanted
    if name not in cards:
        raise typer.BadParameter(f"no card {wanted}; there are: {', '.join(cards) or 'none'}", param_hint="--card")
    return CardLimits(
        card_uuid(name), physical_mib=cards[name].memory_mib, context_mib=CardPolicy().context_mib,
        spill_mib=parse_memory_mib(spill) if spill else 0, copy_mib_s=parse_memory_mib(copy) if copy else 0,
    )  # fmt: skip


def _print_tables(report: dict[str, Any]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    is_terminal = sys.stdout.isatty()
    console = Console(soft_wrap=not is_terminal, width=None if is_terminal else 500)
    box = SIMPLE if is_terminal else None
    link = "connected" if report["connected"] else f"not connected {report['trouble']}"
    gates = "open" if report["authority"] else "closed (no word from the server)"
    console.print(f"{report['node_id']}  {link}; gates {gates}; {report['windows_unsent']} windows unsent")
    console.print(f"{report['isolation']}: {report['isolation_detail']}")
    devices = Table("device", "kind", "model", "memory MiB", "for sale MiB", "for sale ‰", "mode", box=box)
    for device in report["devices"]:
        devices.add_row(device["key"], device["kind"], device["model"], str(device["memory_mib"]),
                        str(device["capacity_mib"]), str(device["capacity_permille"]), device["isolation"])  # fmt: skip
    slices = Table("lease", "state", "uid", "memory MiB", "share ‰", "windows", "unsent", box=box)
    for lease_id, lease in report["leases"].items():
        slices.add_row(lease_id, lease["state"], str(lease.get("uid", "")), str(lease.get("memory_mib", "")),
                       str(lease.get("share_permille", "")), str(lease["windows_closed"]),
                       str(lease["windows_unsent"]))  # fmt: skip
    console.print(devices)
    console.print(slices)


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """What an operator can act on is one sentence and exit code 1, not a trace."""
    import httpx

    from agent.credential import NotEnrolled
    from agent.daemon import AlreadyRunning
    from agent.enforce.port import Unavailable

    try:
        yield
    except (NotEnrolled, AlreadyRunning, Unavailable, status.NoStatus, httpx.HTTPError, OSError) as error:
        sys.stderr.write(f"vxpu-agent: {error}\n")
        raise typer.Exit(1) from error


def main() -> None:
    app()


if __name__ == "__main__":
    main()
