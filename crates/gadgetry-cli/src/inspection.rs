//! The page that shows the runs of this program while they are in progress.

use std::net::Ipv4Addr;
use std::sync::OnceLock;

use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::Request;
use gadgetry_gateway::Gateway;
use gadgetry_gateway::trace::{RequestEnd, RequestWatch, RequestWatcher, TracedRequest};
use gadgetry_inspect::{Inspector, LiveExchange};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::printer::Printer;

/// The hook of all agents of the program.
static INSPECTOR: OnceLock<Inspector> = OnceLock::new();

/// Returns the hook that shows runs, if there is a page.
pub(crate) fn inspector() -> Option<Inspector> {
    INSPECTOR.get().cloned()
}

/// Shows the requests to a gateway, if there is a page.
pub(crate) fn watch(gateway: &Gateway) {
    if let Some(inspector) = inspector() {
        gateway.watch(Requests(inspector));
    }
}

/// Makes runs of requests to a gateway.
struct Requests(Inspector);

impl RequestWatcher for Requests {
    fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestWatch> {
        let api = request.api.name();
        Box::new(OneRequest(self.0.exchange(request.id, api, request.model)))
    }
}

struct OneRequest(LiveExchange);

impl RequestWatch for OneRequest {
    fn sent(&mut self, request: &Request) {
        self.0.sent(request);
    }

    fn received(&mut self, delta: &Delta) {
        self.0.received(delta);
    }

    fn delivered(&mut self, delta: &Delta) {
        self.0.delivered(delta);
    }

    fn end(self: Box<Self>, end: &RequestEnd<'_>) {
        let problem = match end.status {
            Some(200) => None,
            Some(599) => Some("the reply has failed".to_owned()),
            Some(status) => Some(format!("answered with the status {status}")),
            None => Some("the client has disconnected".to_owned()),
        };
        self.0.end(problem.as_deref());
    }
}

/// Does the work of the program with a page if one is `wanted`, and prints its address first.
pub(crate) async fn inspected(
    work: impl Future<Output = Result<(), Error>>,
    wanted: bool,
    printer: &Printer,
) -> Result<(), Error> {
    if !wanted {
        return work.await;
    }
    let machine = |error| Error::machine(&error);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(machine)?;
    let address = listener.local_addr().map_err(machine)?;
    // The program does one work.
    let inspector = INSPECTOR.get_or_init(Inspector::new).clone();
    printer.progress(&format!("inspect {}\n", inspector.url(address)));
    let (end, ended) = oneshot::channel::<()>();
    let server = tokio::spawn(inspector.serve(listener, async move {
        // It ends with its sender, too.
        let _ = ended.await;
    }));
    let done = work.await;
    // Pages receive the ends of their runs.
    drop(end);
    let _ = server.await;
    done
}
