//! One client of our server over HTTP does not stop the others.

use gadgetry::Skills;
use gadgetry_mcp::HttpOptions;
use reqwest::{Method, Response};
use serde_json::json;
use tokio::time::timeout;

use crate::own_server::{Client, KEYS, Serving};
use crate::support::LONG;

async fn listen(client: &Client<'_>, session: &str, event: &str) -> Response {
    let mut headers = vec![("mcp-session-id", session)];
    if !event.is_empty() {
        headers.push(("last-event-id", event));
    }
    let answer = client.send(Method::GET, &headers, String::new());
    timeout(LONG, answer).await.unwrap()
}

/// One key had a stream on each connection, and all others waited.
#[tokio::test]
async fn the_streams_of_one_client_leave_connections_for_others() {
    for has_keys in [true, false] {
        let mut options = HttpOptions::default();
        options.connections = 8;
        if has_keys {
            options.keys = KEYS.map(str::to_owned).to_vec();
        }
        let serving = Serving::start(options, Skills::new()).await;
        let url = &serving.url;
        let [one, other] = KEYS.map(|key| Client { url, key });
        let mut streams = Vec::new();
        for _ in 0..4 {
            let (_, session) = one.open().await;
            let stream = listen(&one, &session, "").await;
            assert_eq!(stream.status(), 200);
            streams.push((session, stream));
        }
        let refused = listen(&one, &streams[0].0, "").await;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()["retry-after"], "1");
        let whose = if has_keys { " of this key" } else { "" };
        let expected = format!(
            "4 requests{whose} are in flight, event streams included, and no more are admitted now: \
             end some of them, or repeat this one later\n"
        );
        assert_eq!(refused.text().await.unwrap(), expected);
        let opened = timeout(LONG, other.open()).await.unwrap().0;
        assert_eq!(opened, if has_keys { 200 } else { 429 });
        // The server learns of a stream's end when its connection is closed.
        let (session, stream) = streams.remove(0);
        drop(stream);
        let admitted = async { while one.uses(&session).await != 202 {} };
        timeout(LONG, admitted).await.unwrap();
        drop(streams);
        serving.end().await;
    }
}

/// A client that has lost its connection listens again, and receives what is for it.
#[tokio::test]
async fn a_session_has_one_event_stream() {
    let serving = Serving::start(HttpOptions::default(), Skills::new()).await;
    let url = &serving.url;
    let client = Client { url, key: KEYS[0] };
    let (_, session) = client.open().await;
    let mut before = listen(&client, &session, "").await;
    for event in ["", "0", "0", ""] {
        let new = listen(&client, &session, event).await;
        assert_eq!(new.status(), 200, "{event:?}");
        timeout(LONG, before.text()).await.unwrap().unwrap();
        before = new;
    }
    // This one resumes the answer to a request, so the session's stream stays.
    let resumed = listen(&client, &session, "0/1000").await;
    assert_eq!(resumed.status(), 200);
    timeout(LONG, resumed.text()).await.unwrap().unwrap();
    let waits = async { while before.chunk().await.unwrap().is_some() {} };
    tokio::select! {
        biased;
        () = waits => panic!("the stream has ended"),
        used = client.uses(&session) => assert_eq!(used, 202),
    }
    let headers = [("mcp-session-id", &*session)];
    let ended = client
        .send(Method::DELETE, &headers, json!({}).to_string())
        .await;
    assert_eq!(ended.status(), 202);
    timeout(LONG, before.text()).await.unwrap().unwrap();
    serving.end().await;
}
