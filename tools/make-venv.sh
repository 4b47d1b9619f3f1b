#!/bin/sh
# A private Python environment with the TPC-H generator, DuckDB (for comparison) and the formatter. $1: where.
set -eu
venv=$1
[ -f "$venv/.complete-2" ] && exit 0
mkdir -p "$(dirname "$venv")"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'tpchgen-cli>=1.0' 'duckdb>=1.4' 'clang-format==14.0.6' ||
    { echo "Could not install tpchgen-cli, duckdb and clang-format from PyPI into $venv." >&2; exit 1; }
touch "$venv/.complete-2"
