//! Files that earlier versions have written.

use gadgetry::Agent;
use gadgetry::journal::Journal as _;
use gadgetry_store::SqliteJournal;
use rusqlite::Connection;

use crate::journal::{Place, agent, id};

/// The tables as versions 1 and 2 had them, with the headers in `whole`.
const BACK: &str = "
CREATE TABLE whole_headers (
    run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
    json TEXT NOT NULL
) STRICT;
INSERT INTO whole_headers (run, json) SELECT run, json FROM temp.whole;
DROP TABLE headers;
ALTER TABLE whole_headers RENAME TO headers;
DROP TABLE long_values_of_item;
DROP TABLE items;
DROP INDEX runs_by_long_value;
ALTER TABLE runs DROP COLUMN entries;
PRAGMA user_version = 2;
";

/// Version 3 had no checksums before prompts and details.
const WITHOUT_NEW_SUMS: &str = "
UPDATE headers SET prompt = substr(prompt, 18);
UPDATE details SET json = substr(json, 18);
PRAGMA user_version = 3;
";

/// Documents of version 1 had no checksums. Headers have none here, either way.
const WITHOUT_SUMS: &str = "
UPDATE checkpoints SET json = substr(json, 18);
UPDATE entries SET lines = CAST(substr(lines, 18) AS BLOB);
UPDATE runs SET progress = substr(progress, 18);
PRAGMA user_version = 1;
";

async fn log(journal: &SqliteJournal, run: &str) -> Vec<u8> {
    let mut log = Vec::new();
    let exported = journal.export(&id(run), &mut log).await.unwrap();
    assert!(exported.damage.is_none(), "{exported:?}");
    log
}

async fn ask(agent: &Agent, journal: &SqliteJournal, run: &str) {
    let run = agent
        .durable(journal)
        .run_id(run)
        .ask("Go on, and on")
        .await;
    run.unwrap().finish().await.unwrap();
}

#[tokio::test]
async fn files_of_earlier_versions_open() {
    let days: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    let text = days.join(" days of work and no play, ");
    let script = serde_json::json!({ "text": text }).to_string();
    for version in [1, 2, 3] {
        let place = Place::new();
        let journal = place.open();
        ask(&agent(&script), &journal, "old").await;
        journal.set_details(&id("old"), "{\"a\": 1}").await.unwrap();
        let whole = log(&journal, "old").await;
        let header = journal.header(&id("old")).await.unwrap();
        let path = journal.path().to_owned();
        journal.close().await;

        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE TEMP TABLE whole (run INTEGER, json TEXT)")
            .unwrap();
        let json = serde_json::to_string(&header).unwrap();
        connection
            .execute("INSERT INTO temp.whole SELECT key, ?1 FROM runs", [json])
            .unwrap();
        connection.execute_batch(WITHOUT_NEW_SUMS).unwrap();
        if version < 3 {
            connection.execute_batch(BACK).unwrap();
        }
        if version == 1 {
            connection.execute_batch(WITHOUT_SUMS).unwrap();
        }
        drop(connection);

        let journal = place.open();
        assert_eq!(log(&journal, "old").await, whole, "version {version}");
        let record = journal.run(&id("old")).await.unwrap();
        assert_eq!(record.prompt.as_deref(), Some("Go on, and on"));
        assert_eq!(record.details.as_deref(), Some("{\"a\": 1}"));
        let prompt = journal.prompt(&id("old")).await.unwrap();
        assert_eq!(prompt.as_ref(), header.conversation.last());
        let run = agent(&script)
            .durable(&journal)
            .run_id("old")
            .resume()
            .await;
        assert_eq!(run.unwrap().text().await.unwrap(), text);
        ask(&agent(&script), &journal, "new").await;
        journal.forget(&id("old")).await.unwrap();
        assert!(!log(&journal, "new").await.is_empty());
        let connection = Connection::open(&path).unwrap();
        let found: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(found, 4);
    }
}
