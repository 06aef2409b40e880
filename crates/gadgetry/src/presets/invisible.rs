//! Removes invisible characters from results.

use std::borrow::Cow;

use gadgetry_proto::run::{AboutCall, Interceptor};
use gadgetry_proto::visible::without_invisible;

/// An interceptor that takes invisible characters out of results and errors before the model reads them.
///
/// A page or a file can hold instructions in characters that are not shown, such as the tags from U+E0000 to U+E007F, and
/// some models read them. What is taken out is listed at [`without_invisible`]; events and `${id}` keep the text as the
/// gadget gave it. An agent's interceptors do not reach its subagents: add it to their builders, too.
///
/// ```
/// use gadgetry::presets::StripInvisible;
/// let builder = gadgetry::Agent::builder().interceptor(StripInvisible);
/// # let _ = builder;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StripInvisible;

impl Interceptor for StripInvisible {
    fn result(&self, _: &AboutCall, text: String) -> String {
        match without_invisible(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(stripped) => stripped,
        }
    }
}
