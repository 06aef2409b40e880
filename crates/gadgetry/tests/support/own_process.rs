//! Tests that need a process of their own.
//!
//! The tests of a program share its environment, and `tracing` caches for the whole process whether anyone listens. A
//! test that depends on either starts this program again for itself alone.

use std::any::type_name;
use std::env;
use std::process::Command;

/// Names the test that the process was started for.
const ALONE: &str = "GADGETRY_TEST_ALONE";

/// Whether this process runs `test` alone. If not, runs it in one that does, with `variables` set, and the caller returns.
///
/// `test` is the calling test's function, so that the name follows it.
///
/// # Panics
///
/// If the test fails there.
pub(crate) fn runs_alone<T>(_test: T, variables: &[(&str, &str)]) -> bool {
    // `tests::spans::name`; the test harness leaves out the program's own name.
    let path = type_name::<T>();
    let (_, name) = path
        .split_once("::")
        .expect("a function has a path in its crate");
    if env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return true;
    }
    let program = env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["--exact", name]).env(ALONE, name);
    let output = command
        .envs(variables.iter().copied())
        .output()
        .expect("this program starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    // A name that fits no test is a success of none.
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
    false
}
