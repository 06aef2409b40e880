//! Resources of servers as two gadgets: one lists them, the other reads one.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry::proto::schema::{OnInterrupt, closest};
use gadgetry::{DynGadget, ExecutionContext, GadgetSpec, Outcome, Permission};
use serde_json::{Value, json};

use super::content;
use super::remote::Remote;

/// The name of the gadget that lists the resources of servers, unless it is taken.
pub const LIST: &str = "ListResources";
/// The name of the gadget that reads a resource, unless it is taken.
pub const READ: &str = "ReadResource";

/// Resources that are listed.
const LISTED: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    Read,
}

struct ResourceGadget {
    spec: GadgetSpec,
    remotes: Vec<Arc<Remote>>,
    action: Action,
}

/// The two gadgets for the servers that have resources; none if no server has any.
///
/// `name` gives the name of a gadget, because the caller may have used it already.
pub(super) fn gadgets(
    remotes: &[Arc<Remote>],
    name: impl Fn(&str) -> String,
) -> Vec<Arc<dyn DynGadget>> {
    let remotes = remotes.iter().filter(|remote| remote.lists().has_resources);
    let remotes: Vec<Arc<Remote>> = remotes.map(Arc::clone).collect();
    if remotes.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = remotes.iter().map(|remote| remote.name.as_str()).collect();
    let server = json!({ "type": "string", "enum": names, "description": "The server; not needed if there is only one" });
    let uri = json!({ "type": "string", "description": "The URI of the resource, as listed" });
    let list = json!({ "type": "object", "properties": { "server": server } });
    let read = json!({ "type": "object", "properties": { "server": server, "uri": uri }, "required": ["uri"] });
    let actions = [
        (
            Action::List,
            LIST,
            "Lists the resources of MCP servers: URI, title, type and description",
            list,
        ),
        (
            Action::Read,
            READ,
            "Reads a resource of an MCP server",
            read,
        ),
    ];
    let gadget = |(action, plain, description, schema)| {
        let spec = GadgetSpec::new(name(plain), description).parameters(schema);
        let gadget = ResourceGadget {
            spec: GadgetSpec {
                on_interrupt: OnInterrupt::Rerun,
                ..spec
            },
            remotes: remotes.clone(),
            action,
        };
        Arc::new(gadget) as Arc<dyn DynGadget>
    };
    actions.into_iter().map(gadget).collect()
}

impl DynGadget for ResourceGadget {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    /// Lists or reads. Needs a tokio runtime with I/O and time enabled.
    ///
    /// Cancel safety: dropping the future cancels the request at the server.
    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let (remotes, action) = (self.remotes.clone(), self.action);
        Box::pin(async move {
            let wanted = parameters["server"].as_str();
            let chosen: Vec<Arc<Remote>> = remotes
                .iter()
                .filter(|remote| wanted.is_none_or(|name| name == remote.name))
                .map(Arc::clone)
                .collect();
            match action {
                Action::List => list(&chosen, &context).await,
                Action::Read => {
                    let uri = parameters["uri"].as_str().unwrap_or_default();
                    read(&chosen, uri, &context).await
                }
            }
        })
    }
}

async fn list(remotes: &[Arc<Remote>], context: &ExecutionContext) -> Outcome {
    let mut lines = Vec::new();
    for remote in remotes {
        match remote.resources(context).await {
            Ok(all) => {
                let total = all.len();
                for resource in all.iter().take(LISTED) {
                    lines.push(format!("{}: {}", remote.name, content::link(resource)));
                }
                if total > LISTED {
                    lines.push(format!(
                        "{}: {} more are not listed",
                        remote.name,
                        total - LISTED
                    ));
                }
            }
            Err(error) => lines.push(format!("{}: {error}", remote.name)),
        }
    }
    if lines.is_empty() {
        lines.push("There are no resources.".to_owned());
    }
    Outcome::ok(lines.join("\n"))
}

async fn read(remotes: &[Arc<Remote>], uri: &str, context: &ExecutionContext) -> Outcome {
    match remotes {
        [remote] => match remote.read(uri, context).await {
            Ok(result) => content::resource(&result),
            Err(error) => {
                let hint = hint(remote, uri, context).await;
                Outcome::error(format!("{error}{hint}"))
            }
        },
        several => {
            let names: Vec<&str> = several.iter().map(|remote| remote.name.as_str()).collect();
            Outcome::error(format!("name the server: {}", names.join(", ")))
        }
    }
}

/// The URIs that may have been meant.
async fn hint(remote: &Remote, uri: &str, context: &ExecutionContext) -> String {
    let known = remote.resources(context).await.unwrap_or_default();
    let known: Vec<&str> = known.iter().filter_map(|it| it["uri"].as_str()).collect();
    let closest = closest(uri, known);
    if closest.is_empty() {
        String::new()
    } else {
        format!(". Did you mean {}?", closest.join(" or "))
    }
}
