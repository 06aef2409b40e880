//! The project's own commands. `cargo xtask help` lists them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that runs other commands says what it does"
)]

mod bench;
mod bindings;
mod book;
mod causes;
mod disk;
mod dist;
mod errors;
mod fuzz;
mod models;
mod mutants;
mod peers;
mod readme;
mod release;
mod servers;
mod shell;
mod soak;
mod summaries;
mod test;
mod tidy;
mod titles;
mod trees;
mod versions;
mod words;

use std::process::ExitCode;

const HELP: &str = "\
The project's own commands.

cargo xtask test [STEP…]        runs every check and every test, or only the steps named
cargo xtask test --quick        format, wording, clippy, and the tests of the crates that differ from main
cargo xtask bench [NAME] [-- ARG…]
                                runs every bench target, or those whose name holds NAME; ARGs go to each; `models`
                                measures how a real model calls tools (-- --help), `dialects` compares our readers
                                of dialects with those of other crates (-- --wrong shows what each got wrong),
                                `bindings` measures the packages for Python and Node.js (-- --profile NAME)
cargo xtask fuzz [SECONDS]      runs the fuzzer, a minute or SECONDS a target (needs nightly and cargo-fuzz)
cargo xtask models [--from FILE|URL]
                                fetches LiteLLM's newest table of models, or this one, and makes ours of it
cargo xtask book               builds the documentation site into target/book, and checks all links
cargo xtask dist [languages [--profile NAME]] [--program FILE]
                                makes the files of a release in target/release-files, and tries them; FILE is a program that is
                                built already; `languages` makes the packages for Python and Node.js alone, `--profile dev` quickly
cargo xtask picture             draws docs/demo.svg, docs/guide/screens and docs/guide/inspector again
cargo xtask reference          writes docs/reference again: options, keys and events, from the program
cargo xtask release [readmes | version NEW]
                                packages all crates, compares their interfaces with the last tag (cargo-semver-checks), and
                                refuses a placeholder as their repository; publishes nothing. `readmes` writes their READMEs,
                                `version` sets that of all crates and packages, which tidy compares
cargo xtask soak [--minutes N] [--seed N] [--debug]
                                loads the gateway and the durable agent for 30 minutes or N, with faults: cut connections, kills, full
                                disks, jumps of the clock. Fails when something is lost, done twice, or grows
cargo xtask mutants [K/N]       changes the code and looks which changes no test notices, all or one shard of N
cargo xtask help                prints this

Exit code: 0 all is well, 1 a check failed, 2 the command was not understood.";

/// Reason why a command ended early.
enum Failure {
    /// The command line was not understood.
    Usage(String),
    /// Something that was checked is wrong.
    Check(String),
}

/// A plain message is a failed check; only the reading of arguments knows better.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Check(message)
    }
}

/// Writes the pages of `docs/reference`. What they are made of is in the test that compares them.
fn reference(args: &[String]) -> Result<(), Failure> {
    if let [unknown, ..] = args {
        return Err(Failure::Usage(format!("unexpected `{unknown}`")));
    }
    let test = [
        "test",
        "--package",
        "gadgetry-cli",
        "--all-features",
        "--bin",
        "gadgetry",
        "reference::pages_are_true",
    ];
    shell::run(shell::cargo(&test).env("GADGETRY_WRITE_REFERENCE", "1"))?;
    Ok(())
}

/// Draws `docs/demo.svg` and `docs/guide/screens`: the drawings are those of the tests which check them. And takes pictures of the
/// inspector in a browser, which depend on its fonts.
fn picture(args: &[String]) -> Result<(), Failure> {
    if let [unknown, ..] = args {
        return Err(Failure::Usage(format!("unexpected `{unknown}`")));
    }
    let demo = "cli::picture::the_picture_shows_what_the_demo_prints";
    let screens = "chat::state::screens::the_pictures_show_the_conversation_of_today";
    for (target, test) in [
        (["--test", "tests"], demo),
        (["--bin", "gadgetry"], screens),
        (["--test", "tests"], "cli::inspect::pictures_of_the_page"),
    ] {
        let mut cargo = shell::cargo(&["test", "--package", "gadgetry-cli"]);
        cargo.args(target).args(["--", "--exact", test]);
        shell::run(cargo.env("GADGETRY_WRITE_PICTURE", "1"))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let done = match command {
        "test" => test::run(rest),
        "bench" => bench::run(rest),
        "book" => book::run(rest),
        "dist" => dist::run(rest),
        "fuzz" => fuzz::run(rest),
        "models" => models::run(rest),
        "mutants" => mutants::run(rest),
        "picture" => picture(rest),
        "reference" => reference(rest),
        "release" => release::run(rest),
        "soak" => soak::run(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}\n\nSteps of test: {}", test::names());
            Ok(())
        }
        unknown => Err(Failure::Usage(format!("unknown command `{unknown}`"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Check(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
        Err(Failure::Usage(message)) => {
            eprintln!("xtask: {message}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}
