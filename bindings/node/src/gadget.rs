//! Gadgets that are functions of JavaScript, built-in ones, tools of MCP servers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use gadgetry::{CallPreview, DynGadget, ExecutionContext, GadgetSpec, Outcome, Permission};
use gadgetry_bindings::foreign;
use gadgetry_bindings::outcome::outcome;
use gadgetry_mcp::Servers;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use serde_json::{Value, json};

use crate::errors::{bad, contained, raised};
use crate::host::Host;

/// A gadget that is a function of JavaScript: the one with this number in its agent.
pub(crate) struct Function {
    pub(crate) spec: GadgetSpec,
    pub(crate) permission: Permission,
    pub(crate) number: u32,
}

impl DynGadget for Function {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn permission(&self) -> Permission {
        self.permission
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let _ = parameters;
        Box::pin(std::future::ready(Ok(CallPreview::default())))
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let number = self.number;
        Box::pin(async move {
            let Ok(host) = context.get::<Arc<Host>>() else {
                return Outcome::error("this gadget is called by agents of its package only");
            };
            let json = parameters.to_string();
            let mut call = host.start("gadget", number, json, Some(context.clone()));
            // A function can end by itself: its signal is aborted, and it has the grace period for its `finally`.
            let answer = tokio::select! {
                answer = call.answer() => answer,
                () = context.cancellation().cancelled() => {
                    call.cancel();
                    call.answer().await
                }
            };
            outcome(answer)
        })
    }
}

/// A gadget that is not JavaScript.
#[napi]
pub struct NativeGadget(pub(crate) Arc<dyn DynGadget>);

#[napi]
impl NativeGadget {
    /// Returns the specification of the gadget, as JSON.
    #[napi(getter)]
    pub fn spec(&self) -> napi::Result<String> {
        serde_json::to_string(self.0.spec()).map_err(bad)
    }

    /// Returns the permission of calls that no rule is about.
    #[napi(getter)]
    pub fn permission(&self) -> &'static str {
        self.0.permission().as_str()
    }
}

/// The built-in gadgets in a folder, or those of these names.
#[napi]
pub fn builtins(folder: String, names: Option<Vec<String>>) -> napi::Result<Vec<NativeGadget>> {
    let gadgets = foreign::builtins(PathBuf::from(folder), names).map_err(raised)?;
    Ok(gadgets.into_iter().map(NativeGadget).collect())
}

/// Connections to MCP servers.
#[napi]
pub struct McpServers(Mutex<Option<Servers>>);

#[napi]
impl McpServers {
    /// Connects to servers, by their names, as JSON.
    #[napi]
    pub fn connect(env: &Env, configs: String) -> napi::Result<PromiseRaw<'_, McpServers>> {
        let configs = serde_json::from_str(&configs).map_err(bad)?;
        let configs = foreign::servers(configs).map_err(raised)?;
        env.spawn_future(contained(async move {
            let servers = Servers::connect(configs).await;
            Ok(McpServers(Mutex::new(Some(servers))))
        }))
    }

    /// The tools as gadgets.
    #[napi]
    pub fn gadgets(&self, reserved: Vec<String>) -> Vec<NativeGadget> {
        self.tools(&reserved).0
    }

    /// Returns the problems of servers and tools, as JSON.
    #[napi]
    pub fn problems(&self, reserved: Vec<String>) -> String {
        json!(self.tools(&reserved).1).to_string()
    }

    fn tools(&self, reserved: &[String]) -> (Vec<NativeGadget>, Vec<String>) {
        let servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(servers) = servers.as_ref() else {
            return Default::default();
        };
        let (gadgets, problems) = foreign::tools(servers, reserved);
        (gadgets.into_iter().map(NativeGadget).collect(), problems)
    }

    /// Ends the connections.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let servers = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        env.spawn_future(contained(async move {
            if let Some(servers) = servers {
                servers.close().await;
            }
            Ok(())
        }))
    }
}
