//! `cargo xtask soak`: the gateway and the durable agent under load and faults, for as long as one likes.
//!
//! The load is the test target `soak` of `gadgetry-cli`, which has the program built as well; `cargo xtask test` runs a few seconds of it.

use crate::Failure;
use crate::servers;
use crate::shell::{cargo, run as sh};

/// Minutes unless the arguments say otherwise.
const MINUTES: &str = "30";

/// Runs it with optimised programs, or with `--debug` those of the tests.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let mut test = cargo(&["test", "--package", "gadgetry-cli", "--test", "soak"]);
    let mut options = vec![String::from("--minutes"), MINUTES.to_owned()];
    let mut profile = Some("--release");
    let mut rest = args;
    loop {
        rest = match rest {
            [] => break,
            [option, after @ ..] if option == "--debug" => {
                profile = None;
                after
            }
            [option, number, after @ ..] if option == "--minutes" && is_number(number) => {
                options[1].clone_from(number);
                after
            }
            [option, number, after @ ..] if option == "--seed" && is_number(number) => {
                options.extend([option.clone(), number.clone()]);
                after
            }
            [unknown, ..] => {
                let takes = "soak takes --minutes N, --seed N and --debug";
                return Err(Failure::Usage(format!("unexpected `{unknown}`: {takes}")));
            }
        };
    }
    match servers::install_faketime() {
        Ok(library) => options.extend(["--faketime".to_owned(), library]),
        Err(why) => eprintln!("the clock will not jump: {why}"),
    }
    sh(test.args(profile).arg("--").args(options))?;
    Ok(())
}

fn is_number(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}
