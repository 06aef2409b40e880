//! Files in which bits have changed.

use std::fs;
use std::path::Path;

use gadgetry::journal::JournalError;
use gadgetry_store::SqliteJournal;
use rusqlite::Connection;

use crate::journal::{Place, agent, id};

const FLIPS: u64 = 600;

/// The file of a journal with one run, nothing left in its write-ahead log.
async fn file() -> Vec<u8> {
    let place = Place::new();
    let path = {
        let journal = place.open();
        // Most of the file is text of the run, where a changed bit is another valid text.
        let text = "All work and no play. ".repeat(2000);
        let agent = agent(&serde_json::json!({ "text": text }).to_string());
        let run = agent.durable(&journal).run_id("long").ask("Go").await;
        run.unwrap().text().await.unwrap();
        journal.flush().await;
        journal.path().to_owned()
    };
    let connection = Connection::open(&path).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
        .unwrap();
    fs::read(path).unwrap()
}

/// The log of the run in this file.
async fn exported(folder: &Path, file: &[u8]) -> Result<Vec<u8>, JournalError> {
    let path = folder.join("journal.db");
    fs::write(&path, file).unwrap();
    let journal = SqliteJournal::open(&path)?;
    let mut log = Vec::new();
    let exported = journal.export(&id("long"), &mut log).await?;
    exported.damage.map_or(Ok(log), Err)
}

#[tokio::test]
async fn a_changed_bit_is_an_error_or_changes_nothing() {
    let file = file().await;
    let new = || tempfile::tempdir().unwrap();
    let whole = exported(new().path(), &file).await.unwrap();
    let (mut state, mut errors) = (0x5eed_u64, 0);
    for flip in 0..FLIPS {
        // Knuth's generator; its high bits are the random ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bit = usize::try_from(state >> 16).unwrap() % (8 * file.len());
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match exported(new().path(), &damaged).await {
            Ok(log) => assert!(log == whole, "flip {flip}, bit {bit}: another log"),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > FLIPS / 4, "only {errors} flips were noticed");
}
