//! Tests of `packaging/install.sh` with releases of files, in folders of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{answers, capture, command, root};

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // It is in a folder for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Place {
    /// Makes a release whose program is this script.
    fn new(name: &str, program: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gadgetry-{name}-{}", std::process::id()));
        let place = Self(folder);
        let make = "set -eu; mkdir -p release bin/folder/gadgetry bin/link; echo kept >kept; ln -s ../../kept bin/link/.gadgetry.new
            name=gadgetry-0.1.0-$(uname -m | sed s/arm64/aarch64/)-$(uname -s | sed 's/Linux/unknown-linux-gnu/;s/Darwin/apple-darwin/')
            mkdir $name; printf '%s' \"$1\" >$name/gadgetry; chmod 755 $name/gadgetry; tar -czf release/$name.tar.gz $name
            cd release; sha256sum $name.tar.gz >SHA256SUMS";
        fs::create_dir_all(&place.0).expect("a folder");
        let mut make = command("sh", &["-c", make, "sh", program]);
        capture(make.current_dir(&place.0)).expect("a release");
        place
    }

    fn installer(&self, script: &Path, bin: &str) -> Command {
        let mut install = command("sh", &[]);
        install.arg(script).current_dir(&self.0);
        install.env(
            "GADGETRY_URL",
            format!("file://{}/release", self.0.display()),
        );
        install.env("GADGETRY_BIN", bin);
        install
    }

    /// Installs to a folder. Returns whether the script says that it has.
    fn install(&self, bin: &str) -> bool {
        answers(&mut self.installer(&root().join("packaging/install.sh"), bin))
    }

    fn has(&self, file: &str) -> bool {
        self.0.join(file).is_file()
    }
}

const WORKS: &str = "#!/bin/sh\necho gadgetry 0.1.0\n";

#[test]
fn what_is_installed_works_and_nothing_else_is_changed() {
    let place = Place::new("works", WORKS);
    for bin in ["new", "with spaces/and more", "bin/link"] {
        assert!(place.install(bin), "{bin}");
        assert!(place.has(&format!("{bin}/gadgetry")), "{bin}");
    }
    let kept = fs::read_to_string(place.0.join("kept")).expect("a file");
    assert_eq!(kept, "kept\n", "a link led to another file");
    assert!(!place.install("bin/folder"));
}

#[test]
fn what_does_not_run_is_not_installed() {
    let place = Place::new("broken", "#!/bin/sh\nexit 1\n");
    assert!(!place.install("new"));
    let left = fs::read_dir(place.0.join("new")).expect("a folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn without_a_checksum_nothing_is_installed() {
    for change in [
        "for f in release/*.gz; do echo >>$f; done",
        "sed -i.bak 's/^[0-9a-f]*//' release/SHA256SUMS",
        "sed -i.bak 's/^[0-9a-f]*/00/' release/SHA256SUMS",
        ": >release/SHA256SUMS",
        "rm release/SHA256SUMS",
    ] {
        let place = Place::new("changed", WORKS);
        capture(command("sh", &["-c", change]).current_dir(&place.0)).expect("a change");
        assert!(!place.install("new"), "{change}");
        assert!(!place.has("new/gadgetry"), "{change}");
    }
}

#[test]
fn a_script_that_is_cut_off_does_nothing() {
    let place = Place::new("cut", WORKS);
    let whole = fs::read(root().join("packaging/install.sh")).expect("the script");
    let script = place.0.join("part.sh");
    for end in (0..whole.len() - "main\n".len()).step_by(97) {
        fs::write(&script, &whole[..end]).expect("a file");
        // An error, or nothing at all.
        let _ = answers(&mut place.installer(&script, "new"));
        assert!(!place.0.join("new").exists(), "{end} bytes");
    }
}
