//! Options as data: those of agents, models and gateways, wherever they are from.
//!
//! The command line, files, variables and sessions give [`Settings`], which are merged by name, the strongest first. The structs of
//! `cli` are read from what is left. `cli` defines the options; their other attributes are one table here.
//!
//! | module | what it does |
//! |---|---|
//! | `value`, `source`, `kind` | the value of an option, where it is from, what it may be |
//! | `attributes` | what is known about each option: a key of files, risky, of one invocation, secret, bound to a server |
//! | `definitions` | the options of a verb: what they accept, defaults, conflicts; the options that were typed |
//! | `settings` | values by the names of options, and how stronger ones are merged with weaker ones |
//! | `read` | the structs of `cli`, read from settings |

mod attributes;
mod definitions;
mod kind;
mod read;
mod settings;
mod source;
mod value;

pub(crate) use attributes::{
    Attributes, BASE_URL, CONFIGURED_APPROVAL, CONFIGURED_MCP, CONFIGURED_SKILLS, CONTINUE,
    DATA_DIR, IMAGE, MODEL, RESTATE, SYSTEM, SYSTEM_PROMPT, Secret, UPSTREAM, WORKSPACE,
};
pub(crate) use definitions::Definitions;
pub(crate) use kind::Kind;
pub(crate) use read::{Options, Reader};
pub(crate) use settings::{Setting, Settings, required};
pub(crate) use source::{Origin, Place, Source};
pub(crate) use value::Value;
