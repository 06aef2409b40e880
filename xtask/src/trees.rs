//! Crates that a program compiles with a package of ours. A default feature that another package turns on again, or a
//! dependency too many, is found here.

use std::collections::BTreeSet;

use crate::shell::{capture, cargo};

/// A package without its default features.
struct Lean {
    package: &'static str,
    /// The most crates that it may bring, itself included.
    at_most: usize,
    /// Crates that it must not bring, because a feature that is off would.
    without: &'static [&'static str],
}

/// Measured, not wished for: a number may shrink, and grows only with a reason in the commit.
const LEAN: [Lean; 4] = [
    Lean {
        package: "gadgetry-proto",
        // Two of them are thiserror, which is better kept than a macro of ours.
        at_most: 14,
        without: &["jsonschema", "regex"],
    },
    Lean {
        package: "gadgetry",
        at_most: 104,
        without: &["reqwest", "rustls", "saphyr-parser", "toml"],
    },
    Lean {
        package: "gadgetry-testing",
        at_most: 105,
        without: &["reqwest", "rustls", "saphyr-parser", "toml"],
    },
    Lean {
        package: "gadgetry-store",
        at_most: 116,
        without: &["reqwest", "rustls", "saphyr-parser", "toml"],
    },
];

/// Fails for a package that brings more than [`LEAN`] admits.
pub(crate) fn check() -> Result<(), String> {
    let problems: Vec<String> = LEAN.iter().map(problem).collect::<Result<_, _>>()?;
    let problems: Vec<String> = problems.into_iter().filter(|it| !it.is_empty()).collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// What is wrong with a package; empty if it brings no more than it may.
fn problem(lean: &Lean) -> Result<String, String> {
    let Lean {
        package,
        at_most,
        without,
    } = lean;
    let tree = ["tree", "--no-default-features", "--edges", "normal,build"];
    let tree = [
        &tree[..],
        &["--prefix", "none", "--no-dedupe", "--package", package],
    ]
    .concat();
    let (tree, _) = capture(&mut cargo(&tree))?;
    let crates = names(&tree);
    let banned: Vec<&str> = without
        .iter()
        .copied()
        .filter(|it| crates.contains(it))
        .collect();
    let count = versions(&tree);
    Ok(if !banned.is_empty() {
        format!(
            "{package} without default features brings {}; `cargo tree -p {package} --no-default-features -i {}` shows which way",
            banned.join(", "),
            banned[0],
        )
    } else if count > *at_most {
        format!("{package} without default features brings {count} crates, and may bring {at_most}")
    } else {
        String::new()
    })
}

fn names(tree: &str) -> BTreeSet<&str> {
    tree.lines()
        .filter_map(|line| line.split(' ').next())
        .collect()
}

/// The number of crates, where two versions of one are two.
fn versions(tree: &str) -> usize {
    let lines = tree.lines().filter(|line| !line.is_empty());
    lines.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::{names, versions};

    #[test]
    fn each_version_counts_once() {
        let tree = "a v1.0.0 (/src/a)\nb v1.2.3\nc v2.0.0 (proc-macro)\nb v1.2.3\nb v2.0.0\n";
        assert_eq!(versions(tree), 4);
        assert_eq!(names(tree).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
