#!/bin/sh
# A private Python environment with the TPC-H generator and DuckDB (for comparison). $1: where.
set -eu
venv=$1
[ -f "$venv/.complete" ] && exit 0
mkdir -p "$(dirname "$venv")"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'tpchgen-cli>=1.0' 'duckdb>=1.4' ||
    { echo "Could not install tpchgen-cli and duckdb from PyPI into $venv." >&2; exit 1; }
touch "$venv/.complete"
