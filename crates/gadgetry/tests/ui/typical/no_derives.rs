//! A type of an argument that derives nothing.

enum Units {
    Celsius,
}

/// Gets the weather
#[gadgetry::gadget]
fn weather(city: String, units: Option<Units>) -> String {
    let _ = units;
    city
}

fn main() {}
