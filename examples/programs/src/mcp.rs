//! The tools of an MCP server as gadgets. Reading is allowed, and nothing else.

use gadgetry::approval::{Approvals, Rules};
use gadgetry::{Agent, Model};
use gadgetry_mcp::{ServerConfig, Servers};

use crate::Error;

/// Answers a question about the files of `server`.
pub(crate) async fn answer(
    model: impl Model + 'static,
    server: ServerConfig,
) -> Result<String, Error> {
    let servers = Servers::connect([("files".to_owned(), server)]).await;
    let approvals = Approvals::new(Rules::parse(["allow read_text_file@files"])?);
    let agent = Agent::builder()
        .model(model)
        .gadgets(servers.gadgets(&[]).gadgets)
        .approvals(approvals);
    let answer = agent.ask("What is in README.md?")?.text().await;
    servers.close().await;
    Ok(answer?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let args = ["-y", "@modelcontextprotocol/server-filesystem", "."];
    let server = ServerConfig::stdio("npx", args);
    println!("{}", answer(gadgetry::model("haiku")?, server).await?);
    Ok(())
}
