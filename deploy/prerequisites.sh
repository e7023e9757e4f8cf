#!/bin/sh
# Looks for what must be on the machine before anything of ours runs: Python >= 3.11 with venv, gcc, make.
# As root on a machine with apt-get, what is missing is installed; otherwise it is named in one line, and we stop.
# Prints the Python to use on stdout; everything else goes to stderr.
set -u

missing=""
python=""
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null 2>&1 &&
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done

need() { missing="$missing $1"; }

if [ -z "$python" ]; then
    need "python3 python3-venv"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    # Debian splits venv off, one package per version.
    need "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
fi
command -v "${CC:-gcc}" >/dev/null 2>&1 || need "gcc libc6-dev"
# PoCL links its kernels with the system's linker.
command -v ld >/dev/null 2>&1 || need "binutils"
command -v make >/dev/null 2>&1 || need "make"

if [ -z "$missing" ]; then
    echo "$python"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "missing on this machine: install it with: apt install$missing" >&2
    exit 1
fi
if [ -n "${VXPU_PREREQUISITES_TRIED:-}" ]; then
    echo "still missing after apt-get:$missing (this system's python3 may be older than 3.11)" >&2
    exit 1
fi
echo "installing with apt-get:$missing" >&2
# shellcheck disable=SC2086 # a list of names
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >&2 || {
    echo "apt-get failed; install by hand: apt install$missing" >&2
    exit 1
}
VXPU_PREREQUISITES_TRIED=1 exec "$0"
