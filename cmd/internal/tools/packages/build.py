"""Packs binaries of a release for pip, npm and Debian: python3 build.py DIST VERSION

DIST has the binaries firstseen-OS-ARCH, and optionally man, completion, THIRD-PARTY.txt and the
unit, as release.sh makes them. The packages are written beside them. Two runs on the same files
write the same bytes: SOURCE_DATE_EPOCH is the time of all files in them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
STAMP = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))  # 1980, the first that zip knows
LEVEL = int(os.environ.get("PACKAGES_LEVEL", "9"))  # of compression; tests take 0

WHEELS = {
    "linux-amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin-arm64": "macosx_11_0_arm64",
}
NODES = {"linux-amd64": ("linux", "x64"), "linux-arm64": ("linux", "arm64"), "darwin-arm64": ("darwin", "arm64")}

Files = dict[str, tuple[bytes, int]]  # path in the package: content, mode


def wheel(out: Path, name: str, version: str, tag: str, files: Files, metadata: str, pure: bool) -> None:
    """Writes a wheel (PEP 427)."""
    info = f"{name}-{version}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = (metadata.encode(), 0o644)
    tags = "".join(f"Tag: py3-none-{t}\n" for t in tag.split("."))
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: firstseen\nRoot-Is-Purelib: {str(pure).lower()}\n{tags}".encode(), 0o644)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    record = ""
    for path, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    when = time.gmtime(max(STAMP, 315532800))[:6]
    with zipfile.ZipFile(out / f"{name}-{version}-py3-none-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as z:
        for path, (content, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr, entry.compress_type, entry.create_system = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED, 3
            z.writestr(entry, content, compresslevel=LEVEL)


def tar(files: Files, root: str = "") -> bytes:
    """Returns a tar of files and the directories that they are in."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as t:
        made: set[str] = set()
        for path, (content, mode) in sorted(files.items()):
            parts = path.split("/")[:-1]
            for n in range(1, len(parts) + 1):
                if root == "./" and (directory := "/".join(parts[:n])) not in made:
                    made.add(directory)
                    t.addfile(_entry(f"{root}{directory}/", 0, 0o755, tarfile.DIRTYPE))
            t.addfile(_entry(root + path, len(content), mode, tarfile.REGTYPE), io.BytesIO(content))
    return raw.getvalue()


def _entry(name: str, size: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime, entry.type = size, mode, STAMP, kind
    entry.uname = entry.gname = "root"
    return entry


def gz(content: bytes) -> bytes:
    return gzip.compress(content, LEVEL, mtime=0)


def python_wheels(dist: Path, version: str, binaries: dict[str, Path]) -> None:
    package = HERE / "python" / "firstseen"
    sources: Files = {f"firstseen/{f.name}": (f.read_bytes(), 0o644) for f in sorted(package.iterdir()) if f.suffix in (".py", ".typed")}
    metadata = head("firstseen", version, "Which of these URLs are new, and which may be fetched now? The program, and a client", "3.10")
    for platform, binary in binaries.items():
        files = sources | {f"firstseen-{version}.data/scripts/firstseen": (binary.read_bytes(), 0o755)}
        wheel(dist, "firstseen", version, WHEELS[platform], files, metadata + "\n" + (HERE / "python" / "README.md").read_text(), pure=False)
    scrapy = ROOT / "examples" / "scrapy"
    files = {f"firstseen_scrapy/{f.name}": (f.read_bytes(), 0o644) for f in sorted((scrapy / "firstseen_scrapy").glob("*.py"))}
    metadata = head("firstseen-scrapy", version, "A Scrapy scheduler and duplicate filter kept by firstseen: on disk, resumable after kill -9", "3.10")
    metadata += f"Requires-Dist: scrapy>=2.13,<3\nRequires-Dist: firstseen=={version}\n"
    wheel(dist, "firstseen_scrapy", version, "any", files, metadata + "\n" + (scrapy / "README.md").read_text(), pure=True)


def head(name: str, version: str, summary: str, python: str) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
        f"License-File: LICENSE\nRequires-Python: >={python}\nDescription-Content-Type: text/markdown\n"
    )


def npm(dist: Path, version: str, binaries: dict[str, Path]) -> None:
    licence = ((ROOT / "LICENSE").read_bytes(), 0o644)
    for platform, binary in binaries.items():
        system, processor = NODES[platform]
        about = {
            "name": f"@firstseen/{system}-{processor}", "version": version, "description": f"The program firstseen for {system} on {processor}",
            "license": "Apache-2.0", "os": [system], "cpu": [processor], "files": ["bin"],
        }  # fmt: skip
        pack(dist / f"firstseen-{system}-{processor}-{version}.tgz", about, {"bin/firstseen": (binary.read_bytes(), 0o755), "LICENSE": licence})
    about = json.loads((HERE / "node" / "package.json").read_text())
    about["version"] = version
    about["optionalDependencies"] = {f"@firstseen/{NODES[p][0]}-{NODES[p][1]}": version for p in binaries}
    files: Files = {f.name: (f.read_bytes(), 0o755 if f.name == "cli.mjs" else 0o644) for f in sorted((HERE / "node").iterdir()) if f.name != "package.json"}
    files["crawlee.mjs"] = ((ROOT / "examples" / "crawlee" / "frontier.mjs").read_bytes(), 0o644)
    pack(dist / f"firstseen-{version}.tgz", about, files | {"LICENSE": licence})


def pack(path: Path, about: dict[str, object], files: Files) -> None:
    files = files | {"package.json": (json.dumps(about, indent=2).encode() + b"\n", 0o644)}
    path.write_bytes(gz(tar(files, "package/")))


def debs(dist: Path, version: str, binaries: dict[str, Path]) -> None:
    for platform, binary in binaries.items():
        system, processor = platform.split("-")
        if system == "linux":
            deb(dist, version, processor, binary)


def deb(dist: Path, version: str, processor: str, binary: Path) -> None:
    deploy = ROOT / "cmd" / "firstseen" / "deploy"
    unit = (deploy / "firstseen.service").read_text().replace("/usr/local/bin/", "/usr/bin/")
    files: Files = {
        "usr/bin/firstseen": (binary.read_bytes(), 0o755),
        "usr/lib/systemd/system/firstseen.service": (unit.encode(), 0o644),
        "etc/firstseen/serve.conf": ((deploy / "serve.conf").read_bytes(), 0o644),
        "usr/share/doc/firstseen/copyright": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "usr/share/doc/firstseen/changelog.gz": (gz((ROOT / "CHANGELOG.md").read_bytes()), 0o644),
    }
    if (third := dist / "THIRD-PARTY.txt").exists():
        files["usr/share/doc/firstseen/THIRD-PARTY.txt.gz"] = (gz(third.read_bytes()), 0o644)
    for page in sorted((dist / "man").glob("*.1")):
        files[f"usr/share/man/man1/{page.name}.gz"] = (gz(page.read_bytes()), 0o644)
    for shell, place in {
        "bash": "bash-completion/completions/firstseen", "zsh": "zsh/vendor-completions/_firstseen", "fish": "fish/vendor_completions.d/firstseen.fish",
    }.items():  # fmt: skip
        if (script := dist / "completion" / f"firstseen.{shell}").exists():
            files[f"usr/share/{place}"] = (script.read_bytes(), 0o644)
    size = sum(len(c) for c, _ in files.values()) // 1024 + 1
    control = (
        f"Package: firstseen\nVersion: {version}\nArchitecture: {processor}\nMaintainer: The firstseen authors\nInstalled-Size: {size}\n"
        "Section: web\nPriority: optional\nHomepage: https://github.com/firstseen/firstseen\n"
        "Description: which of these URLs are new, and which may be fetched now\n"
        " One binary: duplicates in lists and logs of URLs, canonical forms, and a crawl\n frontier that many fetchers share.\n"
    )
    sums = "".join(f"{hashlib.md5(c).hexdigest()}  {p}\n" for p, (c, _) in sorted(files.items()))
    inner: Files = {"control": (control.encode(), 0o644), "md5sums": (sums.encode(), 0o644), "conffiles": (b"/etc/firstseen/serve.conf\n", 0o644)}
    members = {"debian-binary": b"2.0\n", "control.tar.gz": gz(tar(inner, "./")), "data.tar.gz": gz(tar(files, "./"))}
    with open(dist / f"firstseen_{version}_{processor}.deb", "wb") as f:
        f.write(b"!<arch>\n")
        for name, content in members.items():
            f.write(f"{name:<16}{STAMP:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2))


def main() -> None:
    dist, version = Path(sys.argv[1]), sys.argv[2].removeprefix("v")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"cannot pack version {version!r}; want three numbers, as 1.2.3")
    binaries = {p: dist / f"firstseen-{p}" for p in WHEELS if (dist / f"firstseen-{p}").exists()}
    if not binaries:
        sys.exit(f"cannot pack; there is no binary firstseen-OS-ARCH in {dist}")
    python_wheels(dist, version, binaries)
    npm(dist, version, binaries)
    debs(dist, version, binaries)


if __name__ == "__main__":
    main()
