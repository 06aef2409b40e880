//! The native part of the npm package `gadgetry`: a thin shell around the crates.
//!
//! It takes and gives texts, most of them JSON, and moves work between tokio and the event loop of Node.js. What a program sees is the
//! package in `lib/`, which is written by hand and typed. Nothing here is public.
//!
//! | module | what it does |
//! |---|---|
//! | `errors` | errors as exceptions that the package reads |
//! | `host` | calls of functions of JavaScript, from any thread, with the contexts of gadgets |
//! | `parser` | the parser of replies; prompts and calls as text |
//! | `models` | models by name, scripts, the mock model |
//! | `gadget` | gadgets that are functions of JavaScript, built-in ones, tools of MCP servers |
//! | `run` | runs, conversations |
//! | `journal` | durable runs |
//! | `agent` | agents |
//! | `gateway` | the gateway in this process, for the official SDKs; exchanges, for the AI SDK |
//! | `web` | the UI message stream of the AI SDK, and the requests of its hooks |

#![expect(
    clippy::needless_pass_by_value,
    reason = "functions that JavaScript calls own their arguments"
)]

mod agent;
mod errors;
mod gadget;
mod gateway;
mod host;
mod journal;
mod models;
mod parser;
mod run;
mod web;
