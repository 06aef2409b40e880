//! The way to a collector: one of our own, with the published messages of OTLP.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use gadgetry::Agent;
use gadgetry_otel::{Exporter, ExporterError};
use gadgetry_testing::{MockGadget, MockModel, call, reply};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use tokio::net::TcpListener;

type Received = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

/// A collector that answers with this status; `None`: never.
async fn collector(status: Option<StatusCode>) -> (String, Received) {
    let received = Received::default();
    let seen = Arc::clone(&received);
    let take = move |body: Bytes| async move {
        let Some(status) = status else {
            return std::future::pending().await;
        };
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        seen.lock().unwrap().push(request);
        status
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, received)
}

async fn run(url: &str) -> Result<(), ExporterError> {
    let exporter = Exporter::to(url, "shop").unwrap();
    let model = MockModel::in_order([reply().call(call("Fetch").id("a")), reply().text("Done.")]);
    let fetch = MockGadget::builder("Fetch").returns("page").build();
    let agent = Agent::builder().model(model).gadget(fetch);
    let answer = agent.hook(exporter.spans()).ask("?").unwrap().text().await;
    assert_eq!(answer.unwrap(), "Done.");
    exporter.shutdown().await
}

#[tokio::test]
async fn spans_arrive() {
    let (url, received) = collector(Some(StatusCode::OK)).await;
    run(&url).await.unwrap();
    let received = received.lock().unwrap();
    let resources: Vec<_> = received.iter().flat_map(|it| &it.resource_spans).collect();
    let spans = resources
        .iter()
        .flat_map(|it| &it.scope_spans)
        .flat_map(|it| &it.spans);
    let mut names: Vec<_> = spans.map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "chat mock",
            "chat mock",
            "execute_tool Fetch",
            "invoke_agent"
        ]
    );
    let resource = resources[0].resource.as_ref().unwrap();
    let service = resource
        .attributes
        .iter()
        .find(|it| it.key == "service.name")
        .unwrap();
    let service = service.value.clone().unwrap().value.unwrap();
    assert_eq!(service, Value::StringValue("shop".to_owned()));
}

#[tokio::test]
async fn a_collector_that_takes_nothing_is_reported_and_stops_no_run() {
    let (refusing, _) = collector(Some(StatusCode::FORBIDDEN)).await;
    let (silent, _) = collector(None).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    drop(listener);
    for (url, expected) in [
        (refusing, "403"),
        // It costs the program no more than that.
        (silent, "the collector did not answer within 500ms"),
        (dead, "error"),
    ] {
        let error = run(&url).await.unwrap_err();
        let ExporterError::Undelivered(reason) = &error else {
            panic!("{url}: {error}");
        };
        assert!(reason.contains(expected), "{url}: {reason}");
    }
}

#[tokio::test]
async fn a_url_that_is_none_is_an_error() {
    let error = Exporter::to("not a URL", "shop").unwrap_err();
    assert!(matches!(error, ExporterError::Environment(_)), "{error}");
}
