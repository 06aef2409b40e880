//! Durable runs in one SQLite file: no server, no set-up.
//!
//! A [`SqliteJournal`] is a [`Journal`](gadgetry::journal::Journal) for [`Agent::durable`](gadgetry::Agent::durable). A
//! run that it keeps can be killed at any moment and resumed by the same program or another one; what was finished is
//! never done again.
//!
//! ```
//! use gadgetry::{Agent, ScriptedModel};
//! use gadgetry_store::SqliteJournal;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("runs.db");
//! # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let journal = SqliteJournal::open(path)?;
//! let agent = Agent::builder().model(model).build()?;
//! let answer = agent.durable(&journal).run_id("sum").ask("What is 2+2?").await?.text().await?;
//! assert_eq!(answer, "4");
//!
//! let runs = journal.runs().await?;
//! assert_eq!((runs[0].id.as_str(), runs[0].status()), ("sum", gadgetry_store::Status::Finished));
//! # Ok(())
//! # }
//! ```
//!
//! # What is kept, and when
//!
//! The file is in WAL mode with one writer thread for each [`SqliteJournal`]; several processes may use it at once.
//! Finished steps are synced to the disk before anything is done because of them; the pieces of a reply are written in
//! batches. Texts over 64 KiB are stored once, compressed, by their hash; so are the messages that a run continues, so a
//! conversation of many runs takes as much space as its messages. Keys of providers are never part of a run, so
//! they are not in the file.
//!
//! # Modules
//!
//! A module names only modules above it.
//!
//! | module | what it does |
//! |---|---|
//! | `error` | errors in stored documents |
//! | `owner` | one owner drives a run at a time |
//! | `sum`, `values` | checksums of documents; long values, stored once |
//! | `chunk` | entries of a run as they are stored |
//! | `list` | lists with common beginnings, stored once |
//! | `header` | the header of a run as it is stored |
//! | `schema` | the tables |
//! | `rows` | the key of a run; how its rows are removed |
//! | `writer`, `reader` | the thread that writes, and the one that reads |
//! | `recorder` | records one run |
//! | `journal` | [`SqliteJournal`]: the file, and runs that begin or are taken up |
//! | `runs` | lists runs, answers and cancels them |
//! | `events`, `export` | the events of a run; a run as a log |
//! | `replay` | [`Replay`]: runs played again, one after another |

mod chunk;
mod error;
mod events;
mod export;
mod header;
mod journal;
mod list;
mod owner;
mod reader;
mod recorder;
mod replay;
mod rows;
mod runs;
mod schema;
mod sum;
mod values;
mod writer;

pub use events::Events;
pub use export::Exported;
pub use journal::{SqliteJournal, SqliteJournalBuilder};
pub use replay::Replay;
pub use runs::{RunRecord, Status};
