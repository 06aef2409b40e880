"""Fails if a package of a release lacks a licence, or the bill of materials is none: licensed.py FOLDER."""

import json
import pathlib
import subprocess
import sys
import tarfile
import zipfile

OURS = ("LICENSE-APACHE", "LICENSE-MIT")
OTHERS = "THIRD-PARTY.md"


def names(package: pathlib.Path) -> list[str]:
    """The files of a package."""
    if package.suffix == ".whl":
        return zipfile.ZipFile(package).namelist()
    if package.suffix == ".deb":
        listed = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True)
        return [line.split()[5] for line in listed.stdout.splitlines()]
    with tarfile.open(package) as archive:
        return archive.getnames()


def main(folder: pathlib.Path) -> None:
    packages = [path for path in sorted(folder.iterdir()) if path.suffix in (".whl", ".deb", ".tgz", ".gz", ".crate")]
    for package in packages:
        # Debian's has ours in one file. A package of source has nothing of others.
        ours = ("copyright",) if package.suffix == ".deb" else OURS
        wanted = ours if package.suffix == ".crate" else (*ours, OTHERS)
        there = {name.rsplit("/", 1)[-1] for name in names(package)}
        missing = [name for name in wanted if name not in there]
        if missing:
            sys.exit(f"{package.name} lacks {', '.join(missing)}")
    for bill in folder.glob("*.cdx.json"):
        parts = json.loads(bill.read_text())["components"]
        if len(parts) < 100:
            sys.exit(f"{bill.name} lists {len(parts)} components")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
