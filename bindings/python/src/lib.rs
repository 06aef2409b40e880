//! The native part of the Python package `gadgetry`: a thin shell around the crates.
//!
//! It converts values, moves work between tokio and asyncio, and nothing else. What a Python program sees is the package in
//! `python/gadgetry`, which is written by hand and typed.
//!
//! | module | what it does |
//! |---|---|
//! | `gate` | the tokio runtime, and the way from its threads into the interpreter, which closes before that ends |
//! | `json` | JSON values as Python objects, and back |
//! | `errors` | errors of the crates as exceptions of `gadgetry.errors` |
//! | `bridge` | Rust futures that asyncio awaits; Python functions that a gadget awaits |
//! | `parser` | the parser of replies, with its events |
//! | `models` | models by name, scripts, and functions of Python |
//! | `testing` | the mock model |
//! | `gadget` | gadgets that are Python functions, and the context of a call |
//! | `foreign` | gadgets that are not Python: built-in ones, tools of MCP servers |
//! | `run` | runs, conversations |
//! | `journal` | durable runs |
//! | `agent` | agents |
//! | `gateway` | the gateway in this process, for the official SDKs |

mod agent;
mod bridge;
mod errors;
mod foreign;
mod gadget;
mod gate;
mod gateway;
mod journal;
mod json;
mod models;
mod parser;
mod run;
mod testing;

/// The native part of the package.
#[pyo3::pymodule(gil_used = true)]
mod _gadgetry {
    #[pymodule_export]
    use super::agent::Agent;
    #[pymodule_export]
    use super::bridge::{Done, Work};
    #[pymodule_export]
    use super::foreign::{McpServers, NativeGadget, builtins};
    #[pymodule_export]
    use super::gadget::CallContext;
    #[pymodule_export]
    use super::gate::close;
    #[pymodule_export]
    use super::gateway::{InProcess, Reply};
    #[pymodule_export]
    use super::journal::Journal;
    #[pymodule_export]
    use super::models::Model;
    #[pymodule_export]
    use super::parser::{
        ArgumentDelta, Call, CallStart, Parser, ParserDiagnostic, Tag, TagDelta, TagEnd, TagStart,
        Text, count_events, instructions, parse_json, write_call,
    };
    #[pymodule_export]
    use super::run::{Conversation, Run};
    #[pymodule_export]
    use super::testing::MockModel;
}
