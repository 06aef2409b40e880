//! A chat with sessions, each answer as server-sent events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::{Router, routing};
use gadgetry::{Agent, Conversation, Model};
use gadgetry_axum::{Sse, for_this_machine};

use crate::Error;

#[derive(Clone)]
struct Chat {
    agent: Agent,
    sessions: Arc<Mutex<BTreeMap<String, Conversation>>>,
}

async fn say(State(chat): State<Chat>, Path(session): Path<String>, text: String) -> Sse {
    let sessions = Arc::clone(&chat.sessions);
    let all = || sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let talk = all().get(&session).cloned().unwrap_or_default();
    let sessions = Arc::clone(&chat.sessions);
    Sse::events(chat.agent.ask_owned(talk, text)).at_end(move |talk| {
        let mut all = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(session, talk);
    })
}

/// `POST /chat/{session}` with what the user says.
pub(crate) fn app(model: impl Model + 'static) -> Result<Router, Error> {
    let agent = Agent::builder().model(model).build()?;
    let chat = Chat {
        agent,
        sessions: Arc::default(),
    };
    Ok(Router::new()
        .route("/chat/{session}", routing::post(say))
        .with_state(chat))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, for_this_machine(app(gadgetry::model("haiku")?)?)).await?)
}
