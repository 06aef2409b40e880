//! The catalog: one section for each gadget.

use serde_json::Value;

use crate::prompt::params::parameter_list;

/// The entry of one gadget in the catalog.
#[derive(Clone, Copy, Debug)]
pub struct CatalogEntry<'a> {
    /// The name that a block's header gives.
    pub name: &'a str,
    /// The purpose of the gadget.
    pub description: &'a str,
    /// JSON Schema of the parameters.
    pub schema: &'a Value,
    /// Calls to learn from.
    pub examples: &'a [CatalogExample<'a>],
}

/// A call to learn from.
#[derive(Clone, Copy, Debug)]
pub struct CatalogExample<'a> {
    /// A comment on the example.
    pub comment: Option<&'a str>,
    /// The call as a block, written with the run's markers.
    pub block: &'a str,
    /// The result of the call.
    pub output: Option<&'a str>,
}

/// The sections of all `entries`, in order, with a blank line between them.
pub fn catalog(entries: &[CatalogEntry<'_>]) -> String {
    let sections: Vec<String> = entries.iter().map(section).collect();
    sections.join("\n\n")
}

fn section(entry: &CatalogEntry<'_>) -> String {
    let mut out = format!("## {}\n", entry.name);
    let description = entry.description.trim();
    if !description.is_empty() {
        out.push_str(description);
        out.push('\n');
    }
    let parameters = parameter_list(entry.schema);
    if parameters.is_empty() {
        out.push_str("Parameters: none");
    } else {
        out.push_str("Parameters:\n");
        out.push_str(&parameters);
    }
    for example in entry.examples {
        write_example(&mut out, example);
    }
    out
}

fn write_example(out: &mut String, example: &CatalogExample<'_>) {
    let comment = example.comment.map(str::trim).unwrap_or_default();
    if comment.is_empty() {
        out.push_str("\nExample:\n");
    } else {
        out.push_str("\nExample: ");
        out.push_str(comment);
        out.push('\n');
    }
    out.push_str(example.block.trim_end_matches('\n'));
    if let Some(output) = example.output {
        let output = output.trim_end_matches('\n');
        out.push_str(if output.contains('\n') {
            "\nOutput:\n"
        } else {
            "\nOutput: "
        });
        out.push_str(output);
    }
}
