#!/bin/bash
# The benchmarks of a machine with a GPU: TPC-H against DuckDB, then stele-bench virginian, join, gpl, latency. A part that fails or runs out of time
# does not stop the next one. OUT gets a log and a JSON per part, the machine's profile, and summary.txt, which is printed last.
usage="usage: bench/device/run.sh BUILD OUT [options]
  BUILD            folder with stele and stele-bench
  OUT              folder for results (made)
  --device ID      cuda:0
  --threads N      16
  --scale S        scale factor of TPC-H (10)
  --sf100          TPC-H at scale 100 too
  --data DIR       where TPC-H data is or will be generated (BUILD/bench-data)
  --python FILE    python with duckdb; tpchgen-cli stands beside it (python3)
  --parts LIST     of calibrate,tpch,virginian,join,gpl,latency (all)
  --tpch-s, --virginian-s, --join-s, --gpl-s SECONDS     time of each part (600, 300, 300, 300); tpch: of each scale, data included
  --rows LIST      of virginian (8M,100M)
  --sizes LIST     of join (1M,4M,16M,64M,256M,1G)"
set -u
device=cuda:0 threads=16 scale=10 sf100='' data='' python=python3 parts=calibrate,tpch,virginian,join,gpl,latency
tpch_s=600 virginian_s=300 join_s=300 gpl_s=300 rows=8M,100M sizes=1M,4M,16M,64M,256M,1G
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
build=$1 out=$2
shift 2
while [ $# -gt 0 ]; do
    case $1 in
    --sf100) sf100=1; shift; continue ;;
    --device|--threads|--scale|--data|--python|--parts|--tpch-s|--virginian-s|--join-s|--gpl-s|--rows|--sizes) ;;
    *) echo "$1: no such option" >&2; echo "$usage" >&2; exit 2 ;;
    esac
    [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; }
    name=${1#--}
    printf -v "${name//-/_}" %s "$2"
    shift 2
done
build=$(realpath -m "$build") out=$(realpath -m "$out") data=$(realpath -m "${data:-$build/bench-data}")
case $python in */*) python=$(realpath -ms "$python") ;; *) python=$(command -v "$python") || { echo "no python: --python" >&2; exit 1; } ;; esac
cd "$(dirname "$0")/../.." || exit 2
mkdir -p "$out" "$data" || exit 1
for program in stele stele-bench; do
    [ -x "$build/$program" ] || { echo "$build has no $program" >&2; exit 1; }
done
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
common=(--device "$device" --threads "$threads" --commit "$commit" --profile "$out/profile")
: >"$out/parts.txt"

# part NAME SECONDS COMMAND...: output to OUT/NAME.log; the verdict goes to parts.txt.
part() {
    local name=$1 seconds=$2 began=$SECONDS rc
    shift 2
    echo "== $name ($seconds s at most)"
    timeout --kill-after=20 "$seconds" "$@" >"$out/$name.log" 2>&1
    rc=$?
    case $rc in
    0) verdict=ok ;;
    124|137) verdict="stopped after $seconds s" ;;
    *) verdict="failed, exit status $rc: $(grep -v '^ *$' "$out/$name.log" | tail -1 | cut -c1-160)" ;;
    esac
    echo "$name: $((SECONDS - began)) s, $verdict" | tee -a "$out/parts.txt"
}
wanted() { case ,$parts, in *,$1,*) return 0 ;; esac; return 1; }
# A benchmark is told to end before it is ended.
budget() { echo $(($1 * 9 / 10)); }

tpch() { # SCALE
    part "tpch-sf$1" "$tpch_s" "$python" bench/tpch/compare.py --build "$build" --data "$data/sf$1" --scale "$1" --threads "$threads" --device "$device" --out "$out/tpch-sf$1.json"
}

{ uname -srm; lscpu | grep -E 'Model name|^CPU\(s\)|NUMA node\(s\)'; grep MemTotal /proc/meminfo
    command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv; } >"$out/hardware.txt" 2>&1
wanted calibrate && part calibrate 120 env STELE_PROFILE="$out/profile" sh -c '"$0" calibrate cpu && "$0" calibrate "$1"' "$build/stele" "$device"
wanted tpch && tpch "$scale"
wanted tpch && [ -n "$sf100" ] && [ "$scale" != 100 ] && tpch 100
wanted virginian && part virginian "$virginian_s" "$build/stele-bench" virginian --rows "$rows" --budget "$(budget "$virginian_s")" --json "$out/virginian.json" "${common[@]}"
wanted join && part join "$join_s" "$build/stele-bench" join --sizes "$sizes" --budget "$(budget "$join_s")" --json "$out/join.json" "${common[@]}"
if wanted gpl || wanted latency; then
    [ -e "$data/sf$scale/.complete" ] || part data "$tpch_s" "$python" -c 'import sys; sys.path.insert(0, "bench/tpch"); import tpch; tpch.generate(sys.argv[1], sys.argv[2], sys.executable)' "$data/sf$scale" "$scale"
    wanted gpl && part gpl "$gpl_s" "$build/stele-bench" gpl --data "$data/sf$scale" --budget "$(budget "$gpl_s")" --json "$out/gpl.json" "${common[@]}"
    wanted latency && part latency "$gpl_s" "$build/stele-bench" latency --data "$data/sf$scale" --runs 21 --json "$out/latency.json" "${common[@]}"
fi
"$python" bench/device/summary.py "$out" | tee "$out/summary.txt"
! grep -qv ', ok$' "$out/parts.txt"
