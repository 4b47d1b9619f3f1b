#!/bin/sh
# A private Python environment with the TPC-H generator, DuckDB (for comparison), the formatter, what the Python package
# is tested with, and what makes HTML of the guide (Sphinx: BSD; MyST and Furo: MIT). $1: where.
set -eu
venv=$1
[ -f "$venv/.complete-5" ] && exit 0
mkdir -p "$(dirname "$venv")"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'tpchgen-cli>=1.0' 'duckdb>=1.4' 'clang-format==14.0.6' \
    'pandas>=2.2' 'pyarrow>=16' 'polars>=1' 'sphinx>=8,<10' 'myst-parser>=4,<6' 'furo>=2025' \
    'adbc-driver-manager>=1.1' ||
    { echo "Could not install tpchgen-cli, duckdb, clang-format, pandas, pyarrow, polars, sphinx, myst-parser, furo and adbc-driver-manager from PyPI into $venv." >&2; exit 1; }
touch "$venv/.complete-5"
