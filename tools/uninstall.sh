#!/bin/sh
# Removes what `make install` installs: the same files are installed into an empty directory, which says their names.
# $1: the build, $2: DESTDIR, $3: PREFIX.
set -eu
build=$1 destdir=$2 prefix=$3
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cmake -U 'CMAKE_INSTALL_*DIR' -DCMAKE_INSTALL_PREFIX="$prefix" "$build" >/dev/null
DESTDIR=$stage cmake --install "$build" >/dev/null
(cd "$stage" && find . ! -type d) | while read -r file; do
    rm -f "$destdir/$file"
done
# directories that are Stele's own
(cd "$stage" && find . -depth -type d -name stele) | while read -r directory; do
    [ ! -d "$destdir/$directory" ] || rmdir --ignore-fail-on-non-empty "$destdir/$directory"
done
