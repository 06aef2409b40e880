//! The tests of the built binary: one program.

mod acceptor;
mod attacks;
mod cli;
mod module_order;
mod soak;
