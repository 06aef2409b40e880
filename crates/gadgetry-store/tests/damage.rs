//! Files in which bits have changed.

use std::fs;
use std::path::Path;

use gadgetry::journal::{Journal as _, JournalError};
use gadgetry_store::{SqliteJournal, Status};
use rusqlite::Connection;

use crate::journal::{Place, agent, id};

const FLIPS: u64 = 600;
/// What an application stores with the run, such as the rules for its gadgets.
const DETAILS: &str = r#"{"rules": ["deny RunCommand(touch *)", "allow RunCommand"]}"#;

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
        journal.set_details(&id("long"), DETAILS).await.unwrap();
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

/// Each bit of the prompt and the details, wherever they are in the file.
#[tokio::test]
async fn each_changed_bit_of_a_record_is_reported() {
    let file = file().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut seen = 0;
    for start in [&b" {\"rules"[..], b" Go"] {
        let places = file.windows(start.len());
        let place = places.enumerate().find(|(_, it)| *it == start);
        let (at, _) = place.expect("it is there");
        for bit in 0..8 * 8 {
            let mut damaged = file.clone();
            damaged[at + bit / 8 - 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).unwrap();
            let Ok(journal) = SqliteJournal::open(&path) else {
                continue;
            };
            let Ok(runs) = journal.runs().await else {
                continue;
            };
            for run in runs.iter().filter(|it| it.id == id("long")) {
                let is_whole =
                    run.details.as_deref() == Some(DETAILS) && run.prompt.as_deref() == Some("Go");
                assert!(
                    is_whole || run.status() == Status::Damaged,
                    "bit {bit}: {run:?}"
                );
                seen += usize::from(!is_whole);
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

/// A table that never ends.
const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// Carries out statements of another program on a journal with the runs `long` and `other`, and opens it.
async fn changed(folder: &Path, statements: &str) -> Result<SqliteJournal, JournalError> {
    let path = folder.join("journal.db");
    {
        let journal = SqliteJournal::open(&path).unwrap();
        for run in ["long", "other"] {
            let agent = agent(r#"{"text": "4"}"#);
            let run = agent.durable(&journal).run_id(run).ask("2+2?").await;
            run.unwrap().text().await.unwrap();
        }
        journal.close().await;
    }
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    connection.execute_batch(statements).unwrap();
    drop(connection);
    SqliteJournal::open(&path)
}

#[tokio::test]
async fn a_damaged_run_hides_no_other() {
    for statements in [
        "UPDATE runs SET progress = '{' WHERE id = 'long'",
        "UPDATE runs SET progress = 'x' WHERE id = 'long'",
        "UPDATE runs SET id = 'no name' WHERE id = 'long'",
        "DELETE FROM headers WHERE run = 1",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let journal = changed(folder.path(), statements).await.unwrap();
        let runs = journal.runs().await.unwrap();
        let other = runs.iter().find(|it| it.id == id("other")).unwrap();
        assert_eq!(other.status(), Status::Finished, "{statements}");
        if let Some(long) = runs.iter().find(|it| it.id == id("long")) {
            let is_damaged = long.status() == Status::Damaged;
            let header = journal.header(&long.id).await;
            let has_no_header = matches!(header, Err(JournalError::Damaged { .. }));
            assert!(is_damaged || has_no_header, "{statements}");
            journal.forget(&long.id).await.unwrap();
        }
    }
}

#[tokio::test]
async fn numbers_that_a_file_makes_up_end_no_thread() {
    for table in [
        "UPDATE runs SET key = 9223372036854775807 WHERE id = 'long'; UPDATE headers SET run = 9223372036854775807 WHERE run = 1",
        "UPDATE runs SET key = -9223372036854775808 WHERE id = 'long'; UPDATE headers SET run = -9223372036854775808 WHERE run = 1",
        "UPDATE runs SET entries = 9223372036854775807, lease_ms = 9223372036854775807, updated_ms = -9223372036854775808",
        "INSERT OR REPLACE INTO checkpoints (run, entry, json) SELECT 1, 9223372036854775807, '{}'",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let journal = changed(folder.path(), table).await.unwrap();
        assert_eq!(journal.runs().await.unwrap().len(), 2, "{table}");
        // An error or not: the threads answer.
        let _ = journal.export(&id("long"), &mut Vec::new()).await;
        let _ = journal.open(&id("long"), None).await;
        journal.forget(&id("long")).await.unwrap();
        assert_eq!(journal.runs().await.unwrap().len(), 1, "{table}");
    }
}

#[tokio::test]
async fn a_file_with_code_of_its_own_is_not_opened() {
    for code in [
        format!("ALTER TABLE runs RENAME TO own; CREATE VIEW runs AS {ENDLESS}"),
        "CREATE TRIGGER own AFTER UPDATE ON runs BEGIN DELETE FROM entries; END".to_owned(),
        "CREATE VIRTUAL TABLE own USING fts5(text)".to_owned(),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let opened = changed(folder.path(), &code).await;
        assert!(opened.is_err(), "{code}");
    }
}

/// A name of an owner is part of the name of a file, which is removed when its owner has died.
#[tokio::test]
async fn an_owner_that_a_file_makes_up_removes_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "").unwrap();
    fs::create_dir(folder.path().join("journal.db.owner-1")).unwrap();
    fs::create_dir(folder.path().join("journal.db.owner-1-a")).unwrap();
    for owner in ["1/../precious", "1-a/../precious", "../precious", "1-a"] {
        let owned = format!("UPDATE runs SET owner = '{owner}', lease_ms = 9223372036854775807");
        let place = tempfile::tempdir().unwrap();
        let journal = changed(place.path(), &owned).await.unwrap();
        drop(journal);
        fs::copy(
            place.path().join("journal.db"),
            folder.path().join("journal.db"),
        )
        .unwrap();
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        journal.runs().await.unwrap();
        journal.forget(&id("long")).await.unwrap();
        journal.close().await;
        assert!(precious.exists(), "{owner}");
    }
}

#[tokio::test]
async fn a_small_file_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let journal = changed(folder.path(), "").await.unwrap();
    let path = journal.path().to_owned();
    journal.close().await;
    let connection = Connection::open(&path).unwrap();
    let (hash, bytes) = (vec![1_u8; 32], i64::from(u32::MAX));
    connection
        .execute(
            "INSERT INTO long_values (hash, bytes, deflated) VALUES (?1, ?2, x'00')",
            (&hash, bytes),
        )
        .unwrap();
    let reference = "01".repeat(32);
    // Without a checksum, as version 1 wrote it.
    let header = format!(r#"{{"a": "\u0002{reference}"}}"#);
    connection
        .execute(
            "UPDATE headers SET json = ?1, conversation = NULL, outputs = NULL WHERE run = 1",
            [header],
        )
        .unwrap();
    drop(connection);
    let journal = SqliteJournal::open(&path).unwrap();
    let error = journal.header(&id("long")).await.unwrap_err();
    assert!(error.to_string().contains("256 MiB"), "{error}");
}
