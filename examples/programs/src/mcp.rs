//! The tools of an MCP server as gadgets. Reading is allowed; the user decides about the rest.

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::{Agent, Model};
use gadgetry_mcp::{ServerConfig, Servers};

use crate::Error;

async fn ask_user(request: ApprovalRequest) -> Answer {
    for line in request.lines() {
        println!("{line}");
    }
    println!("Run this? (y/n)");
    let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await;
    match line {
        Ok(Some(Ok(line))) if line == "y" => Answer::Once,
        _ => Answer::No(None),
    }
}

/// Answers with the tools of `server`.
pub(crate) async fn answer(
    model: impl Model + 'static,
    server: ServerConfig,
    prompt: &str,
) -> Result<String, Error> {
    let servers = Servers::connect([("files".to_owned(), server)]).await;
    let approvals = Approvals::new(Rules::parse(["allow read_text_file"])?).approver(ask_user);
    let agent = Agent::builder()
        .model(model)
        .gadgets(servers.gadgets(&[]).gadgets)
        .approvals(approvals);
    let answer = agent.ask(prompt)?.text().await;
    servers.close().await;
    Ok(answer?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let server = ServerConfig::stdio(
        "npx",
        ["-y", "@modelcontextprotocol/server-filesystem", "."],
    );
    println!(
        "{}",
        answer(gadgetry::model("haiku")?, server, "What is in README.md?").await?
    );
    Ok(())
}
