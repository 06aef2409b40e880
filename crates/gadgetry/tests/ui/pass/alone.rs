//! What the macro writes takes no name from where it stands, needs no other crate, and is not warned about.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused,
    unused_qualifications
)]

use gadgetry::gadget;

/// As many crates have it.
pub(crate) type Result<T> = std::result::Result<T, std::io::Error>;

/// The user's own.
mod serde {}

/// The user's own.
mod schemars {}

/// The user's own.
mod core {}

/// Get weather for a city.
#[gadget(timeout = "10s", exclusive, example(params = {"city": "Paris"}, comment = "Short"))]
pub(crate) async fn weather(
    /// The city
    #[serde(alias = "town")]
    city: String,
    #[schemars(range(max = 7))]
    #[gadget(default = 3)]
    days: u8,
    note: Option<String>,
    _context: gadgetry::ExecutionContext,
) -> Result<String> {
    let note = std::future::ready(note).await;
    Ok(format!("{city} {days} {}", note.unwrap_or_default()))
}

#[test]
fn it_is_a_gadget() {
    let mut toolbox = gadgetry::Toolbox::default();
    toolbox.add(Weather).expect("a gadget");
    let weather = toolbox.get("weather").expect("just added");
    assert!(weather.spec().exclusive);
}
