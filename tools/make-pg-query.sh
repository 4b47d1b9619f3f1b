#!/bin/sh
# Builds libpg_query for PostgreSQL 15 into $1 (libpg_query.a, pg_query.h), where the distribution has another version:
# Ubuntu 24.04's is for PostgreSQL 16. Its trees are read through the node headers of third_party/pg_query, which are
# those of this very source: pglast's archive on PyPI, which carries libpg_query (BSD) unchanged. Nothing else of it is
# used.
set -eu
out=$1
release=5.10
sum=e890582fbc18f01b00bc1724f17fff1396cc94d24ab37fba96aacc8fe742ed68
[ -f "$out/.complete-$release" ] && exit 0
echo "Building libpg_query 15 from pglast $release of PyPI"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$tmp" "pglast==$release" ||
    { echo "Could not fetch pglast $release from PyPI. Elsewhere: make build there, and copy $out." >&2; exit 1; }
echo "$sum  $tmp/pglast-$release.tar.gz" | sha256sum --check --quiet || { echo "pglast-$release.tar.gz is not the archive that is known" >&2; exit 1; }
tar -xzf "$tmp/pglast-$release.tar.gz" -C "$tmp"
make -s -C "$tmp/pglast-$release/libpg_query" -j "$(nproc)" build >/dev/null
mkdir -p "$out"
cp "$tmp/pglast-$release/libpg_query/libpg_query.a" "$tmp/pglast-$release/libpg_query/pg_query.h" "$out"
touch "$out/.complete-$release"
