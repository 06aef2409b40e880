#!/bin/sh
# Installs the newest release of gadgetry, without other rights than yours. Releases have an archive for Linux on x86-64.
#
#   GADGETRY_URL      folder of the release (the newest one by default)
#   GADGETRY_BIN      folder for the program (~/.local/bin by default)
set -eu

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# A script that is cut off on its way does nothing: its last line calls this.
main() {
    url=${GADGETRY_URL:-@REPOSITORY@/releases/latest/download}
    bin=${GADGETRY_BIN:-$HOME/.local/bin}
    case "$bin" in
    /*) ;;
    *) bin=$PWD/$bin ;;
    esac

    case "$(uname -s)" in
    Linux) system=unknown-linux ;;
    Darwin) system=apple-darwin ;;
    *) fail "no release for $(uname -s): build it from source, see README.md" ;;
    esac
    case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    arm64 | aarch64) machine=aarch64 ;;
    *) fail "no release for $(uname -m): build it from source, see README.md" ;;
    esac

    # What begins with HTTPS stays there: no redirect leads to where anyone can change the file and its checksum.
    case "$url" in
    https://*) protocol='=https' ;;
    *) protocol='=http,https,file' ;;
    esac
    if command -v curl >/dev/null; then
        fetch() { curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --output "$2" "$1"; }
    elif command -v wget >/dev/null; then
        # It has no such option, so what it fetched is refused if a redirect led elsewhere.
        fetch() {
            wget -q -S -O "$2" "$1" 2>"$2.head" || return 1
            case "$url" in
            https://*)
                # That of BusyBox says so, and goes on.
                ! grep -q 'certificate validation not implemented' "$2.head" ||
                    fail "this wget does not check who answers: install curl, or another wget"
                ! grep -i '^[[:space:]]*location:[[:space:]]*[a-z][a-z0-9+.-]*:' "$2.head" |
                    grep -qiv '^[[:space:]]*location:[[:space:]]*https:'
                ;;
            esac
        }
    else
        fail "needs curl or wget"
    fi
    # The short options are those that BusyBox has, too.
    if command -v sha256sum >/dev/null; then
        check() { sha256sum -c "$1" >/dev/null 2>&1; }
    elif command -v shasum >/dev/null; then
        check() { shasum -a 256 -c "$1" >/dev/null 2>&1; }
    else
        fail "needs sha256sum or shasum"
    fi

    folder=$(mktemp -d)
    new=
    trap 'rm -rf "$folder" "$new"' EXIT
    trap 'exit 1' HUP INT TERM
    cd "$folder"
    fetch "$url/SHA256SUMS" SHA256SUMS || fail "no release at $url"
    # A static program of musl runs everywhere; one of glibc does where that is not older.
    archive=
    for target in "$machine-$system-musl" "$machine-$system-gnu" "$machine-$system"; do
        archive=$(sed -n "s/^[0-9a-f]*  \(gadgetry-[0-9][^ /]*-$target\.tar\.gz\)\$/\1/p" SHA256SUMS)
        [ -z "$archive" ] || break
    done
    [ -n "$archive" ] || fail "the release has no archive for $machine-$system"
    fetch "$url/$archive" "$archive" || fail "$archive cannot be fetched"
    grep " $archive\$" SHA256SUMS >sum
    check sum || fail "$archive is not the file that SHA256SUMS names; nothing was installed"
    tar -xzf "$archive"
    mkdir -p "$bin"
    [ ! -d "$bin/gadgetry" ] || fail "$bin/gadgetry is a folder; nothing was installed"
    # Renamed, so that a program that runs is never half of one. A name that is free: no link of another user leads elsewhere.
    new=$(mktemp "$bin/.gadgetry.XXXXXX")
    cp "${archive%.tar.gz}/gadgetry" "$new"
    chmod 755 "$new"
    version=$("$new" -V) || fail "$archive has no program that runs here; nothing was installed"
    mv "$new" "$bin/gadgetry"
    echo "installed $version as $bin/gadgetry"
    case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "add $bin to PATH: export PATH=\"$bin:\$PATH\"" ;;
    esac
}

main
