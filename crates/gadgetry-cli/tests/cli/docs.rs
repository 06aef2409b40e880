//! The examples of the documentation are true.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::Value;

use super::GADGETRY;
use super::workshop::{Ended, Workshop, masked, reply, without_keys};

/// The pages about the command line.
const CLI: [&str; 3] = [
    "docs/cli.md",
    "docs/cli/agent.md",
    "docs/cli/configuration.md",
];

/// Runs each command of each `console` block, in order, in one folder with the examples, and compares what it prints,
/// but for times.
#[test]
fn every_console_block_prints_what_it_says() {
    let mut pages = Vec::new();
    add_pages(&root().join("docs"), &mut pages);
    for page in pages {
        let page = page.to_str().expect("text");
        let blocks = blocks(page, "console");
        if blocks.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
        for block in blocks {
            let mut printed = String::new();
            for step in steps(&block) {
                printed.extend(["$ ", &step, "\n", &shell(&step, folder.path())]);
            }
            assert_eq!(timeless(&printed), timeless(&block), "{page}");
        }
    }
}

/// Folders that other programs make.
const NOT_OURS: [&str; 3] = ["node_modules", "target", ".venv"];

/// Adds the pages in a folder and those below it.
pub(crate) fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !NOT_OURS.iter().any(|it| path.ends_with(it)) {
                add_pages(&path, pages);
            }
        } else if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn every_json_block_is_json() {
    let blocks = CLI.map(|page| blocks(page, "json")).concat();
    assert!(!blocks.is_empty());
    for block in blocks {
        for line in block.lines() {
            if let Err(error) = serde_json::from_str::<Value>(line) {
                panic!("{line}: {error}");
            }
        }
    }
}

#[test]
fn every_gadget_file_is_one() {
    let blocks = CLI.map(|page| blocks(page, "toml")).concat();
    assert!(!blocks.is_empty());
    for block in &blocks {
        let workshop = Workshop::new(&reply("Hi."));
        // The program that the page speaks of.
        std::fs::copy("/bin/sh", workshop.path("fetch.sh")).expect("a program");
        workshop.write("gadgets.toml", block);
        let (events, ended) = workshop.events(&[]);
        assert_eq!((events.len(), ended.code), (6, Some(0)), "{ended:?}");
    }
}

#[test]
fn every_configuration_is_one() {
    let blocks = CLI.map(|page| blocks(page, "toml configuration")).concat();
    assert!(blocks.len() > 2);
    for block in blocks {
        let workshop = Workshop::new("");
        workshop.write("mine.toml", &block);
        let ended = Ended::of(&mut workshop.command(&["config", "--config", "mine.toml"]));
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{block}");
    }
}

/// Options that are named in the documentation exist.
#[test]
fn every_option_exists() {
    /// Of cargo and npm.
    const OTHERS: [&str; 8] = [
        "--features",
        "--locked",
        "--package",
        "--path",
        "--prefix",
        "--profile",
        "--release",
        "--target",
    ];
    /// Of verbs that the default build does not have.
    const OF_RESTATE: [&str; 10] = [
        "--advertise",
        "--decision",
        "--follow",
        "--from-seq",
        "--identity-key",
        "--own-url",
        "--restate",
        "--restate-admin",
        "--run-id",
        "--spread",
    ];
    let workshop = Workshop::new("");
    Ended::of(&mut workshop.command(&["man", "pages"])).check("", "", 0);
    let pages = fs::read_dir(workshop.path("pages")).expect("a folder");
    let pages = pages.map(|it| fs::read_to_string(it.expect("a file").path()).expect("a page"));
    let pages: String = pages
        .collect::<String>()
        .replace("\\fB", " ")
        .replace("\\-", "-");
    let mut known: BTreeSet<&str> = words(&pages).collect();
    known.extend(OTHERS);
    if !cfg!(feature = "restate") {
        known.extend(OF_RESTATE);
    }
    for page in [
        "docs/cli.md",
        "docs/cli/agent.md",
        "docs/cli/configuration.md",
        "docs/cli/llmist.md",
        "docs/guide/gateway-deployment.md",
        "docs/guide/migration.md",
        "docs/guide/troubleshooting.md",
        "docs/guide/weak-models.md",
        "docs/security.md",
        "README.md",
    ] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        // The first column of that page has llmist's own.
        let (ours, llmist) = match page {
            "docs/cli/llmist.md" => ("", &*text),
            _ => (&*text, ""),
        };
        let counterparts = llmist.lines().filter_map(|line| line.split(" | ").nth(1));
        let lines = ours.lines().chain(counterparts);
        let unknown: Vec<&str> = lines
            .flat_map(words)
            .filter(|word| !known.contains(word))
            .collect();
        assert!(unknown.is_empty(), "{page}: {unknown:?}");
    }
}

/// The long options in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    words.filter(|word| {
        let name = word.strip_prefix("--");
        name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

/// The text without the times and the generated names that differ from run to run.
fn timeless(text: &str) -> String {
    let mut lines = String::new();
    for line in masked(text).lines() {
        let is_generated = |name: &str| name.len() == 5 && !name.contains(' ');
        if line.strip_prefix("session ").is_some_and(is_generated) {
            lines.push_str("session NAME\n");
            continue;
        }
        let mut line = line.to_owned();
        for field in ["\"timeMs\":", "\"startMs\":"] {
            if let Some((before, after)) = line.split_once(field) {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                line = format!("{before}{field}N{after}");
            }
        }
        let line = with_one_id(line);
        lines.extend([&line, "\n"]);
    }
    lines
}

/// The line with one word in place of the ids of runs, which have a random part.
fn with_one_id(mut line: String) -> String {
    for field in ["\"run\":\"", "\"id\":\""] {
        let Some(start) = line.find(field).map(|at| at + field.len()) else {
            continue;
        };
        let id = line[start..].split('"').next().unwrap_or_default();
        let random = id.rsplit('.').next().unwrap_or_default();
        if random.len() == 16 && random.chars().all(|c| c.is_ascii_hexdigit()) {
            line.replace_range(start..start + id.len(), "RUN");
        }
    }
    line
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The bodies of the code blocks of a page in one language.
pub(crate) fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join(page)).expect("a page");
    let fence = format!("```{language}\n");
    let starts = page.split(&fence).skip(1);
    starts
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// The commands of a console block: what stands behind `$ `, and goes on behind a backslash.
fn steps(block: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut open = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(command.to_owned());
            open = line.ends_with('\\');
        } else if let (true, Some(step)) = (open, steps.last_mut()) {
            step.push('\n');
            step.push_str(line);
            open = line.ends_with('\\');
        }
    }
    steps
}

/// The folders of programs, with that of `gadgetry` first.
pub(crate) fn shell_path() -> OsString {
    let binaries = Path::new(GADGETRY).parent().expect("a folder");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [binaries.to_path_buf()].into_iter();
    env::join_paths(folders.chain(env::split_paths(&path))).expect("a path")
}

fn shell(command: &str, folder: &Path) -> String {
    let mut shell = Command::new("sh");
    without_keys(&mut shell);
    let output = shell
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdin(Stdio::null())
        .env("PATH", shell_path())
        .current_dir(folder)
        .output()
        .expect("a shell");
    String::from_utf8(output.stdout).expect("UTF-8")
}
