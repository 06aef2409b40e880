//! A hook of the builder as a method of the trait.

use gadgetry::Controller;

struct Mine;

impl Controller for Mine {
    async fn on_gadget_error(&mut self) {}
}

fn main() {}
