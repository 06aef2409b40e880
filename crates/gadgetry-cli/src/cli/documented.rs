//! The commands on the pages of the documentation are commands of the program.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;

/// Folders with pages; of `bindings`, only what is written by hand.
const FOLDERS: [&str; 5] = ["docs", "bindings", "crates", "examples", "packaging"];
/// Pages in the root.
const PAGES: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
];
/// Ends of a command in a line.
const ENDS: [&str; 9] = ["|", ";", "&&", "||", ">", "2>", "#", "2>&1", "&"];

/// What follows the name where it is not a command: in a manifest, before the name of a test, and where the program starts itself.
const OTHERS: [&str; 3] = ["=", "approval", "--in-terminal"];

/// A word that no command begins with.
fn is_placeholder(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
    !word.chars().all(is_name)
}

#[test]
fn every_command_on_a_page_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root.join(page)).collect();
    for folder in FOLDERS {
        add_pages(&root.join(folder), &mut pages);
    }
    let program = super::command();
    let (mut count, mut problems) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for words in commands(&text) {
            count += 1;
            if let Err(problem) = check(&program, &words) {
                let page = page.strip_prefix(&root).unwrap_or(page).display();
                problems.push(format!("{page}: gadgetry {}: {problem}", words.join(" ")));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 200, "{count}");
}

#[test]
fn the_providers_are_counted() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("a page");
    let count = gadgetry::provider::Resolver::providers().count();
    let words = format!("{count} providers have names");
    assert!(readme.contains(&words), "{words}");
}

#[test]
fn what_is_no_command_is_found() {
    let program = super::command();
    let check = |text: &str, expected: &[Result<(), &str>]| {
        let code = format!("`{text}`");
        let found = commands(&code).map(|words| check(&program, &words));
        let found: Vec<Result<(), String>> = found.collect();
        let found: Vec<Result<(), &str>> = found
            .iter()
            .map(|it| it.as_ref().copied().map_err(String::as_str))
            .collect();
        assert_eq!(found, expected, "{text}");
    };
    check("gadgetry agent -p \"a --b\"", &[Ok(())]);
    check("$ gadgetry agent --nope", &[Err("--nope does not exist")]);
    check("gadgetry sesions list", &[Err("sesions does not exist")]);
    check("gadgetry sessions lst", &[Err("lst does not exist")]);
    check("KEY=x gadgetry serve --upstream=URL | jq --raw", &[Ok(())]);
    check("gadgetry agent Go -- --nope", &[Ok(())]);
    check("the gadgetry of others", &[]);
}

/// Adds the pages in a folder and those below it.
fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    const NOT_OURS: [&str; 3] = ["node_modules", "target", ".venv"];
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !NOT_OURS.iter().any(|it| name == *it) {
                add_pages(&path, pages);
            }
        } else if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
}

/// The words of each command in code: after `gadgetry`, up to what ends it.
fn commands(text: &str) -> impl Iterator<Item = Vec<String>> {
    let mut is_block = false;
    let mut found = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let code: Vec<&str> = if is_block {
            vec![line]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        for code in code {
            found.extend(command_in(code));
        }
    }
    found.into_iter()
}

/// The words of the command in a line of code.
fn command_in(line: &str) -> Option<Vec<String>> {
    let words = shell_words::split(line);
    let words = words.unwrap_or_else(|_| line.split_whitespace().map(str::to_owned).collect());
    let is_before = |word: &str| word == "$" || word.contains('=');
    let mut words = words.into_iter().skip_while(|word| is_before(word));
    if words.next()? != "gadgetry" {
        return None;
    }
    let mut words = words.peekable();
    if words
        .peek()
        .is_some_and(|word| OTHERS.contains(&word.as_str()))
    {
        return None;
    }
    let words = words.take_while(|word| !ENDS.contains(&word.as_str()));
    Some(
        words
            .map(|it| it.trim_end_matches(';').to_owned())
            .collect(),
    )
}

/// Walks down the subcommands, and looks up each option.
fn check(program: &Command, words: &[String]) -> Result<(), String> {
    let mut command = program;
    for word in words.iter().take_while(|word| *word != "--") {
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            let mut known = command.get_arguments().chain(program.get_arguments());
            let is_known = known.any(|it| {
                let aliases = it.get_all_aliases().unwrap_or_default();
                it.get_long() == Some(name) || aliases.contains(&name)
            });
            if !is_known && !["help", "version"].contains(&name) && !is_placeholder(name) {
                return Err(format!("--{name} does not exist"));
            }
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else if command.has_subcommands()
            && command.get_positionals().next().is_none()
            && !is_placeholder(word)
        {
            return Err(format!("{word} does not exist"));
        }
    }
    Ok(())
}
