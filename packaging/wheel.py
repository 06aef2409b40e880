"""Makes the wheel `gadgetry-cli`, and has the wheel `gadgetry` in FOLDER depend on it: wheel.py STAGED VERSION PLATFORM FOLDER LICENCES.

`gadgetry-cli` has the program and nothing of Python; STAGED is the folder of the archive. LICENCES is a folder with those of `gadgetry`. The same files give the same bytes. maturin
would build the program again.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile


def main(staged: pathlib.Path, version: str, platform: str, folder: pathlib.Path, licences_of_library: pathlib.Path) -> None:
    info = f"gadgetry_cli-{version}.dist-info"
    licences = [path.name for path in sorted(staged.iterdir()) if path.name.startswith(("LICENSE-", "THIRD-PARTY"))]
    metadata = [
        "Metadata-Version: 2.4",
        "Name: gadgetry-cli",
        f"Version: {version}",
        "Summary: The command gadgetry: tool calling for any text model",
        "License-Expression: MIT OR Apache-2.0",
        *(f"License-File: {name}" for name in licences),
        "Description-Content-Type: text/markdown",
        "",
        "The program `gadgetry`, for `pip install gadgetry` and `pipx install gadgetry-cli`.",
        "",
    ]
    wheel = ["Wheel-Version: 1.0", "Generator: gadgetry", "Root-Is-Purelib: false"]
    tags = [f"Tag: py3-none-{tag}" for tag in platform.split(".")]
    files = {
        f"gadgetry_cli-{version}.data/scripts/gadgetry": (staged / "gadgetry").read_bytes(),
        **{f"{info}/licenses/{name}": (staged / name).read_bytes() for name in licences},
        f"{info}/METADATA": "\n".join(metadata).encode(),
        f"{info}/WHEEL": "\n".join([*wheel, *tags, ""]).encode(),
    }
    write(folder / f"gadgetry_cli-{version}-py3-none-{platform}.whl", info, files)
    for library in folder.glob(f"gadgetry-{version}-*.whl"):
        depend(library, f"gadgetry-{version}.dist-info", f"gadgetry-cli=={version}", licences_of_library)


def depend(wheel: pathlib.Path, info: str, requirement: str, licences: pathlib.Path) -> None:
    """Adds a dependency and licences to a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist() if not entry.is_dir()}
    metadata = f"{info}/METADATA"
    # An empty line ends the fields.
    fields, _, text = files[metadata].partition(b"\n\n")
    added = [f"Requires-Dist: {requirement}"]
    for path in sorted(licences.iterdir()):
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
        added.append(f"License-File: {path.name}")
    files[metadata] = b"\n".join([fields.rstrip(), *(field.encode() for field in added), b"", text])
    write(wheel, info, files)


def write(wheel: pathlib.Path, info: str, files: dict[str, bytes]) -> None:
    """Writes a wheel with the digests of its files."""
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items() if name != record]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            is_program = "/scripts/" in name or name.endswith(".so")
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


if __name__ == "__main__":
    given, number, system, place, licences = sys.argv[1:]
    main(pathlib.Path(given), number, system, pathlib.Path(place), pathlib.Path(licences))
