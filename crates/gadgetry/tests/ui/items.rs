//! What is no function.

use gadgetry::gadget;

#[gadget(description = "A type")]
struct Weather {
    city: String,
}

trait Service {
    #[gadget(description = "Has no body")]
    fn serve();
}

fn main() {
    let weather = Weather {
        city: String::new(),
    };
    drop(weather.city);
}
