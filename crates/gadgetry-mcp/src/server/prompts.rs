//! Skills as prompts.

use gadgetry::proto::schema::closest;
use gadgetry::{Skill, Skills};
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
    PromptMessage, Role,
};

/// The only argument of a prompt.
const ARGUMENTS: &str = "arguments";

/// The same limit as for the gadget that loads skills: a text can repeat its arguments often.
const ARGUMENTS_LIMIT: usize = 16 * 1024;

/// The skills that users may call.
pub(super) fn list(skills: &Skills) -> Vec<Prompt> {
    let offered = skills.iter().filter(|skill| is_offered(skill));
    let prompt = |skill: &Skill| {
        let hint = skill.front_matter().argument_hint.as_deref();
        let hint = hint.unwrap_or("What the skill is to work on");
        let argument = PromptArgument::new(ARGUMENTS)
            .with_description(hint)
            .with_required(false);
        Prompt::new(
            skill.name(),
            Some(skill.description()),
            Some(vec![argument]),
        )
    };
    offered.map(prompt).collect()
}

fn is_offered(skill: &Skill) -> bool {
    skill.front_matter().user_invocable
}

/// The text of a skill, with its placeholders filled in.
pub(super) fn get(
    skills: &Skills,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResponse, ErrorData> {
    let name = request.name.as_str();
    let skill = skills.get(name).filter(|skill| is_offered(skill));
    let skill = skill.ok_or_else(|| {
        let closest = closest(name, skills.iter().map(Skill::name));
        let hint = closest.first();
        let hint = hint.map_or(String::new(), |hint| format!(". Did you mean {hint:?}?"));
        ErrorData::invalid_params(format!("there is no prompt {name:?}{hint}"), None)
    })?;
    let arguments = request.arguments.as_ref();
    let arguments = arguments.and_then(|arguments| arguments.get(ARGUMENTS));
    let arguments = match arguments {
        None => "",
        Some(text) => text.as_str().ok_or_else(|| {
            let message = format!("{ARGUMENTS:?} must be a string");
            ErrorData::invalid_params(message, None)
        })?,
    };
    if arguments.len() > ARGUMENTS_LIMIT {
        let message = format!("{ARGUMENTS:?} may have {ARGUMENTS_LIMIT} bytes");
        return Err(ErrorData::invalid_params(message, None));
    }
    let text = skill.activate(arguments);
    let message = PromptMessage::new_text(Role::User, text);
    let result = GetPromptResult::new(vec![message]).with_description(skill.description());
    Ok(result.into())
}
