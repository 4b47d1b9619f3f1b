#!/bin/sh
# Style checks: headers compile alone, forbidden functions, includes point downwards, error codes, generated documentation.
set -u
cd "$(dirname "$0")/.."
bad=0
for h in $(git ls-files 'src/*.h' 'include/*.h'); do
    case $h in *_impl.h|src/sql/parse/parse_int.h) continue ;; esac
    echo "#include \"$PWD/$h\"" | gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Isrc -Iinclude -fsyntax-only -x c - 2>/tmp/stele-lint.$$ ||
        { echo "$h does not compile alone:"; head -5 /tmp/stele-lint.$$; bad=1; }
done
echo '#include "stele/stele.h"' | g++ -std=c++17 -Iinclude -fsyntax-only -x c++ - || { echo "stele.h is not C++"; bad=1; }
rm -f /tmp/stele-lint.$$
if git grep -nE '\b(strcpy|strcat|sprintf|atoi|strtok|gets) *\(' -- 'src/*.c' 'src/*.h' | grep -q .; then
    git grep -nE '\b(strcpy|strcat|sprintf|atoi|strtok|gets) *\(' -- 'src/*.c' 'src/*.h'
    bad=1
fi
# Layers: a lower folder may not include a higher one.
layer() { case $1 in base) echo 0 ;; types | device) echo 1 ;; storage) echo 3 ;; catalog) echo 4 ;; program) echo 5 ;; exec | codegen | cost) echo 6 ;; sql) echo 7 ;; io) echo 8 ;; session) echo 9 ;; api) echo 10 ;; shell) echo 11 ;; *) echo 99 ;; esac; }
for f in $(git ls-files 'src/*.c' 'src/*.h'); do
    own=$(layer "$(echo "$f" | cut -d/ -f2)")
    for inc in $(grep -oE '^#include "(base|types|device|storage|catalog|program|codegen|cost|exec|sql|io|session|api|shell)/[^"]*"' "$f" | cut -d'"' -f2); do
        top=$(layer "${inc%%/*}")
        [ "$top" -gt "$own" ] && { echo "$f includes $inc, which is above it"; bad=1; }
    done
done
# Every SQLSTATE of the table is raised somewhere.
for code in $(grep -oE '^#define ERR_[A-Z_]+' src/base/errcodes.h | cut -d' ' -f2); do
    git grep -qw "$code" -- 'src/*.c' 'src/*.h' 'src/*.inc' ':!src/base/errcodes.h' || { echo "$code is never raised"; bad=1; }
done
python3 tools/gen-opcodes.py --check || bad=1
# Every recursive function looks at the stack that is left.
lib=${STELE_LIB:-build/release/libstele_core.a}
if [ -f "$lib" ]; then
    python3 tools/recursion.py "$lib" || { echo "recursive functions that do not call stack_check() or stack_stop() (base/stack.h)"; bad=1; }
fi
exit $bad
