//! Functions whose types would hide what the module, or the macro's user, means by the same name.

use std::cmp::Ordering as Order;

use gadgetry::gadget;

#[gadget(description = "Hides the text type")]
fn string(text: std::string::String) -> &'static str {
    drop(text);
    ""
}

#[gadget(description = "Hides a variant", name = "Nothing")]
fn none() {}

#[gadget(description = "Hides a trait, which is fine")]
async fn send(to: u8) {
    drop(to);
}

#[gadget(description = "Hides what it takes")]
fn weather(like: Vec<Weather>) {
    drop(like);
}

#[gadget(description = "Hides what it gives")]
fn order() -> Result<Order, std::fmt::Error> {
    Err(std::fmt::Error)
}

#[gadget(description = "Hides nothing: the path is longer")]
fn error() -> Result<(), std::fmt::Error> {
    Err(std::fmt::Error)
}

#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
struct Weather;

fn main() {
    string(std::string::String::new());
    none();
    error().ok();
}
