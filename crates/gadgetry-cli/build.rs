//! Records where the program is from, for `gadgetry --version`.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let set = |name: &str, value: &str| println!("cargo::rustc-env=GADGETRY_{name}={value}");
    let of_cargo = |name: &str| env::var(name).unwrap_or_default();
    // In a debug build each commit would compile the program again.
    let commit = match &*of_cargo("PROFILE") {
        "release" => commit(),
        _ => None,
    };
    set("COMMIT", commit.as_deref().unwrap_or("unknown"));
    set("TARGET", &of_cargo("TARGET"));
    let features = of_cargo("CARGO_CFG_FEATURE");
    let features: Vec<&str> = features.split(',').filter(|it| *it != "default").collect();
    set("FEATURES", &features.join(", "));
}

/// The commit of the repository, or that of a package that cargo made of it.
fn commit() -> Option<String> {
    let of_package = fs::read_to_string(".cargo_vcs_info.json").ok();
    if let Some(info) = of_package {
        let sha = info.split_once(r#""sha1": ""#)?.1;
        return Some(sha.chars().take(8).collect());
    }
    // Another repository around the sources is not ours.
    if !Path::new("../../.git").exists() {
        return None;
    }
    println!(
        "cargo::rerun-if-changed={}",
        git(&["rev-parse", "--git-path", "logs/HEAD"])?
    );
    git(&["rev-parse", "--short=8", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
