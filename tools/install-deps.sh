#!/bin/sh
# Installs the distribution packages that Stele builds with, if any is missing; with the argument "test", those that only its tests need
# too (an OpenCL implementation for the CPU, a checker of kernels, what packages are made and checked with). Debian 12 or Ubuntu 24.04.
# libpg_query must be for PostgreSQL 15. Where the distribution's is not (Ubuntu 24.04: 16), tools/make-pg-query.sh builds it.
set -eu
cd "$(dirname "$0")/.."
need="gcc g++ cmake ninja-build make libxxhash-dev libzstd-dev zlib1g-dev liblz4-dev libbrotli-dev libpcre2-dev libutf8proc-dev libedit-dev libcmocka-dev python3 python3-venv tzdata"
[ "${1:-}" = test ] && need="$need ocl-icd-libopencl1 pocl-opencl-icd pkg-config groff-base dpkg-dev"
wanted="" # what not every distribution has: its tests are skipped without it
[ "${1:-}" = test ] && wanted=oclgrind
missing=""

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
# The version that is installed, or would be; empty without a package.
version() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9].*\)/\1/p'; }
is_15() { case "$1" in 15-*) return 0 ;; esac; return 1; }

if [ -f build/pg_query/libpg_query.a ] || is_15 "$(dpkg-query -W -f='${Version}' libpg-query-dev 2>/dev/null)"; then
    own_pg_query=no
else
    own_pg_query=ask # after apt-get update
fi
for p in $need; do
    installed "$p" || missing="$missing $p"
done
for p in $wanted; do # known before apt-get update, or asked for again behind it
    installed "$p" || [ -z "$(version "$p")" ] || missing="$missing $p"
done
[ -z "$missing" ] && [ $own_pg_query = no ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "Stele needs these packages, and this system has no apt-get:$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    sudo=""
elif command -v sudo >/dev/null; then
    sudo="sudo"
else
    echo "Not root and no sudo here. Please have an administrator run:" >&2
    echo "  apt-get install$missing libpg-query-dev" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq || echo "apt-get update failed; trying with the present lists" >&2
if [ $own_pg_query = ask ]; then
    is_15 "$(version libpg-query-dev)" && missing="$missing libpg-query-dev" || own_pg_query=yes
fi
for p in $wanted; do
    case "$missing " in *" $p "*) continue ;; esac
    installed "$p" || [ -z "$(version "$p")" ] || missing="$missing $p"
done
if [ -n "$missing" ]; then
    echo "Installing:$missing"
    $sudo apt-get install -y -qq $missing >/dev/null || { echo "Could not install:$missing" >&2; exit 1; }
fi
[ $own_pg_query != yes ] || tools/make-pg-query.sh build/pg_query
