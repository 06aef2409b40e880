//! All mistakes of one gadget, so that they are reported in one go.

use std::fmt::Display;

use quote::ToTokens;

#[derive(Default)]
pub(crate) struct Mistakes(Vec<syn::Error>);

impl Mistakes {
    /// Adds one that is shown at `place`.
    pub(crate) fn add(&mut self, place: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(place, message));
    }

    pub(crate) fn push(&mut self, mistake: syn::Error) {
        self.0.push(mistake);
    }

    /// All in one, in the order in which they were found; `None` without mistakes.
    pub(crate) fn into_error(self) -> Option<syn::Error> {
        self.0.into_iter().reduce(|mut all, mistake| {
            all.combine(mistake);
            all
        })
    }
}
