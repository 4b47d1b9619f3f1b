#!/bin/sh
# Installs the distribution packages that Stele builds with, if any is missing; with the argument "test", those that only its tests need
# too (an OpenCL implementation for the CPU, a checker of kernels, what packages are made and checked with). Debian 12 or Ubuntu 24.04.
set -eu
need="gcc g++ cmake ninja-build libpg-query-dev libxxhash-dev libzstd-dev zlib1g-dev liblz4-dev libbrotli-dev libpcre2-dev libutf8proc-dev libedit-dev libcmocka-dev python3 python3-venv"
[ "${1:-}" = test ] && need="$need ocl-icd-libopencl1 pocl-opencl-icd oclgrind pkg-config groff-base dpkg-dev"
missing=""
for p in $need; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "Stele needs these packages, and this system has no apt-get:$missing" >&2
    exit 1
fi
echo "Installing:$missing"
if [ "$(id -u)" = 0 ]; then
    sudo=""
elif command -v sudo >/dev/null; then
    sudo="sudo"
else
    echo "Not root and no sudo here. Please have an administrator run:" >&2
    echo "  apt-get install$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq || echo "apt-get update failed; trying with the present lists" >&2
$sudo apt-get install -y -qq $missing >/dev/null || { echo "Could not install:$missing" >&2; exit 1; }
