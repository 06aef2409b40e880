//! Requests of servers to us: progress, questions to the user, and to read their lists again.

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ProgressNotificationParam, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::json;
use tokio::sync::Notify;

use super::elicit;
use super::in_flight::InFlight;

/// Characters of a progress message.
const PROGRESS_LENGTH: usize = 500;

/// The client's side of one connection.
pub(super) struct Handler {
    pub(super) server: String,
    pub(super) calls: InFlight,
    /// Notified when the lists have to be read again.
    pub(super) changed: Arc<Notify>,
}

/// Sampling and roots are not offered: a server must neither spend the user's money nor learn about the user's folders.
impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let capabilities = ClientCapabilities::builder().enable_elicitation_with(elicitation);
        ClientConfig::new(
            capabilities.build(),
            Implementation::new("gadgetry", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(elicit::ask(&self.calls, &self.server, request).await)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        // A form that is not one of the protocol cannot be shown.
        if request.method == "elicitation/create" {
            return Ok(CustomResult(json!({ "action": "cancel" })));
        }
        let code = ErrorCode::METHOD_NOT_FOUND;
        Err(ErrorData::new(code, request.method, None))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let done = match progress.total {
            Some(total) => format!("{} of {total}", progress.progress),
            None => progress.progress.to_string(),
        };
        let message = match progress.message {
            Some(message) => format!("{message} ({done})"),
            None => done,
        };
        let message = message.chars().take(PROGRESS_LENGTH).collect();
        self.calls.progress(&progress.progress_token, message);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
