//! The documentation site: `docs/` as a book of mdBook, in `target/book`. Fails for a link that leads nowhere, in the site or in
//! any Markdown file of the repository.
//!
//! `book REPOSITORY` is run by `cargo xtask test docs` and `cargo xtask book`. REPOSITORY is the address to which links lead that leave `docs/`.

mod languages;
mod links;
mod pages;
mod site;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mdbook_driver::MDBook;

/// The result of each step: a problem for the user.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let Some(repository) = std::env::args().nth(1) else {
        eprintln!("usage: book REPOSITORY");
        return ExitCode::from(2);
    };
    match run(repository) {
        Ok(folder) => {
            println!("{}", folder.join("index.html").display());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the site and checks it. Returns its folder.
fn run(repository: String) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    listed(&pages::problems(&root)?)?;
    let mut book = MDBook::load(root.join("docs")).map_err(|error| format!("{error:#}"))?;
    book.with_preprocessor(links::Outwards::new(root.clone(), repository));
    let folder = book.build_dir_for("html");
    // A page that was removed would still be found.
    _ = std::fs::remove_dir_all(&folder);
    book.build().map_err(|error| format!("{error:#}"))?;
    with_parser(&root.join("bindings/wasm"), &folder.join("wasm"))?;
    let api = folder.join("api");
    for language in ["python", "typescript"] {
        without_api(&api.join(language))?;
    }
    listed(&site::problems(&folder)?)?;
    // Not checked: what other programs write is full of links that their scripts complete.
    let made = root.join("target/bindings/reference");
    if made.is_dir() {
        copied(&made, &api)?;
    }
    Ok(folder)
}

/// Copies the parser for the page on which replies are tried, if it was built; without it, the page says how to.
fn with_parser(package: &Path, place: &Path) -> Result<()> {
    if !package.join("module").is_dir() {
        return Ok(());
    }
    for part in ["lib", "module"] {
        copied(&package.join(part), &place.join(part))?;
    }
    Ok(())
}

/// Writes what is in place of the API of a package, if that was not made: a page that says how to.
fn without_api(place: &Path) -> Result<()> {
    let page = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>API</title>\n\
        <p>The API is not here. Run <code>cargo xtask test bindings</code>, then <code>cargo xtask book</code>.</p>\n\
        </html>\n";
    let written = std::fs::create_dir_all(place)
        .and_then(|()| std::fs::write(place.join("index.html"), page));
    written.map_err(|error| format!("{}: {error}", place.display()))
}

/// Copies a folder, with those in it.
fn copied(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to).map_err(failed)?;
        }
    }
    Ok(())
}

/// Fails with all problems, if there are any.
fn listed(problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let count = problems.len();
    Err(format!("{count} problem(s):\n  {}", problems.join("\n  ")))
}
