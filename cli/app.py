"""The tree of commands. Modules here are light: a command imports its client only when it runs."""

from __future__ import annotations

import typer

from cli.commands import account, catalogue, lease, money, raw, remote, reserve, run

app = typer.Typer(
    name="vxpu",
    help="Buy, run and pay for slices of accelerators.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, tokens among them
    rich_markup_mode=None,  # help without importing Rich
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(account.login)
app.command()(account.logout)
app.command()(account.whoami)
app.command()(account.context)
app.command()(catalogue.offers)
app.add_typer(reserve.app, name="reserve")
app.add_typer(lease.app, name="lease")
app.command(context_settings={"allow_interspersed_args": False})(run.run)
app.command("exec")(remote.exec_)
app.command()(remote.logs)
app.add_typer(catalogue.device, name="device")
app.add_typer(catalogue.node, name="node")
app.add_typer(money.app, name="invoice")
app.command()(money.cost)
app.command()(raw.api)
