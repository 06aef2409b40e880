//! The programs that the examples are built to.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

use serde_json::Value;

/// The program of each example. `cargo test` has built them, unless it was told to build this test alone: then this does.
pub(crate) fn programs(examples: &BTreeSet<String>) -> BTreeMap<String, PathBuf> {
    let place = Place::of_this_test();
    let there = examples.iter().map(|example| {
        let program = format!("{example}{}", env::consts::EXE_SUFFIX);
        (
            example.clone(),
            place.profile.join("examples").join(program),
        )
    });
    let there: BTreeMap<String, PathBuf> = there.collect();
    if there.values().all(|program| is_fresh(program)) {
        return there;
    }
    let mut built = place.build();
    built.retain(|name, _| there.contains_key(name));
    assert!(
        built.keys().eq(there.keys()),
        "cargo builds {:?}",
        built.keys()
    );
    built
}

/// Where cargo has put this test.
struct Place {
    /// `target/debug`, or `target/TRIPLE/debug`
    profile: PathBuf,
}

impl Place {
    fn of_this_test() -> Self {
        let test = env::current_exe().expect("this program has a path");
        let profile = test.parent().and_then(Path::parent);
        Self {
            profile: profile.expect("target/PROFILE/deps").to_owned(),
        }
    }

    /// Builds the examples as this test was built.
    fn build(&self) -> BTreeMap<String, PathBuf> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from(env!("CARGO")));
        let mut command = Command::new(cargo);
        command.args([
            "build",
            "--examples",
            "--message-format=json",
            "--manifest-path",
        ]);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let profile = self.profile.file_name().expect("a profile");
        command.arg("--profile");
        command.arg(if profile == "debug" {
            "dev".as_ref()
        } else {
            profile
        });
        let mut target = self.profile.parent().expect("a target folder");
        // Cargo tags the folder that it was given; for a triple it makes one inside.
        if !target.join("CACHEDIR.TAG").exists() {
            command
                .arg("--target")
                .arg(target.file_name().expect("a triple"));
            target = target.parent().expect("a target folder");
        }
        command.arg("--target-dir").arg(target);
        let features = [
            ("providers", cfg!(feature = "providers")),
            ("tokens", cfg!(feature = "tokens")),
        ];
        command.arg("--no-default-features");
        for (feature, _) in features.iter().filter(|(_, is_on)| *is_on) {
            command.args(["--features", feature]);
        }
        let output = command.output().expect("cargo starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}\n{complaint}");
        let messages = String::from_utf8_lossy(&output.stdout);
        let messages = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let programs = messages.filter_map(|message| {
            let program = message["executable"].as_str()?;
            Some((
                message["target"]["name"].as_str()?.to_owned(),
                program.into(),
            ))
        });
        programs.collect()
    }
}

/// Whether nothing that a program was built from has changed since, by the list that cargo writes beside it.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| -> Option<SystemTime> { fs::metadata(path).ok()?.modified().ok() };
    let (Some(built), Ok(list)) = (
        changed(program),
        fs::read_to_string(program.with_extension("d")),
    ) else {
        return false;
    };
    let Some((_, sources)) = list.lines().next().and_then(|line| line.split_once(": ")) else {
        return false;
    };
    // A blank in a path is written `\ `.
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|path| path.replace('\0', " "));
    sources.all(|source| changed(Path::new(&source)).is_some_and(|source| source <= built))
}
