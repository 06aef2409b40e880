//! A value that cannot move between threads, across an `.await`.

use std::rc::Rc;

/// Waits
#[gadgetry::gadget]
async fn wait(name: String) -> String {
    let name = Rc::new(name);
    std::future::ready(()).await;
    name.to_string()
}

fn main() {}
