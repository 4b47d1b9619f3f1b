#!/bin/sh
# Fuzzing: tests/fuzz/run.sh [BUILD_DIR [SECONDS]]. Builds with clang into BUILD_DIR/fuzz and shares three times
# SECONDS among the targets, each from its corpus in tests/fuzz/corpus. New inputs stay in the build directory; a crash leaves its input there. Last line: "N passed, N failed".
build=${1:-build}
seconds=${2:-30}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
mkdir -p "$build/fuzz" || exit 1
out=$(cd "$build/fuzz" && pwd) || exit 1
fail() {
    echo "fuzz: $1"
    echo "0 passed, 1 failed"
    exit 1
}

clang=$(command -v clang-14 || command -v clang) || clang=
probe=$out/probe.c
echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }' > "$probe"
works() { [ -n "$clang" ] && "$clang" -fsanitize=fuzzer,address,undefined "$probe" -o "$out/probe" > "$out/probe.log" 2>&1; }
if ! works; then
    { apt-get update -qq && apt-get install -y -qq clang-14 libclang-rt-14-dev; } > "$out/install.log" 2>&1
    clang=$(command -v clang-14 || command -v clang) || clang=
    works || fail "no clang with libFuzzer: install clang-14 and libclang-rt-14-dev (see $out/probe.log)"
fi

core=$(cd "$build" && pwd)/release/libstele_core.a
[ -f "$core" ] || fail "no $core: make build"
if [ ! -f "$out/build.ninja" ] || ! grep -q "^STELE_CORE:[A-Z]*=$core\$" "$out/CMakeCache.txt"; then
    cmake -G Ninja -S "$here" -B "$out" -DCMAKE_C_COMPILER="$clang" -DSTELE_CORE="$core" > "$out/cmake.log" 2>&1 || fail "cmake failed: $out/cmake.log"
fi
cmake --build "$out" > "$out/build.log" 2>&1 || { tail -30 "$out/build.log"; fail "the build failed: $out/build.log"; }

passed=0
failed=0
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
each=$((seconds * 3 / 4 + 1))
for target in fuzz_sql fuzz_csv fuzz_db fuzz_files; do
    seeds=$here/corpus/${target#fuzz_}
    mkdir -p "$out/corpus/$target"
    dict=
    [ -f "$here/${target#fuzz_}.dict" ] && dict=-dict=$here/${target#fuzz_}.dict
    # shellcheck disable=SC2086
    if (cd "$out" && "./$target" -max_total_time="$each" -timeout=300 -rss_limit_mb=2048 -max_len=4096 -len_control=0 -print_final_stats=1 $dict \
        -artifact_prefix="$out/$target-" "corpus/$target" "$seeds") > "$out/$target.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $target ($(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log") runs)"
    else
        failed=$((failed + 1))
        echo "FAIL $target: $out/$target.log"
        grep -E -m 12 'ERROR|SUMMARY|runtime error|setup failed|Test unit|^ *#[0-9]' "$out/$target.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
