//! Durable runs.

use gadgetry::journal::RunId;
use gadgetry_bindings::Problem;
use gadgetry_store::SqliteJournal;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use serde_json::Value;

use crate::errors::{contained, raised};

/// A file in which runs are kept.
#[napi]
pub struct Journal(pub(crate) SqliteJournal);

fn failed(error: impl gadgetry::Classified + std::fmt::Display) -> napi::Error {
    raised(Problem::classified("JournalError", &error))
}

#[napi]
impl Journal {
    /// Opens the file, or makes it.
    #[napi(constructor)]
    pub fn new(path: String) -> napi::Result<Self> {
        SqliteJournal::open(path).map(Self).map_err(failed)
    }

    /// All runs, as JSON.
    #[napi]
    pub fn runs<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, String>> {
        let journal = self.0.clone();
        env.spawn_future(contained(async move {
            let records = journal.runs().await.map_err(failed)?;
            let records = records.iter().map(gadgetry_bindings::run::record);
            Ok(records.collect::<Value>().to_string())
        }))
    }

    /// Cancels a run, whether or not a process drives it.
    #[napi]
    pub fn cancel<'env>(
        &self,
        env: &'env Env,
        run_id: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let journal = self.0.clone();
        let id: RunId = run_id.parse().map_err(failed)?;
        env.spawn_future(contained(async move {
            journal.cancel(&id).await.map_err(failed)
        }))
    }
}
