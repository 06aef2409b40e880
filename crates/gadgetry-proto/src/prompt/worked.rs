//! Worked turns: calls that a conversation shows before it begins, for models that follow examples better than instructions.

use serde_json::{Value, json};

use crate::block::Writer;
use crate::call_form::CallForm;
use crate::message::{Content, Message, Role};
use crate::prompt::catalog::{CatalogEntry, catalog};
use crate::prompt::json_call::json_call;
use crate::prompt::template::{CallStyle, PromptTemplate};

/// The most worked turns that there are.
pub const MAX_EXAMPLES: usize = 2;

/// Worked turns, and the tools in the user's first message, in the same shape as those of the turns:
///
/// ```text
/// user       Tools: ## get_weather …   Question: Will it rain in Oslo in the next 3 days?
/// assistant  the call
/// user       Result (call_1): rain from noon on
/// assistant  There is rain from noon on.
/// …
/// user       Tools: the catalogue      Question: what the user has said
/// ```
///
/// A very small model copies the shape of the turns before: with instructions alone `SmolLM2`-135M calls nothing, and with two turns it calls in
/// 98 of 100 cases (`docs/performance.md`). The tools of the turns exist only in them, under other names if
/// the conversation has tools of theirs, and their values are such as no task has. A call shows one required parameter and one optional one, because models leave optional ones out otherwise. Of two turns the
/// first one continues to an answer: a model that has only seen calls makes the same call again after each result, and one that has read an
/// answer last makes none at first.
///
/// ```
/// use gadgetry_proto::block::{Anchoring, Markers};
/// use gadgetry_proto::call_form::CallForm;
/// use gadgetry_proto::message::{Message, Role};
/// use gadgetry_proto::prompt::{CallStyle, CatalogEntry, WorkedTurns};
///
/// let markers = Markers::default();
/// let style = CallStyle { form: CallForm::Json, markers: &markers, anchoring: Anchoring::LineStart };
/// let schema = serde_json::json!({ "type": "object" });
/// let ping = CatalogEntry { name: "ping", description: "Says pong", schema: &schema, examples: &[] };
/// let turns = WorkedTurns::new(1, &[ping], style);
/// let messages = turns.shown(&[Message::text(Role::User, "Ping it.")]);
/// assert_eq!(messages.len(), 3);
/// assert_eq!(messages[2], Message::text(Role::User, "Tools:\n## ping\nSays pong\nParameters: none\n\nQuestion: Ping it."));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkedTurns {
    turns: Vec<Message>,
    /// The beginning of the user's first message.
    lead: String,
}

const BLOCK: &str = "\
You answer by calling tools. A call is a block:

{start}NAME
{arg}PARAMETER
VALUE
{end}";

const JSON: &str = "\
You answer by calling tools. A call is JSON:

<tool_call>
{\"name\":NAME,\"arguments\":{PARAMETER:VALUE}}
</tool_call>";

const RULES: &str = "Results come in the next message: never write them.";

/// A tool that exists only in a turn, what the user says, and the call.
struct Example {
    /// Its name, and another one for conversations with a tool of that name.
    names: [&'static str; 2],
    description: &'static str,
    schema: Value,
    says: &'static str,
    arguments: Value,
    /// The result, and what the assistant makes of it.
    end: Option<[&'static str; 2]>,
}

fn examples() -> [Example; MAX_EXAMPLES] {
    [
        Example {
            names: ["get_weather", "weather_forecast"],
            description: "Gives the weather forecast of a city",
            schema: json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The name of the city"},
                    "days": {"type": "integer", "description": "How many days"},
                },
                "required": ["city"],
            }),
            says: "Will it rain in Oslo in the next 3 days?",
            arguments: json!({"city": "Oslo", "days": 3}),
            end: Some([
                "Result (call_1): rain from noon on",
                "There is rain from noon on.",
            ]),
        },
        Example {
            names: ["translate", "translate_text"],
            description: "Translates a text",
            schema: json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "The text"},
                    "language": {"type": "string", "description": "The language"},
                },
                "required": ["text"],
            }),
            says: "How do I say good morning in French?",
            arguments: json!({"text": "good morning", "language": "French"}),
            end: None,
        },
    ]
}

impl WorkedTurns {
    /// The last `count` turns, at most [`MAX_EXAMPLES`], before a conversation with these tools. Without tools it is empty.
    pub fn new(count: usize, tools: &[CatalogEntry<'_>], style: CallStyle<'_>) -> Self {
        if count == 0 || tools.is_empty() {
            return Self::default();
        }
        let examples = examples();
        let examples = &examples[MAX_EXAMPLES.saturating_sub(count)..];
        let turns = examples
            .iter()
            .flat_map(|it| it.turn(tools, style))
            .collect();
        Self {
            turns,
            lead: lead(tools),
        }
    }

    /// Returns `true` if there are no turns.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// `template` with short parts where it has none of its own, and without the catalogue, which the user's message has.
    #[must_use]
    pub fn brief(template: &PromptTemplate, form: CallForm) -> PromptTemplate {
        let or = |own: &Option<String>, short: &str| Some(own.clone().unwrap_or(short.to_owned()));
        let format = match form {
            CallForm::Block => BLOCK,
            CallForm::Json => JSON,
        };
        PromptTemplate {
            intro: template.intro.clone(),
            catalog: or(&template.catalog, ""),
            format: or(&template.format, format),
            rules: or(&template.rules, RULES),
            escape: or(&template.escape, ""),
        }
    }

    /// An estimate of the bytes that they add to a conversation.
    pub fn len_bytes(&self) -> usize {
        let texts = self.turns.iter().filter_map(|turn| text_of(&turn.content));
        texts.map(str::len).sum::<usize>() + self.lead.len()
    }

    /// The conversation with the turns after its system messages, and the tools in the first message of the user after them.
    #[must_use]
    pub fn shown(&self, messages: &[Message]) -> Vec<Message> {
        let is_system = |message: &&Message| message.role == Role::System;
        let (system, rest) = messages.split_at(messages.iter().take_while(is_system).count());
        let mut out = Vec::with_capacity(messages.len() + self.turns.len());
        out.extend_from_slice(system);
        out.extend_from_slice(&self.turns);
        let from = out.len();
        out.extend_from_slice(rest);
        if self.turns.is_empty() {
            return out;
        }
        let first = out[from..].iter_mut().find(|it| it.role == Role::User);
        let Some(first) = first else {
            out.insert(from, Message::text(Role::User, self.lead.trim_end()));
            return out;
        };
        for content in &mut first.content {
            if let Content::Text { text } = content {
                text.insert_str(0, &self.lead);
                return out;
            }
        }
        let text = self.lead.clone();
        first.content.insert(0, Content::Text { text });
        out
    }
}

/// Returns the first text.
fn text_of(content: &[Content]) -> Option<&str> {
    content.iter().find_map(|content| {
        if let Content::Text { text } = content {
            Some(text.as_str())
        } else {
            None
        }
    })
}

/// Returns the beginning of a message of the user.
fn lead(tools: &[CatalogEntry<'_>]) -> String {
    format!("Tools:\n{}\n\nQuestion: ", catalog(tools))
}

impl Example {
    fn turn(&self, tools: &[CatalogEntry<'_>], style: CallStyle<'_>) -> Vec<Message> {
        let name = &self.free_name(tools);
        let tool = CatalogEntry {
            name,
            description: self.description,
            schema: &self.schema,
            examples: &[],
        };
        let said = format!("{}{}", lead(&[tool]), self.says);
        let mut turn = vec![
            Message::text(Role::User, said),
            Message::text(Role::Assistant, self.call(name, style)),
        ];
        if let Some([result, answer]) = self.end {
            turn.push(Message::text(Role::User, result));
            turn.push(Message::text(Role::Assistant, answer));
        }
        turn
    }

    /// Returns a name that none of the tools has.
    fn free_name(&self, tools: &[CatalogEntry<'_>]) -> String {
        let numbered = (2_u32..).map(|number| format!("{}_{number}", self.names[0]));
        let mut names = self.names.map(str::to_owned).into_iter().chain(numbered);
        let is_free = |name: &String| !tools.iter().any(|it| it.name.eq_ignore_ascii_case(name));
        names.find(is_free).unwrap_or_default()
    }

    fn call(&self, name: &str, style: CallStyle<'_>) -> String {
        if style.form == CallForm::Json {
            return json_call(name, &self.arguments);
        }
        let writer = Writer {
            markers: style.markers,
            anchoring: style.anchoring,
        };
        let mut block = String::new();
        // The arguments are an object of scalars, which every block can express.
        _ = writer.write(&mut block, name, None, &[""; 0], &self.arguments, None);
        block.truncate(block.trim_end().len());
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Anchoring, Markers};

    #[test]
    fn tools_of_the_turns_have_names_of_their_own() {
        let schema = json!({"type": "object"});
        let markers = Markers::default();
        let check = |tools: &[&str], expected: &[&str]| {
            let entry = |name| CatalogEntry {
                name,
                description: "",
                schema: &schema,
                examples: &[],
            };
            let tools: Vec<_> = tools.iter().copied().map(entry).collect();
            for form in [CallForm::Block, CallForm::Json] {
                let style = CallStyle {
                    form,
                    markers: &markers,
                    anchoring: Anchoring::LineStart,
                };
                let turns = WorkedTurns::new(2, &tools, style).turns;
                let texts: Vec<_> = turns.iter().filter_map(|it| text_of(&it.content)).collect();
                for name in [
                    "get_weather",
                    "weather_forecast",
                    "get_weather_2",
                    "translate",
                    "translate_text",
                ] {
                    let heading = format!("## {name}\n");
                    let count = texts.iter().filter(|it| it.contains(&heading)).count();
                    assert_eq!(
                        count,
                        usize::from(expected.contains(&name)),
                        "{name}: {texts:?}"
                    );
                }
            }
        };
        check(&["ping"], &["get_weather", "translate"]);
        check(&["get_weather"], &["weather_forecast", "translate"]);
        check(&["Translate", "ping"], &["get_weather", "translate_text"]);
        check(
            &["get_weather", "weather_forecast"],
            &["get_weather_2", "translate"],
        );
    }
}
