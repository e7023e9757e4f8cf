"""Programs that answer questions a line each."""

import subprocess


def answers(command: list[str], env: dict[str, str], questions: str = "") -> list[str]:
    """Give a program its questions; the lines that it printed, after it ended well."""
    done = subprocess.run(command, env=env, input=questions, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return [line.strip() for line in done.stdout.splitlines()]
