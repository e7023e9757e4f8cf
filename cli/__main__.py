"""Entry point of `vxpu` and of ``python -m cli``."""

from __future__ import annotations

import os
import sys

from cli.app import app
from cli.errors import CliError
from cli.exits import ExitCode
from cli.output import say


def main() -> None:
    try:
        app(prog_name="vxpu")
    except CliError as error:
        say(*error.lines())
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # `vxpu ... | head`: the reader has what it wanted. Point stdout elsewhere so that the exit flush is quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.UNEXPECTED)


if __name__ == "__main__":
    main()
