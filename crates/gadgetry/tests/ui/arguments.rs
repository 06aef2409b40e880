//! Every argument of `#[gadget(…)]` is wrong, and each is told.

use gadgetry::{Toolbox, gadget};

/// Get weather for a city.
#[gadget(
    name = "the weather",
    timeout = "soon",
    max_concurrent = 0,
    exclusive = true,
    speed = "fast",
    timeout = "10s",
    description,
    example(param = {}),
    example(params = "Paris", output = 21),
    example(params = {"city" "Paris"}),
)]
async fn weather(city: String) -> String {
    city
}

fn main() {
    // The type is there, so that nothing is said about this.
    let _ = Toolbox::default().add(Weather);
}
