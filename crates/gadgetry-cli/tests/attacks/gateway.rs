//! Attacks on `gadgetry serve`: by its clients, and by a hostile upstream. The rows are in `gateway.json`.

mod client;
mod row;
mod victim;

use std::path::Path;

use super::each_of;

/// The rows that there must be at least.
const AT_LEAST: usize = 280;

#[test]
fn no_attack_on_the_gateway_succeeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/attacks");
    let rows = row::load(&folder.join("gateway.json"));
    assert!(rows.len() >= AT_LEAST, "only {} rows", rows.len());
    each_of(&rows, |row| {
        let problems = victim::run(row);
        let report = format!("gateway / {:?}\n  {}\n", row.name, problems.join("\n  "));
        if problems.is_empty() {
            Ok(())
        } else {
            Err(report)
        }
    });
}
