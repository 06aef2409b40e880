//! The gateway in this process, for the official SDKs; exchanges, for the AI SDK.

use axum::Router;
use gadgetry::Delta;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::gateway;
use gadgetry_gateway::exchange;
use napi::Env;
use napi::bindgen_prelude::{Buffer, PromiseRaw, Uint8Array};
use napi_derive::napi;
use std::sync::Arc;
use tokio::sync::Notify;

use crate::errors::{bad, contained, raised};

/// A gateway to one server.
#[napi]
pub struct InProcess(Router);

#[napi]
impl InProcess {
    /// Creates a gateway to the server at `base_url`. Headers are names and values in turn.
    #[napi(constructor)]
    pub fn new(
        base_url: String,
        api: String,
        api_key: Option<String>,
        headers: Vec<String>,
        proxy: Option<String>,
        reads_environment: bool,
    ) -> napi::Result<Self> {
        let http = gateway::http(pairs(headers), proxy, reads_environment);
        let made = gateway::router(base_url, &api, api_key, http);
        made.map(Self).map_err(raised)
    }

    /// Sends a request, and waits for the head of the response. Headers are names and values in turn.
    #[napi]
    pub fn send<'env>(
        &self,
        env: &'env Env,
        method: String,
        target: String,
        headers: Vec<String>,
        body: Uint8Array,
        abort: &Abort,
    ) -> napi::Result<PromiseRaw<'env, Reply>> {
        let request = gateway::request(&method, &target, pairs(headers), body.to_vec());
        let request = request.map_err(raised)?;
        let (router, abort) = (self.0.clone(), Arc::clone(&abort.0));
        env.spawn_future(contained(async move {
            tokio::select! {
                reply = gateway::answered(router, request) => Ok(Reply(reply)),
                () = abort.notified() => Err(bad("the request was aborted")),
            }
        }))
    }
}

fn pairs(headers: Vec<String>) -> Vec<(String, String)> {
    let mut headers = headers.into_iter();
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (headers.next(), headers.next()) {
        pairs.push((name, value));
    }
    pairs
}

/// Ends a request that has no response yet.
#[napi]
pub struct Abort(Arc<Notify>);

#[napi]
impl Abort {
    /// Creates a signal for one request.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(Arc::new(Notify::new()))
    }

    /// Ends the request that waits for this signal.
    #[napi]
    pub fn abort(&self) {
        self.0.notify_one();
    }
}

/// A response, whose body is read piece by piece. Dropping it ends the request.
#[napi]
pub struct Reply(gateway::Reply);

#[napi]
impl Reply {
    /// The status.
    #[napi(getter)]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// Names and values of the headers in turn.
    #[napi(getter)]
    pub fn headers(&self) -> Vec<String> {
        let headers = self.0.headers.iter();
        let headers = headers
            .flat_map(|(name, value)| [name.clone(), String::from_utf8_lossy(value).into_owned()]);
        headers.collect()
    }

    /// The next piece of the body; nothing at its end.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<Buffer>>> {
        let next = self.0.next();
        env.spawn_future(contained(async move {
            match next.await {
                Some(Ok(bytes)) => Ok(Some(Buffer::from(bytes.to_vec()))),
                Some(Err(error)) => Err(napi::Error::from_reason(error.to_string())),
                None => Ok(None),
            }
        }))
    }

    /// Ends the request; the rest of its body is not read.
    #[napi]
    pub fn close(&self) {
        self.0.close();
    }
}

/// One request with tools, on a model that the caller sends requests to.
#[napi]
pub struct Exchange(exchange::Exchange);

#[napi]
impl Exchange {
    /// Begins it with a request of Chat Completions, a random number as 32 hexadecimal digits, and options.
    #[napi(constructor)]
    pub fn new(body: String, id: String, options: String) -> napi::Result<Self> {
        let body = serde_json::from_str(&body).map_err(bad)?;
        let id = u128::from_str_radix(&id, 16).map_err(bad)?;
        let begun = Fields::parse(&options).and_then(|it| gateway::exchange(body, id, it));
        begun.map(Self).map_err(raised)
    }

    /// The request for the model, as JSON.
    #[napi]
    pub fn request(&self) -> napi::Result<String> {
        serde_json::to_string(&self.0.request()).map_err(bad)
    }

    /// Takes deltas of the model, as JSON; returns those of the client and the next step.
    #[napi]
    pub fn push(&mut self, deltas: String) -> napi::Result<String> {
        let deltas: Vec<Delta> = serde_json::from_str(&deltas).map_err(bad)?;
        Ok(gateway::push(&mut self.0, deltas).to_string())
    }
}
