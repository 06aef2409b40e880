//! Requests of clients: lists, calls, prompts.

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};

use super::{GadgetServer, call, prompts};

/// The server's side of one connection.
#[derive(Clone)]
pub(super) struct Handler {
    server: GadgetServer,
    /// Cancelled when the connection has ended.
    ended: CancellationToken,
}

impl Handler {
    pub(super) fn new(server: GadgetServer, ended: CancellationToken) -> Self {
        Self { server, ended }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities = if self.server.options.skills.is_empty() {
            capabilities.build()
        } else {
            capabilities.enable_prompts().build()
        };
        let name = self.server.options.name.clone();
        let info = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")));
        match &self.server.options.instructions {
            Some(text) => info.with_instructions(text),
            None => info,
        }
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let registry = self.server.options.toolbox.registry();
        let tools = registry.iter().map(|gadget| tool(gadget.spec()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let gadget = self.server.options.toolbox.get(name)?;
        Some(tool(gadget.spec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::call(&self.server, &self.ended, request, context).await
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = prompts::list(&self.server.options.skills);
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.server.options.skills, &request)
    }
}

/// A gadget as clients see it.
fn tool(spec: &GadgetSpec) -> Tool {
    let mut schema = spec.parameters.as_object().cloned().unwrap_or_default();
    // Clients refuse a tool without it.
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
    let tool = Tool::new(spec.name.clone(), spec.description.clone(), schema);
    let is_harmless = match spec.on_interrupt {
        OnInterrupt::Rerun => true,
        OnInterrupt::Fail | OnInterrupt::Ask => false,
    };
    if is_harmless {
        tool.with_annotations(ToolAnnotations::new().idempotent(true))
    } else {
        tool
    }
}
