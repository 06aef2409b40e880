//! Tries the files of a release as their users would, in folders of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::{Release, languages};
use crate::disk;
use crate::servers::target;
use crate::shell::{answers, capture, command, run as sh};

/// Tries all of them. The first failure ends it.
pub(super) fn all(release: &Release, staged: &Path) -> Result<(), String> {
    let folder = new_folder()?;
    sums(release)?;
    licensed(release)?;
    let bin = folder.join("bin");
    installed(release, &bin)?;
    of_this_commit(&bin.join("gadgetry"))?;
    works(&bin.join("gadgetry"), &folder)?;
    refused(release, &folder)?;
    debian(release, &folder)?;
    languages::tried(release, &folder)?;
    for script in ["gadgetry", "_gadgetry"] {
        let shell = if script == "gadgetry" { "bash" } else { "zsh" };
        if answers(&mut command(shell, &["--version"])) {
            sh(command(shell, &["-n"]).arg(staged.join("completions").join(script)))?;
        }
    }
    container(release, staged)
}

/// An empty folder for it.
pub(super) fn new_folder() -> Result<PathBuf, String> {
    let folder = target().join("release-tried");
    disk::empty_folder(&folder)?;
    Ok(folder)
}

/// A server of the files of the release, until it is dropped.
struct FileServer(Child, String);

impl FileServer {
    /// Serves a folder with Python, which prints its port first.
    fn start(folder: &Path) -> Result<Self, String> {
        let program = "import http.server as h, functools, sys\n\
            s = h.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(h.SimpleHTTPRequestHandler, directory=sys.argv[1]))\n\
            print(s.server_port, flush=True)\ns.serve_forever()";
        let mut python = command("python3", &["-c", program]);
        let python = python
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = python
            .spawn()
            .map_err(|error| format!("python3: {error}"))?;
        let mut port = String::new();
        let read = match child.stdout.take() {
            Some(stdout) => {
                std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut port)
            }
            None => Ok(0),
        };
        let server = Self(child, format!("http://127.0.0.1:{}", port.trim()));
        match read {
            Ok(1..) => Ok(server),
            Ok(0) | Err(_) => Err("the file server has not started".to_owned()),
        }
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compares all files with their checksums.
fn sums(release: &Release) -> Result<(), String> {
    let mut check = command("sha256sum", &["--check", "--strict", "--quiet"]);
    sh(check.arg("SHA256SUMS").current_dir(&release.folder))
}

/// Looks for the licences in every package that has compiled code, and reads the bill of materials.
fn licensed(release: &Release) -> Result<(), String> {
    let mut look = command("python3", &["packaging/licensed.py"]);
    sh(look.arg(&release.folder))
}

/// The program names the commit that it was built from.
fn of_this_commit(program: &Path) -> Result<(), String> {
    let (version, _) = capture(&mut command(&program.display().to_string(), &["--version"]))?;
    let (commit, _) = capture(&mut command("git", &["rev-parse", "HEAD"]))?;
    let named = version
        .lines()
        .find_map(|line| line.strip_prefix("commit: "));
    match named {
        Some(named) if named.len() >= 7 && commit.starts_with(named.trim()) => Ok(()),
        Some(_) | None => Err(format!("the program is not of {commit}:\n{version}")),
    }
}

/// Installs with the script, from a server.
fn installed(release: &Release, bin: &Path) -> Result<(), String> {
    let server = FileServer::start(&release.folder)?;
    let script = release.folder.join("install.sh");
    let mut install = command("sh", &[]);
    sh(install
        .arg(script)
        .env("GADGETRY_URL", &server.1)
        .env("GADGETRY_BIN", bin))
}

/// A file that was changed on its way is not installed.
fn refused(release: &Release, folder: &Path) -> Result<(), String> {
    let changed = folder.join("changed");
    disk::empty_folder(&changed)?;
    let name = format!("{}.tar.gz", release.name());
    for file in ["SHA256SUMS", &name] {
        disk::copy(&release.folder.join(file), &changed.join(file))?;
    }
    let archive = changed.join(&name);
    let mut bytes = fs::read(&archive).map_err(|error| format!("{name}: {error}"))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).map_err(|error| format!("{name}: {error}"))?;
    let server = FileServer::start(&changed)?;
    let bin = folder.join("refused");
    let mut install = command("sh", &[]);
    install.arg(release.folder.join("install.sh"));
    install
        .env("GADGETRY_URL", &server.1)
        .env("GADGETRY_BIN", &bin);
    if answers(&mut install) || bin.join("gadgetry").exists() {
        return Err("install.sh has installed an archive that was changed".to_owned());
    }
    Ok(())
}

/// Unpacks the package for Debian.
fn debian(release: &Release, folder: &Path) -> Result<(), String> {
    let is_package = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".deb");
    let files = fs::read_dir(&release.folder)
        .into_iter()
        .flatten()
        .flatten();
    for file in files.filter(|file| is_package(&file.file_name())) {
        let tree = folder.join("debian");
        sh(command("dpkg-deb", &["--extract"])
            .arg(file.path())
            .arg(&tree))?;
        works(&tree.join("usr/bin/gadgetry"), folder)?;
    }
    Ok(())
}

/// Runs the program in an empty folder, without a home.
pub(super) fn works(program: &Path, folder: &Path) -> Result<(), String> {
    let empty = folder.join("empty");
    disk::empty_folder(&empty)?;
    let program = program.display().to_string();
    for (args, expected) in [
        (["--version"], "target: "),
        (["demo"], "The total of the order is 25.40"),
    ] {
        let mut program = command(&program, &args);
        let program = program.current_dir(&empty).env_clear();
        let (stdout, _) = capture(program)?;
        if !stdout.contains(expected) {
            return Err(format!(
                "`gadgetry {}` prints no `{expected}`:\n{stdout}",
                args[0]
            ));
        }
    }
    Ok(())
}

/// Builds the image of the container, and runs it if the program needs no libraries.
fn container(release: &Release, staged: &Path) -> Result<(), String> {
    if !answers(&mut command("buildah", &["--version"])) {
        eprintln!("buildah is not installed, so the container was not built (apt install buildah)");
        return Ok(());
    }
    let context = target().join("release-stage/container");
    disk::empty_folder(&context)?;
    disk::copy(&staged.join("gadgetry"), &context.join("gadgetry"))?;
    let authorities = Path::new("/etc/ssl/certs/ca-certificates.crt");
    disk::copy(authorities, &context.join("ca-certificates.crt"))?;
    let image = format!("gadgetry:{}", release.version);
    let build = [
        "build",
        "--file",
        "packaging/Containerfile",
        "--tag",
        &image,
    ];
    sh(command("buildah", &build).arg(&context))?;
    if !release.triple.ends_with("musl") {
        eprintln!(
            "the program needs the system's libraries, so the container was built and not run"
        );
        return Ok(());
    }
    let (container, _) = capture(&mut command("buildah", &["from", &image]))?;
    let container = container.trim();
    let run = [
        "run",
        "--isolation",
        "chroot",
        container,
        "/gadgetry",
        "--version",
    ];
    let ran = sh(&mut command("buildah", &run));
    sh(&mut command("buildah", &["rm", container]))?;
    ran
}
