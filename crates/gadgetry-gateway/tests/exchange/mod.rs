//! Exchanges without a network.

mod calls;
mod choices;
mod dependencies;
mod dialects;
mod history;
mod injection;
mod limits;
mod numbers;
mod stopped;
mod truncation;
mod worked;
