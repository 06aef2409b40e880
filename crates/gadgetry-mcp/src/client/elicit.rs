//! Questions of a server to the user: a form, asked field by field, or an address to open.

use std::mem;

use gadgetry::proto::prompt::Form;
use gadgetry::proto::schema::Schema;
use gadgetry::proto::visible::visible;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value};

use super::in_flight::{InFlight, Questions};

/// Attempts to enter a valid value of one field.
const ATTEMPTS: usize = 3;

/// Fields of a form, at most. A longer one is the mistake of the server, and cancelled before it is read.
const FIELDS: usize = 50;

/// Characters of a message of the server.
const MESSAGE_LENGTH: usize = 4_000;

/// The answers that end a form.
const DECLINE: &str = "/decline";
const CANCEL: &str = "/cancel";

/// Asks the user what `server` wants to know.
pub(super) async fn ask(
    calls: &InFlight,
    server: &str,
    request: ElicitRequestParams,
) -> ElicitResult {
    let Some(user) = calls.form() else {
        return ElicitResult::new(ElicitationAction::Cancel);
    };
    let asked = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => form(&user, server, &message, &requested_schema).await,
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let question = format!(
                "{}\nOpen this address to answer: {}\nAnswer yes once that is done, or no.",
                opening(server, &message),
                visible(&url)
            );
            consent(&user, question).await.map(|()| None)
        }
        // Nothing that the user could have declined.
        _ => Err(ElicitationAction::Cancel),
    };
    match asked {
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Ok(Some(content)) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        Err(action) => ElicitResult::new(action),
    }
}

/// Returns the question with its source, because a server could pretend to be another one.
fn opening(server: &str, message: &str) -> String {
    let message: String = message.chars().take(MESSAGE_LENGTH).collect();
    format!("MCP server {server:?}: {}", visible(&message))
}

async fn consent(user: &Questions, question: String) -> Result<(), ElicitationAction> {
    let answer = user.ask(question).await;
    let answer = answer.ok_or(ElicitationAction::Cancel)?;
    match boolean(answer.trim()) {
        Some(true) => Ok(()),
        Some(false) | None if answer.trim() != CANCEL => Err(ElicitationAction::Decline),
        Some(_) | None => Err(ElicitationAction::Cancel),
    }
}

async fn form(
    user: &Questions,
    server: &str,
    message: &str,
    schema: &ElicitationSchema,
) -> Result<Option<Map<String, Value>>, ElicitationAction> {
    let opening = opening(server, message);
    if schema.properties.is_empty() {
        consent(user, format!("{opening}\nAnswer yes or no.")).await?;
        return Ok(Some(Map::new()));
    }
    if schema.properties.len() > FIELDS {
        return Err(ElicitationAction::Cancel);
    }
    // A form that cannot be checked is the server's mistake.
    let schema = ordered(schema).ok_or(ElicitationAction::Cancel)?;
    let mut fields = Form::new(schema.clone());
    let mut intro = opening.as_str();
    while let Some(question) = fields.question() {
        answer(user, intro, &question, &mut fields).await?;
        intro = "";
    }
    let mut content = fields.into_value();
    schema.apply_defaults(&mut content);
    let Value::Object(content) = content else {
        return Err(ElicitationAction::Cancel);
    };
    Ok(Some(content))
}

/// The schema of a form, with its fields in the order that the server wants.
fn ordered(form: &ElicitationSchema) -> Option<Schema> {
    let mut whole = serde_json::to_value(form).ok()?;
    if let (Some(order), Some(properties)) = (&form.property_order, whole.get_mut("properties"))
        && let Some(properties) = properties.as_object_mut()
    {
        let place = |name: &String| order.iter().position(|it| it == name);
        let mut fields: Vec<(String, Value)> = mem::take(properties).into_iter().collect();
        fields.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        *properties = fields.into_iter().collect();
    }
    Schema::new(whole).ok()
}

/// The answer to the form's question. The user has a few attempts.
async fn answer(
    user: &Questions,
    intro: &str,
    question: &str,
    fields: &mut Form,
) -> Result<(), ElicitationAction> {
    let mut problem = String::new();
    for _ in 0..ATTEMPTS {
        let ending = format!("{question}. {DECLINE} or {CANCEL} to give no answer.");
        let parts = [intro, &problem, &ending].into_iter();
        let parts = parts.filter(|part| !part.is_empty());
        let whole = parts.collect::<Vec<_>>().join("\n");
        let answer = user.ask(whole).await.ok_or(ElicitationAction::Cancel)?;
        match answer.trim() {
            DECLINE => return Err(ElicitationAction::Decline),
            CANCEL => return Err(ElicitationAction::Cancel),
            text => match fields.answer(text) {
                Ok(()) => return Ok(()),
                Err(why) => problem = format!("Invalid: {why}"),
            },
        }
    }
    Err(ElicitationAction::Cancel)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "ok" => Some(true),
        "no" | "n" | "false" => Some(false),
        _ => None,
    }
}
