//! Facts that the user's own server reports about itself.

use gadgetry::provider::{Resolver, ServerFacts};

/// Recognises the server of a model. Takes four seconds at most; what it does not say in time is unknown.
pub(super) async fn of(resolver: &Resolver, name: &str) -> ServerFacts {
    if resolver.is_of_user(name) {
        resolver.recognise(name).await
    } else {
        ServerFacts::default()
    }
}
