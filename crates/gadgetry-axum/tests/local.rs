//! What a server for this machine answers.

use axum::Router;
use axum::routing::get;
use gadgetry_axum::for_this_machine;

use crate::support::{client, serve};

#[tokio::test]
async fn other_hosts_and_other_pages_are_refused() {
    let app = Router::new().route("/", get(|| async { "the answer" }));
    let url = serve(for_this_machine(app)).await;
    let check = async |headers: &[(&str, &str)], status: u16| {
        let request = client().get(&url);
        let request = headers
            .iter()
            .fold(request, |it, (name, value)| it.header(*name, *value));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{headers:?}");
        let text = answer.text().await.unwrap();
        assert_eq!(text.contains("the answer"), status == 200, "{headers:?}");
    };
    check(&[], 200).await;
    check(&[("host", "localhost:3000")], 200).await;
    check(&[("origin", &url)], 200).await;
    check(&[("sec-fetch-site", "same-origin")], 200).await;
    check(&[("host", "evil.com")], 403).await;
    check(&[("host", "127.0.0.1.evil.com")], 403).await;
    check(&[("origin", "http://evil.com")], 403).await;
    check(&[("origin", "null")], 403).await;
    check(&[("sec-fetch-site", "cross-site")], 403).await;
}
