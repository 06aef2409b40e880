//! Tests of the journal in SQLite.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod chaos;
mod damage;
mod earlier;
mod growth;
mod journal;
mod module_order;
mod recovery;
