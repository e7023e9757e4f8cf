#!/bin/sh
# Usage: install.sh PYTHON REQUIREMENTS: the pinned packages, and this project's console scripts, into a venv.
set -eu
python=$1 requirements=$2
"$(dirname "$0")/prerequisites.sh" >/dev/null
"$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip --default-pip >/dev/null
echo "installing $requirements (once; a minute or two)"
"$python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
# No isolation: the pinned setuptools is in the environment already.
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
