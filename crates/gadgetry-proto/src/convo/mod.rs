//! The conversation: history, result envelopes, and limits on what gadgets put into it.

mod envelope;
mod history;
mod neutral;
mod output;
mod shape;
mod text;
pub mod viewer;

pub use envelope::{guard_envelopes, result_content, result_envelope, results_message};
pub use history::History;
pub use neutral::neutralise;
pub use output::{OutputStore, StoredOutput, char_limit};
pub use text::{TextForm, prompt_text};
