//! A method that the trait of hooks does not have.

use gadgetry::Hook;

struct Mine;

impl Hook for Mine {
    async fn before_tool(&self) {}
}

fn main() {}
