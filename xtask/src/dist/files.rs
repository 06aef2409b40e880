//! The files of a release.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ABOUT, Release, installed};
use crate::disk;
use crate::servers::target;
use crate::shell::{capture, command, root, run as sh};

/// Shells with completions, and the names of the files in which their packages look for them.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "gadgetry"),
    ("zsh", "_gadgetry"),
    ("fish", "gadgetry.fish"),
    ("elvish", "gadgetry.elv"),
    ("powershell", "_gadgetry.ps1"),
];

/// Our licences.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// Those of the libraries.
pub(super) const THIRD_PARTY: &str = "THIRD-PARTY.md";
/// Further documents in the archive.
const DOCUMENTS: [&str; 2] = ["README.md", "CHANGELOG.md"];

/// Makes the folder that becomes the archive.
pub(super) fn staged(release: &Release, program: &Path) -> Result<PathBuf, String> {
    let folder = licensed(release, program)?;
    let own = folder.join("gadgetry");
    let own = own.display().to_string();
    disk::empty_folder(&folder.join("completions"))?;
    for (shell, name) in SHELLS {
        let (script, _) = capture(&mut command(&own, &["completions", shell]))?;
        disk::write(&folder.join("completions").join(name), &script)?;
    }
    let man = folder.join("man");
    disk::empty_folder(&man)?;
    sh(command(&own, &["man"]).arg(&man))?;
    third_parties("crates/gadgetry-cli/Cargo.toml", &folder.join(THIRD_PARTY))?;
    Ok(folder)
}

/// Makes it with the program and the documents alone.
pub(super) fn licensed(release: &Release, program: &Path) -> Result<PathBuf, String> {
    let folder = target().join("release-stage").join(release.name());
    disk::empty_folder(&folder)?;
    disk::copy(program, &folder.join("gadgetry"))?;
    for name in DOCUMENTS.into_iter().chain(LICENCES) {
        disk::copy(&root().join(name), &folder.join(name))?;
    }
    Ok(folder)
}

/// Copies our licences into `folder`, and writes those of all libraries in the package with this manifest.
pub(super) fn licences(manifest: &str, folder: &Path) -> Result<(), String> {
    for name in LICENCES {
        disk::copy(&root().join(name), &folder.join(name))?;
    }
    third_parties(manifest, &folder.join(THIRD_PARTY))
}

fn third_parties(manifest: &str, file: &Path) -> Result<(), String> {
    let about = installed(ABOUT)?.display().to_string();
    let list = [
        "generate",
        "--locked",
        "--fail",
        "--manifest-path",
        manifest,
    ];
    let mut about = command(&about, &list);
    about.args([
        "--config",
        "packaging/about.toml",
        "packaging/about.hbs",
        "--output-file",
    ]);
    sh(about.arg(file))
}

/// Makes the archive. The same files give the same bytes.
pub(super) fn archive(release: &Release, staged: &Path) -> Result<(), String> {
    let name = release.name();
    let parent = staged.parent().unwrap_or(staged);
    let file = release.folder.join(format!("{name}.tar.gz"));
    let (seconds, _) = capture(&mut command("git", &["log", "-1", "--format=%ct"]))?;
    let date = format!("--mtime=@{}", seconds.trim());
    let options = [
        "--create",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        &date,
    ];
    let mut tar = command("tar", &options);
    // Without the time of now in the header.
    tar.args(["--use-compress-program", "gzip -9n", "--file"])
        .arg(file);
    sh(tar.arg("--directory").arg(parent).arg(name))
}

/// Makes the package for Debian, with `dpkg-deb`.
pub(super) fn debian(release: &Release, staged: &Path) -> Result<(), String> {
    let (arch, _) = match capture(&mut command("dpkg", &["--print-architecture"])) {
        Ok(arch) => arch,
        Err(why) => {
            eprintln!("no package for Debian: {why}");
            return Ok(());
        }
    };
    let arch = arch.trim();
    let tree = target().join("release-stage/debian");
    disk::empty_folder(&tree)?;
    let place = |from: &str, folder: &str, name: &str| {
        let folder = tree.join(folder);
        disk::folder(&folder)?;
        disk::copy(&staged.join(from), &folder.join(name))
    };
    place("gadgetry", "usr/bin", "gadgetry")?;
    place(
        "completions/gadgetry",
        "usr/share/bash-completion/completions",
        "gadgetry",
    )?;
    place(
        "completions/_gadgetry",
        "usr/share/zsh/vendor-completions",
        "_gadgetry",
    )?;
    place(
        "completions/gadgetry.fish",
        "usr/share/fish/vendor_completions.d",
        "gadgetry.fish",
    )?;
    for name in DOCUMENTS.into_iter().chain([THIRD_PARTY]) {
        place(name, "usr/share/doc/gadgetry", name)?;
    }
    let copyright = tree.join("usr/share/doc/gadgetry/copyright");
    let mut licences =
        String::from("gadgetry is licensed under MIT or Apache-2.0, at your option.\n");
    for name in LICENCES {
        licences.extend(["\n", &disk::read(&root().join(name))?]);
    }
    licences.extend([
        "\nThe licences of its libraries are in ",
        THIRD_PARTY,
        ".\n",
    ]);
    disk::write(&copyright, &licences)?;
    for page in fs::read_dir(staged.join("man"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = page.file_name().to_string_lossy().into_owned();
        place(&format!("man/{name}"), "usr/share/man/man1", &name)?;
        // Without the name and the time in its header, the same page gives the same bytes.
        let page = tree.join("usr/share/man/man1").join(name);
        sh(command("gzip", &["-9n"]).arg(page))?;
    }
    let depends = if release.triple.ends_with("musl") {
        ""
    } else {
        "Depends: libc6, libgcc-s1\n"
    };
    let control = format!(
        "Package: gadgetry\nVersion: {}\nArchitecture: {arch}\nMaintainer: The gadgetry developers <gadgetry@example.com>\n\
         Section: utils\nPriority: optional\n{depends}Recommends: ca-certificates\n\
         Description: Tool calling for any text model\n An agent for the command line, and a gateway that gives clients of OpenAI's and\n \
         Anthropic's APIs native tool calls on models that only write text.\n",
        release.version,
    );
    disk::folder(&tree.join("DEBIAN"))?;
    disk::write(&tree.join("DEBIAN/control"), &control)?;
    let file = release
        .folder
        .join(format!("gadgetry_{}_{arch}.deb", release.version));
    let mut build = command("dpkg-deb", &["--build", "--root-owner-group", "-Zxz"]);
    sh(build.arg(&tree).arg(file))
}

/// Writes the installer, which fetches from the releases of `repository`.
pub(super) fn install_script(release: &Release, repository: &str) -> Result<(), String> {
    let script = root().join("packaging/install.sh");
    let text = disk::read(&script)?;
    disk::write(
        &release.folder.join("install.sh"),
        &text.replace("@REPOSITORY@", repository),
    )
}

/// Writes the checksums of all files.
pub(super) fn checksums(release: &Release) -> Result<(), String> {
    let mut names: Vec<String> = fs::read_dir(&release.folder)
        .map_err(|error| format!("{}: {error}", release.folder.display()))?
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut sum = command("sha256sum", &["--"]);
    let (sums, _) = capture(sum.args(names).current_dir(&release.folder))?;
    disk::write(&release.folder.join("SHA256SUMS"), &sums)
}
