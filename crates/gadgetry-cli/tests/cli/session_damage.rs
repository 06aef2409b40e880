//! Sessions in a file in which bits have changed.

use std::fs;

use gadgetry_store::SqliteJournal;
use tokio::runtime::Runtime;

use super::workshop::{Ended, Workshop, block, reply};

/// A disk that changes one bit of the rules must not change what they allow.
#[test]
fn a_session_with_damaged_rules_is_not_continued() {
    let workshop = Workshop::new(&(reply("Hi.") + &reply(&block("Touch:t", "")) + &reply("Done.")));
    let rules = ["--approval", "deny Touch", "--session", "ruled"];
    Ended::of(&mut workshop.agent(&[&["--quiet"], &rules[..]].concat())).check("Hi.\n", "", 0);
    let file = workshop.path("gadgetry/sessions/sessions.db");
    // Nothing is left in the write-ahead log.
    let runtime = Runtime::new().expect("a runtime");
    let journal = SqliteJournal::open(&file).expect("a journal");
    runtime.block_on(journal.close());
    let mut bytes = fs::read(&file).expect("the sessions");
    let rule = b"deny Touch";
    let found = bytes.windows(rule.len()).enumerate();
    let found: Vec<usize> = found
        .filter(|(_, it)| it == rule)
        .map(|(at, _)| at)
        .collect();
    assert!(!found.is_empty());
    for at in found {
        // `Uouch`, which no gadget is called.
        bytes[at + 5] ^= 1;
    }
    fs::write(&file, bytes).expect("it is written");
    let ended =
        Ended::of(&mut workshop.command(&["agent", "--quiet", "--continue", "ruled", "Touch it."]));
    assert_eq!(
        (ended.code, workshop.has("trace")),
        (Some(1), false),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("session ruled is damaged: its checksum differs"),
        "{ended:?}"
    );
}
