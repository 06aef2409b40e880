//! Rules and questions are about a tool as its server defines it at the call.

use std::sync::{Arc, Mutex};

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::{Agent, DynGadget, ScriptedModel};
use gadgetry_mcp::Servers;
use serde_json::json;

use crate::support::{LONG, call, connect, gadget, odd};

/// The server defines its tool `Call` anew, and tells us.
async fn swap(servers: &Servers) {
    let mut changes = servers.changes();
    let changed = call(servers, "Change", json!({})).await;
    assert_eq!(changed.as_deref(), Ok("changed"));
    let told = tokio::time::timeout(LONG, changes.changed()).await;
    told.expect("the server tells").expect("a connection");
}

/// What a model reads that calls the gadget once.
async fn said(gadget: &Arc<dyn DynGadget>, approvals: Approvals) -> String {
    let block = "!!!GADGET_START:Call\n!!!GADGET_END\n";
    let script = format!(
        "{}\n{}",
        json!({ "text": block }),
        json!({ "text": "done" })
    );
    let model: ScriptedModel = script.parse().unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let agent = Agent::builder()
        .model(model)
        .gadgets([Arc::clone(gadget)])
        .approvals(approvals)
        .on_event(move |event: &Event| {
            if let EventKind::GadgetResult {
                answer: CallAnswer::Result(text) | CallAnswer::Error(text),
                ..
            } = &event.kind
            {
                sink.lock().unwrap().push_str(text);
            }
        });
    agent.ask("go").unwrap().text().await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[tokio::test]
async fn rules_about_a_definition_that_changes() {
    let check = async |rule: &str, before: &str, after: &str| {
        let servers = connect(&[("s", odd(&["swap"]))]).await;
        let gadget = gadget(&servers, "Call");
        let preview = gadget.preview(&json!({})).await.unwrap();
        let rule = rule.replace("HASH", &preview.origin.unwrap().definition);
        let approvals = || Approvals::new(Rules::parse([rule.as_str()]).unwrap());
        let text = said(&gadget, approvals()).await;
        assert!(text.contains(before), "{rule} before: {text}");
        swap(&servers).await;
        let text = said(&gadget, approvals()).await;
        assert!(text.contains(after), "{rule} after: {text}");
        servers.close().await;
    };
    let asks = "needs approval";
    check("allow Call@s#HASH", "done", asks).await;
    check("allow *@s#HASH", "done", asks).await;
    check("allow Call@s#0123", asks, asks).await;
    check("allow Call@s", "done", "done").await;
    check("allow *@s", "done", "done").await;
    check("allow Call", asks, asks).await;
    let denied = "Denied by the rule";
    check("deny Call@s#HASH", denied, denied).await;
    check("ask Call@s#HASH", asks, asks).await;
}

/// The call that starts the server again is the first to see what the tool is then.
#[tokio::test]
async fn a_server_that_is_another_one_when_it_is_started_again() {
    let check = async |rule: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark").display().to_string();
        let servers = connect(&[("s", odd(&["reborn", &mark]))]).await;
        let gadget = gadget(&servers, "Call");
        let preview = gadget.preview(&json!({})).await.unwrap();
        let rule = rule.replace("HASH", &preview.origin.unwrap().definition);
        let died = call(&servers, "Change", json!({})).await.unwrap_err();
        assert!(died.contains("the server ended during the call"), "{died}");
        let approvals = Approvals::new(Rules::parse([rule.as_str()]).unwrap());
        let text = said(&gadget, approvals).await;
        assert!(text.contains(expected), "{rule}: {text}");
        servers.close().await;
    };
    check("allow Call@s#HASH", "needs approval").await;
    check("allow Call@s", "done").await;
}

/// The server defines the tool anew while the user reads what it was.
#[tokio::test]
async fn a_definition_that_changes_under_the_question() {
    let check = async |answer: fn(&ApprovalRequest) -> Answer| {
        let servers = Arc::new(connect(&[("s", odd(&["swap"]))]).await);
        let gadget = gadget(&servers, "Call");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, server) = (Arc::clone(&asked), Arc::clone(&servers));
        let approvals = Approvals::new(Rules::default()).approver(move |request| {
            let request: ApprovalRequest = request;
            let mut log = log.lock().unwrap();
            log.push(request.preview.notes.join("; "));
            let is_first = log.len() == 1;
            let server = Arc::clone(&server);
            async move {
                if !is_first {
                    return Answer::No(None);
                }
                swap(&server).await;
                answer(&request)
            }
        });
        assert_eq!(said(&gadget, approvals).await, "Denied by the user");
        let tool = "tool \"Call\" of the MCP server \"s\"";
        let changed = "the server has changed what this tool is since it was connected";
        let expected = [tool.to_owned(), format!("{tool}; {changed}")];
        assert_eq!(*asked.lock().unwrap(), expected);
    };
    check(|_| Answer::Once).await;
    check(|request| Answer::Session(request.suggestions().remove(0))).await;
}
