//! Names that the type of a gadget must not have.

use syn::Signature;
use syn::visit::{self, Visit};

/// Types, traits and variants that every module sees without an import.
const PRELUDE: [&str; 42] = [
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Vec",
];

/// Whether a type of this name, beside the function, would change what something means: a name that every module sees,
/// or one that the signature uses.
pub(crate) fn hides(signature: &Signature, name: &str) -> bool {
    let mut mentions = Mentions { name, found: false };
    mentions.visit_signature(signature);
    mentions.found || PRELUDE.contains(&name)
}

/// Finds a plain name in types.
struct Mentions<'a> {
    name: &'a str,
    found: bool,
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let only = path.segments.first().filter(|_| path.segments.len() == 1);
        self.found |= path.leading_colon.is_none() && only.is_some_and(|it| it.ident == self.name);
        visit::visit_path(self, path);
    }
}
