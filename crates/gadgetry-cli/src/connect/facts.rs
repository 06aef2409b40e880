//! What the user's own server says about itself.

use std::thread;

use gadgetry::provider::{Resolver, ServerFacts};
use tokio::runtime::Builder;

/// Recognises the server of a model. Takes four seconds at most; what it does not say in time is unknown.
pub(super) fn of(resolver: &Resolver, name: &str) -> ServerFacts {
    if !resolver.is_of_user(name) {
        return ServerFacts::default();
    }
    let (resolver, name) = (resolver.clone(), name.to_owned());
    let work = move || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        Some(runtime.block_on(resolver.recognise(&name)))
    };
    // The caller may be within a runtime, which cannot wait for another one.
    let thread = thread::Builder::new().spawn(work).ok();
    let facts = thread.and_then(|thread| thread.join().ok()).flatten();
    facts.unwrap_or_default()
}
