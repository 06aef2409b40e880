//! Removes invisible characters from results.

use std::borrow::Cow;

use gadgetry_proto::run::{AboutCall, Interceptor};
use gadgetry_proto::visible::without_invisible;

/// An interceptor that removes invisible characters from results and errors before the model reads them.
///
/// A page or a file can contain instructions in characters that are not displayed, such as the tags from U+E0000 to U+E007F, and
/// some models read them. [`without_invisible`] lists the removed characters; events and `${id}` keep the gadget's original text.
/// An agent's interceptors do not reach its subagents: add it to their builders, too.
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
