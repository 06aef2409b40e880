//! The conversation: history, result envelopes, limits on what gadgets put into it, and what gives way when it is full.

pub mod compaction;
mod envelope;
mod history;
mod neutral;
mod output;
mod shape;
mod text;
mod tokens;
pub mod viewer;

pub use envelope::{guard_envelopes, result_content, results_message};
pub use history::History;
pub use neutral::escape_markers;
pub use output::{OutputStore, StoredOutput, char_limit};
pub use text::{TextForm, prompt_text};
pub use tokens::TokenEstimate;
