#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a release in this clone: notes, version, tag, and the files to publish. Publishes nothing.

usage: tools/release.py VERSION [--next VERSION] [--without sdist,wheel,deb] [--sign KEY]

The notes are the fragments of changelog.d (CONTRIBUTING.md). Two commits are made: the release,
which gets the tag vVERSION, and the next development version. dist/VERSION then holds the notes,
sdist, wheel, Debian package, the list of bundled libraries (CycloneDX), and SHA256SUMS with its
signature if a key of GnuPG is given, which signs the tag as well.
"""

import argparse
import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.dev(\d+))?")
PRODUCTS = ("sdist", "wheel", "deb")
# Where the version stands: a pattern around it, and how to write it there.
PLACES = {
    "tailrace/__init__.py": (r'^(__version__ = ")[^"]+', "{full}"),
    "CITATION.cff": (r"^(version: ).*", "{full}"),
    "codemeta.json": (r'^(  "version": ")[^"]+', "{full}"),
    "CMakeLists.txt": (r"^(project\(tailrace VERSION )[\d.]+", "{release}"),
    "packaging/conda/recipe.yaml": (r'^(  version: ")[^"]+', "{release}"),
    "README.md": (r"(\bversion )\d+\.\d+", "{minor}"),
}
TEXT_OF_CMAKE = r"^set\(tailrace_version_text .*\)$"


def run(*words: object) -> str:
    """Run a command and return what it prints; on failure print it and exit."""
    done = subprocess.run(
        [str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"tailrace: {' '.join(map(str, words[:3]))} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def parsed(text: str) -> tuple[int, int, int, float]:
    """Return the numbers of a version, by which versions are ordered, or exit."""
    found = VERSION.fullmatch(text)
    if not found:
        sys.exit(f"tailrace: {text} is not a version such as 0.2.0 or 0.3.0.dev0")
    *numbers, dev = found.groups()
    major, minor, patch = map(int, numbers)
    return major, minor, patch, float("inf") if dev is None else int(dev)


def current() -> str:
    """Return the version of the tree."""
    text = (ROOT / "tailrace/__init__.py").read_text()
    found = re.search(r'^__version__ = "(.*)"$', text, re.M)
    return found[1] if found else sys.exit("tailrace: tailrace/__init__.py has no __version__")


def check(version: str, following: str) -> None:
    """Exit unless the tree is clean and the versions ascend."""
    now = current()
    if parsed(version)[3] != float("inf"):
        sys.exit(f"tailrace: {version} is a development version; a release is such as 0.2.0")
    if not parsed(now) < parsed(version) < parsed(following):
        sys.exit(f"tailrace: versions must ascend: {now}, {version}, then {following}")
    if changed := run("git", "status", "--porcelain"):
        sys.exit(f"tailrace: commit or remove first:\n{changed}")
    if run("git", "tag", "--list", f"v{version}"):
        sys.exit(f"tailrace: there is a tag v{version}")


def write_version(version: str) -> None:
    """Write the version into each file that names it."""
    major, minor, patch, _ = parsed(version)
    values = {
        "full": version,
        "release": f"{major}.{minor}.{patch}",
        "minor": f"{major}.{minor}",
    }
    for name, (pattern, form) in PLACES.items():
        path = ROOT / name
        value = form.format(**values)
        text, count = re.subn(pattern, rf"\g<1>{value}", path.read_text(), count=1, flags=re.M)
        if count == 0:
            sys.exit(f"tailrace: {name} names no version")
        path.write_text(text)
    cmake = ROOT / "CMakeLists.txt"
    rest = version.removeprefix(values["release"])
    line = f"set(tailrace_version_text ${{PROJECT_VERSION}}{rest})"
    cmake.write_text(re.sub(TEXT_OF_CMAKE, lambda _: line, cmake.read_text(), flags=re.M))


def write_notes(version: str, date: str) -> str:
    """Move the fragments, and what CHANGELOG.md has under [Unreleased], to a section of the
    release; return its text.
    """
    path = ROOT / "CHANGELOG.md"
    python = sys.executable
    run(python, "-m", "towncrier", "build", "--yes", "--version", version, "--date", date)
    text = path.read_text()
    text, joined = re.subn(r"\n## \[Unreleased\]\n", "", text, count=1)
    head = f"## [{version}] - {date}\n"
    if head not in text:
        sys.exit(f"tailrace: towncrier wrote no section {head.strip()} into CHANGELOG.md")
    if joined:
        text = text.replace("No significant changes.\n", "", 1)
    text = re.sub(r"\n{3,}", "\n\n", text)
    path.write_text(text)
    section = text.partition(head)[2]
    return re.split(r"^## \[", section, maxsplit=1, flags=re.M)[0].strip() + "\n"


def make_products(version: str, without: set[str], folder: Path) -> None:
    """Make the files to publish, from the tree of the release."""
    if "sdist" not in without:
        run(sys.executable, "-m", "build", "--sdist", "--outdir", folder)
    if "wheel" not in without:
        run("make", "wheel")
        (wheel,) = (ROOT / "dist").glob(f"tailrace-{version}-*.whl")
        shutil.copy(wheel, folder)
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".cdx.json"):
                    (folder / f"{wheel.stem}.cdx.json").write_bytes(archive.read(name))
    if "deb" not in without:
        run("make", "deb")
        newest = max((ROOT / "build/deb").glob("tailrace_*.deb"), key=lambda p: p.stat().st_mtime)
        shutil.copy(newest, folder)


def write_sums(folder: Path, key: str | None) -> None:
    """Write SHA256SUMS, which `sha256sum -c` reads, and sign it."""
    lines = []
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(lines))
    if key:
        run("gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", sums)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("version")
    parser.add_argument("--next", help="the next development version [default: next minor, .dev0]")
    parser.add_argument("--without", default="", help=f"of {','.join(PRODUCTS)}")
    parser.add_argument("--sign", metavar="KEY", help="of GnuPG")
    given = parser.parse_args()
    major, minor, *_ = parsed(given.version)
    following = given.next or f"{major}.{minor + 1}.0.dev0"
    without = {word for word in given.without.split(",") if word}
    if unknown := without - set(PRODUCTS):
        sys.exit(f"tailrace: --without {min(unknown)}: the products are {', '.join(PRODUCTS)}")
    check(given.version, following)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    notes = write_notes(given.version, date)
    write_version(given.version)
    run("git", "commit", "-aqm", f"Version {given.version}")
    tag = ["--local-user", given.sign] if given.sign else ["--annotate"]
    run("git", "tag", *tag, f"v{given.version}", "-m", f"Version {given.version}")
    folder = ROOT / "dist" / given.version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "NOTES.md").write_text(notes)
    make_products(given.version, without, folder)
    metadata = {"version": given.version, "date": date, "commit": run("git", "rev-parse", "HEAD")}
    metadata["commit"] = metadata["commit"].strip()
    (folder / "release.json").write_text(json.dumps(metadata, indent=1) + "\n")
    write_sums(folder, given.sign)
    write_version(following)
    run("git", "commit", "-aqm", f"Version {following}")
    print(f"tailrace: v{given.version} is tagged, {folder.relative_to(ROOT)} holds its files")


if __name__ == "__main__":
    main()
