//! READMEs of packages: that of the repository, with links that lead there from anywhere.

use std::fmt::Write as _;
use std::path::Path;

use crate::disk;

/// The crates that have it.
const CRATES: [&str; 2] = ["gadgetry", "gadgetry-cli"];

/// Writes the READMEs of these packages.
pub(crate) fn write(root: &Path, repository: &str) -> Result<(), String> {
    let text = absolute(&disk::read(&root.join("README.md"))?, repository);
    for name in CRATES {
        let path = root.join("crates").join(name).join("README.md");
        disk::write(&path, &text)?;
    }
    Ok(())
}

/// Fails if one is not what [`write()`] would write.
pub(crate) fn check(root: &Path, repository: &str) -> Result<(), String> {
    let text = absolute(&disk::read(&root.join("README.md"))?, repository);
    for name in CRATES {
        if disk::read(&root.join("crates").join(name).join("README.md"))? != text {
            return Err(format!(
                "crates/{name}/README.md is not that of the repository: `cargo xtask release readmes` writes it"
            ));
        }
    }
    Ok(())
}

/// The text with absolute links. Pictures are linked as files, all else as pages.
fn absolute(text: &str, repository: &str) -> String {
    let mut parts = text.split("](");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        written.push_str("](");
        let target = part.split(')').next().unwrap_or_default();
        let is_relative = !target.contains(':') && !target.starts_with('#');
        if is_relative {
            let form = if Path::new(target).extension().is_some_and(|it| it == "svg") {
                "raw"
            } else {
                "blob"
            };
            // Writing to a string does not fail.
            let _ = write!(written, "{repository}/{form}/main/");
        }
        written.push_str(part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn links_become_absolute() {
        for (text, expected) in [
            (
                "[a](docs/a.md#b) c",
                "[a](https://r/blob/main/docs/a.md#b) c",
            ),
            ("![a](docs/a.svg)", "![a](https://r/raw/main/docs/a.svg)"),
            ("[a](#b) [c](https://d.e/f)", "[a](#b) [c](https://d.e/f)"),
        ] {
            assert_eq!(absolute(text, "https://r"), expected);
        }
    }
}
