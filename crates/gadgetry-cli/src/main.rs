//! The binary `gadgetry`.

fn main() {}
