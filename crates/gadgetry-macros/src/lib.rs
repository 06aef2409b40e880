//! The attribute `#[gadget]`, which makes a gadget of a function, and `#[gadgets]`, which makes gadgets of methods. Use
//! them as `gadgetry::gadget` and `gadgetry::gadgets`: what they write names that crate, whose documentation has examples.
//!
//! A function goes through these modules; each names only modules above it:
//!
//! | module | what it does |
//! |---|---|
//! | `mistakes`, `words` | all mistakes of the user; durations and defaults as they are written |
//! | `ast` | takes the function apart, and what the macro owns off its parameters |
//! | `attr` | reads the arguments of `#[gadget(…)]`, on the function and on parameters |
//! | `hidden` | knows which names its type must not have |
//! | `valid` | holds the one against the other; what comes out can be written |
//! | `expand` | writes the gadget |
//! | `fallback` | writes a replacement if there were mistakes, so that only those are reported |
//! | `methods` | takes an impl block with `#[gadgets]` apart, whose methods then go the same way |
//!
//! Nothing stops at the first mistake: all are collected in `Mistakes`, and reported at once.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "the enums matched here are those of syn, and grow"
)]

mod ast;
mod attr;
mod expand;
mod fallback;
mod hidden;
mod methods;
mod mistakes;
mod valid;
mod words;

#[cfg(test)]
mod tests;

/// Makes a gadget of a function.
///
/// The function is not changed and can be called as before. The macro also generates a unit struct of the same visibility
/// that implements `Gadget`: `fn get_weather` makes `GetWeather`. That name must be free in the module of the function, and
/// not one of the prelude: `fn string` would hide `String`.
///
/// # The function
///
/// - It may be `async` or not. One that is not runs where the gadget is polled: it must return soon, or be `blocking`.
/// - Its doc comment is the description that the model reads.
/// - It returns what `GadgetOutput` can be made of: a `String` or `&str`, anything `Serialize` (which becomes JSON),
///   a `GadgetOutput`, `()`, or a `Result` of one of those.
/// - It is a free function without generics, and neither `unsafe`, `const` nor `extern`. For methods of a type with state,
///   there is `#[gadgets]`.
///
/// # Its parameters
///
/// Each is an argument of the gadget: a name and an owned type that is `Deserialize` and `JsonSchema`. Its doc comment
/// is its description. `Option<T>` may be left out of a call. One parameter may be an `ExecutionContext` or a reference
/// to it; the model does not see that.
///
/// | on a parameter | means |
/// |---|---|
/// | `#[gadget(default)]` | may be left out, and is then `Default::default()` |
/// | `#[gadget(default = 3)]` | may be left out, and is then this; a string literal becomes whatever is `From<&str>` |
/// | `#[gadget(with)]` | is not an argument: the run has it. The type is `&T`, and the value is what `.with(…)` was given on the run or its agent. A run without one fails before its first request |
/// | `#[schemars(…)]` | as on a field of a struct, like `#[schemars(length(min = 1))]` |
/// | `#[serde(…)]` | as on a field of a struct, like `#[serde(rename = "type")]` |
///
/// The schema includes a default if its type is `Serialize`.
///
/// # `#[gadget(…)]`
///
/// | argument | means |
/// |---|---|
/// | `name = "Weather"` | the name for the model, instead of the struct's name |
/// | `description = "…"` | its description, instead of the doc comment |
/// | `timeout = "10s"` | a call is cancelled after this, and the next request waits until it has cleaned up (see `AgentBuilder::grace`); `ms`, `s`, `m`, `h`, or a whole number of milliseconds |
/// | `max_concurrent = 2` | maximum number of its calls that run at once |
/// | `exclusive` | nothing else may run at the same time |
/// | `blocking` | it runs on a thread where it may block, for files, databases and long computations. A timeout answers its call; the thread runs on until the function returns, because nothing can stop it, unless the function looks at its context |
/// | `sticky_result` | compaction keeps its results |
/// | `unterminated = "confirm"` | a block that only the end of the reply completes is not executed, and the model writes it again; `"execute"` for the opposite |
/// | `on_interrupt = "rerun"` | a call that was running when the program ended is executed again once the run continues; `"ask"` lets the user decide, `"fail"` is the default: the model reads that its effect is unknown |
/// | `permission = "ask"` | where no rule decides, the user does: for gadgets that write, send, buy or run something; `"deny"` refuses, `"allow"` is the default. An agent with such a gadget and without approvals is not built |
/// | `preview = function` | a function that says what a call would do, for rules and for the user who approves it (see below) |
/// | `example(params = {…}, output = "…", comment = "…")` | a call that shows how to use it; may be repeated. `params` is JSON, `output` and `comment` may be left out |
///
/// # Previews
///
/// The function of `preview` takes the arguments of the gadget in the same order, by reference and without the context. It is
/// not `async`, changes nothing, and returns a `CallPreview` or what becomes one: a `Subject`, a text for the user, or a `Result`,
/// whose error refuses the call. It runs before the decision and again when the call executes; if the two differ, the call is
/// decided about again. In `#[gadgets]` it is a method of the type, in an impl block of its own.
///
/// # Errors
///
/// Mistakes are compile errors where they were made, all at once.
#[proc_macro_attribute]
pub fn gadget(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    gadget_tokens(arguments.into(), &item.into()).into()
}

/// Makes gadgets of the methods of an `impl` block.
///
/// Each method is a gadget as a function with `#[gadget]` is one: doc comment, parameters and result are the same. Arguments
/// are given to a method by its own `#[gadget(…)]`, such as `#[gadget(timeout = "10s")]`. The methods take `&self` and stay as
/// they are. The type gets a method `gadgets(self: &Arc<Self>) -> Vec<Arc<dyn DynGadget>>`: all of them share the value, and
/// so does the program.
///
/// Functions that are not gadgets go into an impl block of their own. The type and the block have no generics.
///
/// # Errors
///
/// Mistakes are compile errors where they were made, all at once.
#[proc_macro_attribute]
pub fn gadgets(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    methods::tokens(&arguments.into(), &item.into()).into()
}

fn gadget_tokens(
    arguments: proc_macro2::TokenStream,
    item: &proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let function = match ast::Function::parse(item.clone()) {
        Ok(function) => function,
        Err(mistake) => return fallback::item(item, &mistake),
    };
    let mut mistakes = mistakes::Mistakes::default();
    let options = attr::Options::parse(arguments, &mut mistakes);
    let gadget = valid::Gadget::check(&function, options, &mut mistakes);
    match mistakes.into_error() {
        None => expand::gadget(&function, &gadget),
        Some(error) => fallback::function(&function, &gadget, &error),
    }
}
