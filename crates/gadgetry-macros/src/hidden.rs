//! Names that the type of a gadget must not have.

use syn::Signature;
use syn::visit::{self, Visit};

/// Types and variants that most modules use without an import. A trait is missed by few, and `Send` or `Copy` are good
/// names for gadgets.
const PRELUDE: [&str; 9] = [
    "Box", "Err", "None", "Ok", "Option", "Result", "Some", "String", "Vec",
];

/// Returns `true` if a type of this name, next to the function, would change what something means: a name that most modules use,
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
