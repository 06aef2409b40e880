//! Starts commands for test programs, whose `main` cannot call [`gadgetry_builtins::dispatch`].

fn main() {
    gadgetry_builtins::dispatch();
}
