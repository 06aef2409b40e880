//! A gateway before a scripted text model, for clients in other languages: prints its URL, and serves until stdin is closed.

#![expect(dead_code, reason = "the tests use more of what they share")]

#[path = "../tests/support/upstream.rs"]
mod upstream;

use std::sync::Arc;

use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{Gateway, Settings, server};
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig};
use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = upstream::Upstream::start().await;
    let target = Target::Server {
        url: BaseUrl::new(model.url()),
        api: Api::Chat,
        key: None,
    };
    let upstream = Upstream::new("scripted", target, HttpConfig::new())?;
    let gateway = Gateway::new(Settings::default().upstreams(vec![Arc::new(upstream)]));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    write_line(&format!("http://{address}"));
    server::serve(listener, gateway, async {
        // It ends with the program that has started it.
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    })
    .await;
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "the URL is what the program is started for"
)]
fn write_line(line: &str) {
    println!("{line}");
}
