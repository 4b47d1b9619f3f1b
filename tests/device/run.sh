#!/bin/bash
# The tests of a machine with a GPU, in under ten minutes: the backend's own tests, the SQL corpus, TPC-H with all segments on the device, faults,
# bulks of calls, compute-sanitizer. A part that fails or runs out of time does not stop the next one. OUT gets a log per part; a table and the line
# "N passed, N failed" come last. Needs no network.
usage="usage: tests/device/run.sh BUILD OUT [options]
  BUILD            folder with stele, slt, kernels, stele-bench, bulk_oracle and tests/ (cmake and ninja build them when they are missing and can be built)
  OUT              folder for logs (made)
  --device ID      cuda:0
  --jobs N         processes of the corpus at a time (14)
  --python FILE    python; tpchgen-cli stands beside it (python3). Without tpchgen-cli there is no TPC-H unless DATA has it
  --data DIR       folder of tpch/sf1 and tpch/sf0.01, each with .tbl files and an empty file .complete (BUILD)
  --scale S        of the answers: 1 or 0.01 (1)
  --parts LIST     of unit,corpus,restarts,tpch,faults,bulk,sanitizer (all)
  --seconds N      for everything (570): what is left then is not run and counts as failed
Needs an NVIDIA driver with NVRTC and, for parts that say so when it is missing, compute-sanitizer, tpchgen-cli. Building needs what README.md says."
set -u
device=cuda:0 jobs=14 python=python3 data='' scale=1 parts=unit,corpus,restarts,tpch,faults,bulk,sanitizer seconds=570
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
build=$1 out=$2
shift 2
while [ $# -gt 0 ]; do
    case $1 in
    --device|--jobs|--python|--data|--scale|--parts|--seconds) ;;
    *) echo "$1: no such option" >&2; echo "$usage" >&2; exit 2 ;;
    esac
    [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; }
    printf -v "${1#--}" %s "$2"
    shift 2
done
build=$(realpath -m "$build") out=$(realpath -m "$out") data=$(realpath -m "${data:-$build}")
case $python in */*) python=$(realpath -ms "$python") ;; *) python=$(command -v "$python") || python='' ;; esac
cd "$(dirname "$0")/../.." || exit 2
mkdir -p "$out" "$data/tpch" || exit 1
if [ ! -x "$build/stele" ] || [ ! -x "$build/slt" ]; then
    command -v cmake >/dev/null && command -v ninja >/dev/null || { echo "$build has no stele and slt, and there is no cmake with ninja to build them" >&2; exit 1; }
    { cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release && ninja -C "$build" all cuda_smoke; } >"$out/build.log" 2>&1 ||
        { tail -20 "$out/build.log" >&2; exit 1; }
fi
export STELE_CACHE_DIR=$out/code POCL_CACHE_DIR=$out/pocl
mkdir -p -m 700 "$STELE_CACHE_DIR" "$POCL_CACHE_DIR"
passed=0 failed=0
: >"$out/table.txt"

# row NAME PASSED FAILED SECONDS NOTE
row() {
    passed=$((passed + $2)) failed=$((failed + $3))
    printf '%-34s %6d passed %5d failed %6d s  %s\n' "$1" "$2" "$3" "$4" "$5" | tee -a "$out/table.txt"
}
# part NAME SECONDS COMMAND...: output to OUT/NAME.log; all its lines "N passed, N failed" are added up (without one: the exit status counts).
part() {
    local name=$1 most=$2 began=$SECONDS rc ok bad note='' log="$out/$1.log"
    shift 2
    [ "$most" -le $((seconds - SECONDS)) ] || most=$((seconds - SECONDS))
    if [ "$most" -lt 5 ]; then
        row "$name" 0 1 0 "not run: no time left"
        return
    fi
    timeout --kill-after=10 "$most" "$@" >"$log" 2>&1
    rc=$?
    read -r ok bad <<<"$(awk '/^[0-9]+ passed, [0-9]+ failed$/ {a += $1; b += $3; n++} END {print n ? a : -1, b + 0}' "$log")"
    if [ $rc = 77 ]; then
        ok=0 bad=0 note="$(grep -m1 skipped "$log")"
    elif [ "$ok" -lt 0 ]; then
        ok=$((rc == 0)) bad=$((rc != 0))
    elif [ $rc != 0 ] && [ "$bad" = 0 ]; then
        bad=1
    fi
    [ -n "$note" ] || note=$(grep -m1 '^skipped' "$log")
    case $rc in 124|137) note="stopped after $most s" ;; esac
    [ "$bad" = 0 ] || note="$note $log"
    row "$name" "$ok" "$bad" $((SECONDS - began)) "$note"
}
wanted() { case ,$parts, in *,$1,*) return 0 ;; esac; return 1; }
# cmocka's tests, counted.
unit() {
    "$1" 2>&1 | tee "$out/unit.tmp"
    local rc=${PIPESTATUS[0]} ok bad
    ok=$(grep -c '^\[       OK \]' "$out/unit.tmp") bad=$(grep '^\[  FAILED  \] [a-z]' "$out/unit.tmp" | sort -u | wc -l)
    rm -f "$out/unit.tmp"
    [ "$rc" != 0 ] && [ "$bad" = 0 ] && bad=1
    echo "$ok passed, $bad failed"
    return "$rc"
}
# corpus FOLDER SETTING=VALUE...: every file a process, `jobs` at a time. A process that dies is one failure.
corpus() {
    local folder=$1 sets='' s
    shift
    for s in executor=compiled "device=$device" device_wait=on "$@"; do sets="$sets --set $s"; done
    find "$folder" -name '*.test' -printf '%s %p\n' | sort -rn | cut -d' ' -f2 |
        xargs -P "$jobs" -I{} sh -c "timeout 240 '$build/slt' $sets {} >'$out/slt.'\$\$ 2>&1; rc=\$?; cat '$out/slt.'\$\$
            tail -1 '$out/slt.'\$\$ | grep -q 'passed, ' || { echo \"{}: ended with \$rc\"; echo '0 passed, 1 failed'; }; rm -f '$out/slt.'\$\$"
}
tables() { # FILE: what fills TPC-H's tables at scale 0.01
    { cat bench/tpch/schema.sql
      for t in region nation part supplier partsupp customer orders lineitem; do echo "copy $t from '$data/tpch/sf0.01/$t.tbl';"; done; } >"$1"
}
generate() { # SCALE
    [ -e "$data/tpch/sf$1/.complete" ] && return 0
    [ -n "$python" ] && "$python" -c "
import sys
sys.path.insert(0, 'bench/tpch')
import tpch
tpch.generate('$data/tpch/sf$1', '$1', sys.executable)" >>"$out/generate.log" 2>&1
}
sanitize() { # TOOL QUERY...: a line "N passed, N failed"
    local tool=$1 n log="$out/sanitize-$1.log"
    shift
    tables "$out/sanitize-$tool.sql"
    echo "set executor = compiled; set device = '$device'; set device_wait = on; set device_strict = on;" >>"$out/sanitize-$tool.sql"
    for n in "$@"; do { cat "bench/tpch/queries/q$n.sql"; echo ';'; } >>"$out/sanitize-$tool.sql"; done
    mkdir -p -m 700 "$STELE_CACHE_DIR/$tool"
    if STELE_CACHE_DIR=$STELE_CACHE_DIR/$tool compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/stele" -v ON_ERROR_STOP=1 -f "$out/sanitize-$tool.sql" >"$log" 2>&1 &&
        grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log"; then
        echo '1 passed, 0 failed'
    else
        echo "$tool: $(grep -m1 'SUMMARY\|not supported\|unable to\|failed to init\|could not\|^ERROR' "$log") ($log)"
        echo '0 passed, 1 failed'
    fi
}
# Files of bulks and procedures for this device, some of which name one themselves; `strict`: every query and every call in them has a kernel, so that the virtual machine need not take over.
bulk_files() {
    local f name
    rm -rf "$out/bulk" && mkdir -p "$out/bulk/strict" "$out/bulk/other" || return
    for f in tests/sql/bulk/*.test tests/sql/pl/*.test; do
        name=${f##*/}
        case " bulk_call counts first merge queue queue_wrong spread together " in
        *" ${name%.test} "*) sed "s/device = 'cpu'/device = '$device'/g" "$f" >"$out/bulk/strict/$name" ;;
        *) sed "s/device = 'cpu'/device = '$device'/g" "$f" >"$out/bulk/other/$name" ;;
        esac
    done
}
# bulk_oracle SECONDS: bulks against calls one by one, several kinds of databases at a time. Each says "N passed, N failed".
bulk_oracle() {
    local on="set executor = 'compiled'; set device = '$device'; set device_wait = on" k=0 kind
    local all="$on; set bulk_release = 'statement'"
    for kind in "$on|--seed 1" "$on|--seed 100000" "$on|--seed 1 --big 1500" "$on|--seed 31 --big 10000 --rounds 1" "$all|--seed 2" "$all|--seed 5 --calm --big 800"; do
        k=$((k + 1))
        # shellcheck disable=SC2086 # options
        "$python" tests/bulk/oracle.py --build "$out" --driver "$build/bulk_oracle" --reduce 0 --timeout 120 --seconds "$1" ${kind#*|} --set "${kind%%|*}" >"$out/oracle.$k" 2>&1 &
    done
    wait
    for k in 1 2 3 4 5 6; do
        cat "$out/oracle.$k"
        tail -1 "$out/oracle.$k" | grep -q ' passed, ' || echo '0 passed, 1 failed'
    done
}
transactions() {
    "$python" -c "
import os, sys
sys.path.insert(0, 'tests')
import run_all
run_all.oltp('$build', dict(os.environ), '$device', run_all.ON_HOST[1:])
print(f'{run_all.PASSED} passed, {run_all.FAILED} failed')"
}
sanitize_bulk() { # TOOL: calls that meet, under locks, in queues and in loops that warps share
    local tool=$1 log="$out/sanitize-bulk-$1.log"
    mkdir -p -m 700 "$STELE_CACHE_DIR/bulk-$tool"
    if STELE_CACHE_DIR=$STELE_CACHE_DIR/bulk-$tool compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/slt" --set executor=compiled --set "device=$device" --set device_wait=on --set device_strict=on \
            "$out"/bulk/strict/{first,together,queue,spread}.test >"$log" 2>&1 && grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log"; then
        echo '1 passed, 0 failed'
    else
        echo "$tool: $(grep -m1 'SUMMARY\|not supported\|unable to\|failed to init\|could not\|^ERROR' "$log") ($log)"
        echo '0 passed, 1 failed'
    fi
}
export -f unit corpus tables sanitize bulk_files bulk_oracle transactions sanitize_bulk
export build out data device jobs python

"$build/stele" devices >"$out/devices.txt" 2>&1
cat "$out/devices.txt"
state=$("$build/stele" --csv -c 'show devices' 2>/dev/null | grep "^$device,")
case $state in *,ready,*) ;; *) echo "device $device is not ready: ${state:-not listed}"; row "$device is ready" 0 1 0 "$state" ;; esac
if wanted unit; then
    for t in test_cuda test_nvrtc test_dev; do
        if [ -x "$build/tests/$t" ]; then part "$t" 120 bash -c "unit '$build/tests/$t'"; else row "$t" 0 0 0 "skipped: not built"; fi
    done
    if [ -x "$build/cuda_smoke" ] && [ "${device#cuda:}" != "$device" ]; then part cuda_smoke 60 "$build/cuda_smoke" "${device#cuda:}"; else row cuda_smoke 0 0 0 "skipped: not built"; fi
fi
wanted corpus && part corpus 240 bash -c 'corpus tests/sql'
wanted restarts && part "corpus-restarts" 120 bash -c 'corpus tests/sql device_initial_rows=1'
if wanted tpch; then
    if generate "$scale"; then
        part "tpch-sf$scale" 240 "$python" tests/tpch/check.py --build "$data" --stele "$build/stele" --scale "$scale" --devices "$device" --executors compiled,kernel,pipelined,interpreted
    else
        row "tpch-sf$scale" 0 0 0 "skipped: no data and no tpchgen-cli beside $python"
    fi
fi
if wanted bulk; then
    part bulk-sql 150 bash -c 'bulk_files && corpus "$out/bulk/strict" device_strict=on && corpus "$out/bulk/other"'
    for t in test_rank_device test_device_copy; do
        if [ -x "$build/tests/$t" ]; then part "$t-$device" 60 "$build/tests/$t" check "${device/#cpu/host}"; else row "$t-$device" 0 0 0 "skipped: not built"; fi
    done
    if [ -n "$python" ] && [ -x "$build/bulk_oracle" ]; then part bulk-oracle 150 bash -c 'bulk_oracle 60'; else row bulk-oracle 0 0 0 "skipped: no python, or bulk_oracle is not built"; fi
    if [ -n "$python" ] && [ -x "$build/stele-bench" ]; then part transactions 180 bash -c transactions; else row transactions 0 0 0 "skipped: no python, or stele-bench is not built"; fi
fi
tpch=yes
if wanted faults || wanted sanitizer; then
    if ! generate 0.01; then
        row "faults, sanitizer" 0 0 0 "skipped: no data and no tpchgen-cli beside $python"
        tpch=''
    fi
fi
if wanted faults && [ -n "$tpch" ]; then
    tables "$out/setup.sql"
    if [ -x "$build/kernels" ]; then
        part faults 120 "$build/kernels" faults "$device" "$out/setup.sql" bench/tpch/queries/q0[36].sql bench/tpch/queries/q13.sql bench/tpch/queries/q18.sql
    else
        row faults 0 0 0 "skipped: $build has no kernels"
    fi
fi
if wanted sanitizer; then
    if command -v compute-sanitizer >/dev/null; then
        [ -n "$tpch" ] && part sanitizer 120 bash -c 'sanitize memcheck 01 03 13 18 21 & sanitize racecheck 01 13 18 & sanitize initcheck 03 13 18 & wait'
        part bulk-sanitizer 150 bash -c 'bulk_files && { sanitize_bulk memcheck & sanitize_bulk racecheck & sanitize_bulk synccheck & wait; }'
    else
        row compute-sanitizer 0 0 0 "skipped: not on PATH"
    fi
fi
echo
cat "$out/table.txt"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
