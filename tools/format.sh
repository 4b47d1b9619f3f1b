#!/bin/sh
# Applies .clang-format to all C of the project; with --check says what it would change. Needs clang-format 14.0.6.
set -eu
cd "$(dirname "$0")/.."
tool=build/venv/bin/clang-format
[ -x "$tool" ] || tool=clang-format
case $("$tool" --version) in
*14.0.6*) ;;
*) echo "clang-format 14.0.6 is needed (make venv installs it), not $("$tool" --version)" >&2; exit 1 ;;
esac
files=$(git ls-files -co --exclude-standard 'src/*.[ch]' 'src/*.inc' 'include/*.h' 'tests/*.[ch]' 'bench/*.[ch]' 'examples/*.c')
[ "${1:-}" = --check ] && exec "$tool" --dry-run --Werror $files
# long comments may need a second pass
for pass in 1 2 3; do "$tool" -i $files; done
