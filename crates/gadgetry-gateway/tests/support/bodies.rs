//! What is true of any body that a client may send. The fuzz targets call it too.

use std::sync::Arc;

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::{
    Exchange, ExchangeStep, ModelRules, PreparedRequest, Secrets, Setup, Toolset,
};
use gadgetry_proto::delta::{Delta, StopReason};

/// Reads a body, and lets a model answer it. It may be refused, and nothing panics.
pub(crate) fn check(api: ClientApi, body: &[u8]) {
    let Ok(body) = serde_json::from_slice(body) else {
        return;
    };
    let Ok(request) = api.decode(body) else {
        return;
    };
    let Ok(tools) = Toolset::new(request.tools.clone()) else {
        return;
    };
    let mut encoder = api.encoder(&request, "1", 0);
    let secrets = Secrets::new(ModelRules::default().markers, 1);
    let exchange = Exchange::new(Setup {
        request: Arc::new(PreparedRequest {
            tools: Arc::new(tools),
            client: Arc::new(request),
            secrets,
            id_prefix: api.call_prefix(),
            owner: None,
            held: Arc::default(),
            reply_bytes: 1 << 20,
        }),
        id: 1,
        rules: Arc::default(),
        is_native: false,
        constraint: None,
    });
    let mut exchange = exchange.expect("the default rules are valid");
    let sent = exchange.request();
    // A model that repeats all that it reads.
    let mut out = Vec::new();
    let mut is_over = false;
    for message in sent.all_messages() {
        let text = gadgetry_proto::convo::prompt_text(message);
        is_over = is_over || exchange.push(Delta::text(text), &mut out) != ExchangeStep::More;
    }
    if !is_over {
        let end = Delta::MessageEnd {
            stop_reason: StopReason::Stop,
            usage: None,
        };
        exchange.push(end, &mut out);
    }
    let mut frames = Vec::new();
    for delta in out {
        encoder.delta(delta, &mut frames);
    }
    let _ = encoder.document();
}
