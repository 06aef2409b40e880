//! Programs of Debian: unpacked, and not installed, because that needs rights, and an installed server would start with the system.

use std::fs;
use std::path::{Path, PathBuf};

use super::{there, word};
use crate::disk;
use crate::shell::{capture, command};

/// The one of this machine, or else that of Debian.
pub(super) fn haproxy(place: &Path, _: &str) -> Result<Vec<String>, String> {
    if there("haproxy", "-v").is_ok() {
        return Ok(vec!["haproxy".to_owned()]);
    }
    unpack(place, "haproxy")?;
    let path = format!("LD_LIBRARY_PATH={}", libraries(place).display());
    Ok(["env", &path, &word(&place.join("usr/sbin/haproxy"))]
        .map(str::to_owned)
        .to_vec())
}

/// A browser without a window: the one of this machine, or else that of Debian, as a script that starts it.
#[cfg(unix)]
pub(super) fn chromium(place: &Path, _: &str) -> Result<Vec<String>, String> {
    use std::os::unix::fs::PermissionsExt as _;

    if there("chromium", "--version").is_ok() {
        // Who starts it wants its path.
        let (path, _) = capture(&mut command("sh", &["-c", "command -v chromium"]))?;
        return Ok(vec![path.trim().to_owned()]);
    }
    unpack(place, "chromium-headless-shell")?;
    let libraries = libraries(place);
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{0}:{0}/pulseaudio' exec '{1}/usr/lib/chromium/chromium-headless-shell' \"$@\"\n",
        libraries.display(),
        place.display()
    );
    let path = place.join("chromium");
    let written = fs::write(&path, script)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(vec![word(&path)])
}

#[cfg(not(unix))]
pub(super) fn chromium(_: &Path, _: &str) -> Result<Vec<String>, String> {
    Err("there is no Debian here".to_owned())
}

/// The library, below the folder of its package; the command lists it.
pub(super) fn faketime(place: &Path, _: &str) -> Result<Vec<String>, String> {
    unpack(place, "libfaketime")?;
    let library = libraries(place).join("faketime/libfaketimeMT.so.1");
    Ok(vec!["ls".to_owned(), word(&library)])
}

fn libraries(place: &Path) -> PathBuf {
    let machine = std::env::consts::ARCH;
    place.join(format!("usr/lib/{machine}-linux-gnu"))
}

/// Unpacks a package, and what it needs that the system has not. Needs no rights, and leaves the package lists of the system as they
/// are.
fn unpack(place: &Path, package: &str) -> Result<(), String> {
    there("apt-get", "--version")?;
    let lists = place.join("lists");
    let cache = place.join("cache");
    for folder in [lists.join("partial"), cache.join("archives/partial")] {
        disk::folder(&folder)?;
    }
    let apt = |arguments: &[&str]| {
        let mut apt = command("apt-get", &["-qq", "-y", "-o", "Debug::NoLocking=1"]);
        apt.args(["-o", "Acquire::Retries=1", "-o", "APT::Sandbox::User="]);
        apt.arg("-o")
            .arg(format!("Dir::State::lists={}", lists.display()));
        apt.arg("-o").arg(format!("Dir::Cache={}", cache.display()));
        apt.args(arguments);
        capture(&mut apt)
    };
    apt(&["update"])?;
    apt(&[
        "install",
        "--download-only",
        "--no-install-recommends",
        package,
    ])?;
    let archives = fs::read_dir(cache.join("archives")).map_err(|error| error.to_string())?;
    for archive in archives.flatten() {
        if archive.path().extension().is_some_and(|it| it == "deb") {
            let mut unpack = command("dpkg-deb", &["--extract"]);
            capture(unpack.arg(archive.path()).arg(place))?;
        }
    }
    _ = fs::remove_dir_all(&lists);
    _ = fs::remove_dir_all(&cache);
    Ok(())
}
