#!/bin/sh
# Debian packages of a build: stele (the shell), libstele0 and libstele-dev, for the distribution that this is (Debian 12
# or Ubuntu 24.04): dpkg-shlibdeps names what they depend on as it is called here. The same commit gives the same bytes.
# $1: the build, $2: where the packages go.
set -eu
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(realpath "$(dirname "$0")/..")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CMakeLists.txt")}"
export SOURCE_DATE_EPOCH
umask 022

version=$(sed -n 's/^#define STELE_VERSION "\(.*\)"/\1/p' "$root/include/stele/stele.h")
. /etc/os-release
full="$version-1~$ID$VERSION_ID"
arch=$(dpkg --print-architecture)
cmake -U 'CMAKE_INSTALL_*DIR' -DCMAKE_INSTALL_PREFIX=/usr "$build" >/dev/null

# depends PACKAGE FILE: what a program or library needs of other packages
depends() {
    mkdir -p "$stage/shlibdeps/debian"
    printf 'Source: stele\n\nPackage: %s\nArchitecture: any\n' "$1" >"$stage/shlibdeps/debian/control"
    (cd "$stage/shlibdeps" && dpkg-shlibdeps -O -e"$2" 2>/dev/null) | sed 's/^shlibs:Depends=//'
}

# package NAME SECTION MULTI-ARCH DEPENDS SHORT LONG SUGGESTS: from what is staged in $stage/NAME
package() {
    top=$stage/$1 doc=$stage/$1/usr/share/doc/$1
    mkdir -p "$doc" "$top/DEBIAN"
    {
        printf 'Upstream-Name: stele\n\nFiles: *\nLicense: Apache-2.0\n /usr/share/common-licenses/Apache-2.0 has its text.\n\n'
        printf 'Files: third_party/pg_query/*\nLicense: BSD-3-clause and PostgreSQL\n'
        sed 's/^$/./; s/^/ /' "$root/third_party/pg_query/LICENSE" "$root/third_party/pg_query/LICENSE.postgresql"
    } >"$doc/copyright"
    printf 'stele (%s) stable; urgency=medium\n\n  * See docs/STATUS.md of the sources.\n\n -- The Stele developers <stele@localhost>  %s\n' \
        "$full" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
    find "$top/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
    cat >"$top/DEBIAN/control" <<EOF
Package: $1
Source: stele
Version: $full
Architecture: $arch
Maintainer: The Stele developers <stele@localhost>
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$top" | cut -f1)
Depends: $4${7:+
Suggests: $7}
Section: $2
Priority: optional
Multi-Arch: $3
Description: $5
$6
EOF
    (cd "$top" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$top/DEBIAN/md5sums"
    find "$top" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --threads-max=1 -Zxz -z2 --build "$top" "$out/$1_${full}_$arch.deb" >/dev/null
    echo "$out/$1_${full}_$arch.deb"
}

for name in stele libstele0 libstele-dev; do
    DESTDIR=$stage/$name cmake --install "$build" --component $name >/dev/null
done
libdir=$stage/libstele0/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
strip --strip-unneeded --remove-section=.comment "$stage/stele/usr/bin/stele" "$libdir/libstele.so.$version"
strip --strip-debug --enable-deterministic-archives "$stage/libstele-dev${libdir#"$stage/libstele0"}/libstele.a"
mkdir -p "$stage/libstele0/DEBIAN" # what dpkg-shlibdeps of programs that link it reads; and the linker's cache
echo "libstele 0 libstele0 (>= $version)" >"$stage/libstele0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$stage/libstele0/DEBIAN/triggers"

suggests="tzdata, gcc | c-compiler, ocl-icd-libopencl1" # time zones; devices: compiled queries on the CPU, OpenCL
long=" Stele keeps tables in compressed columns in memory, speaks PostgreSQL's dialect,
 and runs analytics on all cores or on GPUs, and many calls of a procedure as
 one bulk, in parallel."
package stele database foreign "$(depends stele "$stage/stele/usr/bin/stele")" \
    "in-memory SQL database" "$long
 .
 This package has the shell." "$suggests"
package libstele0 libs same "$(depends libstele0 "$libdir/libstele.so.$version")" \
    "in-memory SQL database (library)" "$long
 .
 This package has the library that programs embed." "$suggests"
package libstele-dev libdevel same \
    "libstele0 (= $full), libzstd-dev, zlib1g-dev, liblz4-dev, libbrotli-dev, libpcre2-dev, libutf8proc-dev" \
    "in-memory SQL database (development files)" "$long
 .
 This package has the header, the static library, and files for pkg-config and
 CMake."
