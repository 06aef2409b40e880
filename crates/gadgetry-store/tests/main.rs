//! Tests of the journal in SQLite.

mod journal;
