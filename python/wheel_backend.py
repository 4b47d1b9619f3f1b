"""Builds the wheel (PEP 517), with libstele inside, and needs nothing but Python and what builds Stele.

STELE_LIBRARY names a library to take instead of building one. Wheels are the same bytes whenever they are built.
"""
import base64
import glob
import hashlib
import io
import os
import re
import subprocess
import sysconfig
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SUMMARY = "In-memory SQL database: analytics and bulks of transactions"


def _version():
    with open(os.path.join(ROOT, "include", "stele", "stele.h"), encoding="utf-8") as f:
        return re.search(r'^#define STELE_VERSION "(.*)"', f.read(), re.M).group(1)


def _library():
    given = os.environ.get("STELE_LIBRARY")
    if given:
        return given
    build = os.path.join(ROOT, "build", "release")
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release"], check=True)
    subprocess.run(["ninja", "-C", build, "stele_shared"], check=True)
    return os.path.join(build, "libstele.so.0")


def _metadata():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        text = f.read()
    extras = "".join(f"Provides-Extra: {extra}\n" + "".join(f"Requires-Dist: {n} ; extra == '{extra}'\n" for n in names)
                     for extra, names in (("pandas", ("pandas", "pyarrow")), ("polars", ("polars",))))
    return (f"Metadata-Version: 2.1\nName: stele\nVersion: {_version()}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
            f"Requires-Python: >=3.9\n{extras}Description-Content-Type: text/markdown\n\n{text}")


def _tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _write(directory, files):
    """files: name in the wheel -> bytes."""
    info = f"stele-{_version()}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
    files = {**files, f"{info}/METADATA": _metadata().encode(), f"{info}/WHEEL": wheel.encode()}
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        files[f"{info}/LICENSE"] = f.read()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = f"stele-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(os.path.join(directory, path), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            z.writestr(entry, data)
    return path


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What pip asks first; without it pip would build a wheel for that."""
    info = f"stele-{_version()}.dist-info"
    os.mkdir(os.path.join(metadata_directory, info))
    with open(os.path.join(metadata_directory, info, "METADATA"), "w", encoding="utf-8") as f:
        f.write(_metadata())
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {}
    for path in sorted(glob.glob(os.path.join(HERE, "stele", "*.py")) + [os.path.join(HERE, "stele", "py.typed")]):
        with open(path, "rb") as f:
            files["stele/" + os.path.basename(path)] = f.read()
    with open(_library(), "rb") as f:
        files["stele/libstele.so.0"] = f.read()
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package stays where it is; the library is found by a link beside it."""
    link = os.path.join(HERE, "stele", "libstele.so.0")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.abspath(_library()), link)
    return _write(wheel_directory, {"stele.pth": (HERE + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    """What git has of the tree."""
    top = f"stele-{_version()}"
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout.decode()
    path = top + ".tar.gz"
    with tarfile.open(os.path.join(sdist_directory, path), "w:gz", format=tarfile.PAX_FORMAT) as t:
        for name in filter(None, names.split("\0")):
            t.add(os.path.join(ROOT, name), f"{top}/{name}", recursive=False)
        data = _metadata().encode()
        entry = tarfile.TarInfo(f"{top}/PKG-INFO")
        entry.size = len(data)
        t.addfile(entry, io.BytesIO(data))
    return path
