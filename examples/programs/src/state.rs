//! Gadgets with a database of the program, and the user of each request.

use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::{Agent, Model, gadget};

use crate::Error;

/// The notes of all users: the user, and the text.
pub(crate) type Notes = Arc<Mutex<Vec<(String, String)>>>;

/// The user of a request.
pub(crate) struct User(pub(crate) String);

/// Keeps a note
#[gadget]
fn remember(
    #[gadget(with)] notes: &Notes,
    #[gadget(with)] user: &User,
    text: String,
) -> &'static str {
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    notes.push((user.0.clone(), text));
    "kept"
}

/// Lists the notes of the user
#[gadget]
fn list(#[gadget(with)] notes: &Notes, #[gadget(with)] user: &User) -> Vec<String> {
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    let own = notes.iter().filter(|(owner, _)| *owner == user.0);
    own.map(|(_, text)| text.clone()).collect()
}

/// One agent for all requests.
pub(crate) fn agent(model: impl Model + 'static, notes: Notes) -> Result<Agent, Error> {
    let agent = Agent::builder()
        .model(model)
        .gadget(Remember)
        .gadget(List)
        .with(notes);
    Ok(agent.build()?)
}

/// Answers a request of `user`.
pub(crate) async fn answer(agent: &Agent, user: &str, prompt: &str) -> Result<String, Error> {
    Ok(agent.ask(prompt).with(User(user.to_owned())).text().await?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let agent = agent(gadgetry::model("haiku")?, Notes::default())?;
    println!(
        "{}",
        answer(&agent, "ada", "Remember that I like tea").await?
    );
    println!(
        "{}",
        answer(&agent, "bob", "What do you know about me?").await?
    );
    Ok(())
}
