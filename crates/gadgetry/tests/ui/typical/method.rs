//! `#[gadget]` on a method.

struct Book;

impl Book {
    /// Finds an entry
    #[gadgetry::gadget]
    fn find(&self, name: String) -> String {
        name
    }
}

fn main() {}
