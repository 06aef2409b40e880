//! A server on this machine, and a model that can be watched.

use std::sync::Arc;

use axum::Router;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::approval::{Approvals, Rules};
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::message::Request;
use gadgetry::{Agent, Model, Role, gadget};
use gadgetry_testing::{MockModel, reply};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Serves a router at a free port. Returns its base URL.
pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// An HTTP client that does not go through a proxy.
pub(crate) fn client() -> Client {
    let (tls, _) = gadgetry_providers::tls::config();
    let client = Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().build().unwrap()
}

/// Deploys the service.
#[gadget]
pub(crate) fn deploy(to: String) -> String {
    format!("deployed to {to}")
}

/// An agent whose first reply deploys, which these rules decide about, and whose second one says `Done.`
pub(crate) fn deployer(rules: &[&str]) -> Agent {
    deploying(rules, &["staging"])
}

/// The same, to several places.
pub(crate) fn deploying(rules: &[&str], places: &'static [&'static str]) -> Agent {
    let model = MockModel::builder().unchecked().when(|any| any);
    let model = model.replies_by(move |request| {
        let is_first = request.messages.iter().all(|it| it.role != Role::Assistant);
        let call = |to: &&str| format!("!!!GADGET_START:Deploy\n!!!ARG:to\n{to}\n!!!GADGET_END\n");
        let calls = places.iter().map(call).collect::<Vec<_>>().concat();
        let text = format!("On it.\n{calls}");
        let text = if is_first { &text } else { "Done." };
        reply().text(text).tokens(10, 5)
    });
    let approvals = Approvals::new(Rules::parse(rules).unwrap()).in_stream();
    let agent = Agent::builder().model(model.build()).gadget(Deploy);
    agent.approvals(approvals).build().unwrap()
}

/// A model that says `Hello` and never ends.
pub(crate) struct Endless {
    open: watch::Sender<usize>,
}

impl Endless {
    /// The agent, and the number of replies that it reads.
    pub(crate) fn agent() -> (Agent, watch::Receiver<usize>) {
        let (open, receiver) = watch::channel(0);
        let agent = Agent::builder().model(Self { open });
        (agent.build().unwrap(), receiver)
    }
}

struct Open(watch::Sender<usize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl Model for Endless {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        self.open.send_modify(|open| *open += 1);
        let open = Arc::new(Open(self.open.clone()));
        stream::once(async { Delta::text("Hello\n") })
            .chain(stream::pending())
            .map(move |delta| {
                let _ = &open;
                delta
            })
            .boxed()
    }

    fn name(&self) -> &'static str {
        "endless"
    }
}

/// A model whose calls all fail.
pub(crate) struct Failing(pub(crate) ModelErrorKind);

impl Model for Failing {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let mut error = ModelError::new(self.0, "the account sk-1 has no money");
        error.retry_after_ms = Some(7_000);
        stream::iter([Delta::Error(error)]).boxed()
    }

    fn name(&self) -> &'static str {
        "failing"
    }
}

/// The events of a response, as they come.
pub(crate) struct Events {
    response: Response,
    text: String,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        Self {
            response,
            text: String::new(),
        }
    }

    /// The data of the next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                match data {
                    Some(data) => return Some(data.to_owned()),
                    // A comment.
                    None => continue,
                }
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        while let Some(data) = self.next().await {
            let event: Value = serde_json::from_str(&data).unwrap();
            if event["type"] == kind {
                return event;
            }
        }
        panic!("no {kind}");
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(data) = self.next().await {
            rest.push(data);
        }
        rest
    }
}
