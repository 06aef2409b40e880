//! `cargo xtask dist`: the files of a release, in `target/release-files`, each tried in an empty folder.
//!
//! | file | contents |
//! |---|---|
//! | `gadgetry-VERSION-TARGET.tar.gz` | program, README, CHANGELOG, licences, those of third parties, completions, manual pages |
//! | `gadgetry_VERSION_ARCH.deb` | the same for Debian, in its folders |
//! | `gadgetry-VERSION.cdx.json` | bill of materials, in the form of `CycloneDX` |
//! | `*.crate` | packages for `crates.io` |
//! | `gadgetry-*.whl`, `gadgetry_cli-*.whl` | packages for Python: the library, the program |
//! | `gadgetry-VERSION.tgz`, `gadgetry-cli-*.tgz` | the same for npm |
//! | `install.sh` | installs from these files |
//! | `SHA256SUMS` | checksums of them all |
//!
//! The program is linked statically, with musl, where Rust's library for that is installed (`rustup target add`), and otherwise for the
//! system that builds it.

mod files;
#[cfg(test)]
mod installer;
mod languages;
mod tried;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::disk;
use crate::release;
use crate::servers::target;
use crate::shell::{capture, cargo, command, root, run as sh};
use crate::versions;

/// Programs of cargo, and their versions.
const ABOUT: (&str, &str) = ("cargo-about", "0.9.3");
const CYCLONEDX: (&str, &str) = ("cargo-cyclonedx", "0.5.9");

/// What a release is called.
struct Release {
    version: String,
    /// Target of the program.
    triple: String,
    /// The files.
    folder: PathBuf,
}

impl Release {
    /// The name of the archive, and of the folder in it.
    fn name(&self) -> String {
        format!("gadgetry-{}-{}", self.version, self.triple)
    }
}

/// Makes and tries everything.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (only_languages, args) = match args {
        [word, rest @ ..] if word == "languages" => (true, rest),
        _ => (false, args),
    };
    let (mut given, mut profile) = (None, "release");
    for pair in args.chunks(2) {
        match pair {
            [option, program] if option == "--program" => given = Some(PathBuf::from(program)),
            [option, name] if option == "--profile" && only_languages => profile = name,
            _ => {
                let takes = "dist takes --program FILE, and dist languages --profile NAME as well";
                return Err(Failure::Usage(takes.to_owned()));
            }
        }
    }
    let release = Release {
        version: versions::current(&root())?,
        triple: triple()?,
        folder: target().join("release-files"),
    };
    disk::empty_folder(&release.folder)?;
    let program = match given {
        Some(program) => program,
        None => built(&release.triple)?,
    };
    if only_languages {
        let staged = files::licensed(&release, &program)?;
        languages::made(&release, &staged, profile)?;
        languages::tried(&release, &tried::new_folder()?)?;
        println!("{}", release.folder.display());
        return Ok(());
    }
    let staged = files::staged(&release, &program)?;
    files::archive(&release, &staged)?;
    files::debian(&release, &staged)?;
    bill_of_materials(&release)?;
    packages(&release)?;
    languages::made(&release, &staged, profile)?;
    files::install_script(&release, &release::repository()?)?;
    files::checksums(&release)?;
    tried::all(&release, &staged)?;
    println!("{}", release.folder.display());
    Ok(())
}

/// The target of the program: musl if there is a library for it.
fn triple() -> Result<String, String> {
    let (about, _) = capture(&mut command("rustc", &["-vV"]))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not name its host")?;
    let musl = host.replace("-gnu", "-musl");
    let library = capture(&mut command(
        "rustc",
        &["--print", "target-libdir", "--target", &musl],
    ));
    let has_library = library.is_ok_and(|(folder, _)| Path::new(folder.trim()).is_dir());
    if has_library {
        return Ok(musl);
    }
    eprintln!(
        "Rust has no library for {musl} here, so the program is for {host} (rustup target add {musl})"
    );
    Ok(host.to_owned())
}

/// Builds the program that is distributed, and returns its path.
pub(crate) fn program() -> Result<PathBuf, String> {
    built(&triple()?)
}

/// Builds the program.
fn built(triple: &str) -> Result<PathBuf, String> {
    let build = [
        "rustc",
        "--locked",
        "--profile",
        "dist",
        "--package",
        "gadgetry-cli",
        "--bin",
        "gadgetry",
        "--target",
        triple,
    ];
    let mut build = cargo(&build);
    if triple.ends_with("musl") {
        build.arg("--").args(smaller()?);
    }
    sh(&mut build)?;
    Ok(target().join(triple).join("dist/gadgetry"))
}

/// What makes a program that is linked statically smaller: the addresses that it corrects at its start are packed (1.2 MB), which
/// musl reads, and equal functions are one (0.25 MB) if the toolchain brings lld.
fn smaller() -> Result<Vec<String>, String> {
    let (folder, _) = capture(&mut command("rustc", &["--print", "target-libdir"]))?;
    let folder = Path::new(folder.trim()).with_file_name("bin/gcc-ld");
    let mut given = vec!["-Wl,-z,pack-relative-relocs".to_owned()];
    if folder.join("ld.lld").is_file() {
        given.push(format!("-B{}", folder.display()));
        given.extend(["-fuse-ld=lld", "-Wl,--icf=all"].map(str::to_owned));
    }
    let given = given.into_iter();
    Ok(given.map(|it| format!("-Clink-arg={it}")).collect())
}

/// Makes the bill of materials of the program.
fn bill_of_materials(release: &Release) -> Result<(), String> {
    /// Written next to the manifest of each package of the workspace.
    const NAME: &str = "gadgetry.cdx";
    let tool = installed(CYCLONEDX)?;
    let options = ["cyclonedx", "--format", "json", "--target", &release.triple];
    let mut tool = command(&tool.display().to_string(), &options);
    tool.args(["--override-filename", NAME, "--manifest-path"]);
    let cli = root().join("crates/gadgetry-cli");
    sh(tool.arg(cli.join("Cargo.toml")))?;
    let file = format!("{NAME}.json");
    let place = format!("gadgetry-{}.cdx.json", release.version);
    disk::copy(&cli.join(&file), &release.folder.join(place))?;
    let packages = fs::read_dir(root().join("crates"));
    let packages = packages.into_iter().flatten().flatten().map(|it| it.path());
    for package in
        packages.chain(["xtask", "examples/programs", "examples/clerk"].map(|it| root().join(it)))
    {
        // Not every folder has one.
        let _ = fs::remove_file(package.join(&file));
    }
    Ok(())
}

/// Adds the packages for registries. Nothing is published.
fn packages(release: &Release) -> Result<(), String> {
    release::package(&["--allow-dirty"])?;
    let made = target().join("package");
    let suffix = format!("-{}.crate", release.version);
    for file in fs::read_dir(&made).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(&suffix) {
            disk::copy(&file.path(), &release.folder.join(name))?;
        }
    }
    Ok(())
}

/// The path of a program of cargo, which is built if it is not there.
fn installed((name, version): (&str, &str)) -> Result<PathBuf, String> {
    let folder = target().join("tools");
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        eprintln!("{name} is missing, so it is built (some minutes)");
        let mut install = cargo(&["install", "--locked", "--version", version, name]);
        if name == ABOUT.0 {
            install.args(["--features", "cli"]);
        }
        sh(install.arg("--root").arg(&folder))?;
    }
    Ok(program)
}
