//! Slash commands of a session: skills, commands of the project, and custom commands.

use gadgetry::Skill;
use gadgetry_acp::{HostError, Prompt, SlashCommand};

use super::AcpSession;
use crate::commands::acp::ground::words;
use crate::invocation::{has_prompt, prompt_of};
use crate::lines::short;
use crate::project::filled_in;
use crate::slash::{is_message, unknown};

impl AcpSession {
    /// Replaces a slash command by what it means.
    pub(super) fn expanded(&self, prompt: Prompt) -> Result<Prompt, HostError> {
        let Some((name, arguments)) = prompt.command() else {
            return Ok(prompt);
        };
        let skill = self.skills.get(name).filter(|it| is_of_user(it));
        let text = if let Some(skill) = skill {
            let text = skill.instructions(arguments);
            Some(text.map_err(|error| HostError::Invalid(error.to_string()))?)
        } else if let Some(command) = self.project.command(name) {
            Some(filled_in(command, arguments).map_err(words)?)
        } else {
            prompt_of(&self.base.config, name, arguments).map_err(words)?
        };
        if let Some(text) = text {
            return Ok(prompt.with_first_text(text));
        }
        let name = format!("/{name}");
        if is_message(&name, &prompt.texts()) {
            return Ok(prompt);
        }
        let names = self.commands().into_iter();
        let names: Vec<String> = names.map(|it| format!("/{}", it.name)).collect();
        let names = names.iter().map(|it| &**it);
        let hint = "with a space before it, it is a message";
        Err(HostError::Invalid(unknown(&name, names, hint)))
    }

    /// Skills, and custom commands with a prompt.
    pub(super) fn commands(&self) -> Vec<SlashCommand> {
        let skills = self.skills.iter().filter(|it| is_of_user(it));
        let by_files = self.project.commands.iter();
        let by_files = by_files.filter(|it| self.skills.get(it.name()).is_none());
        let mut commands: Vec<SlashCommand> = skills
            .chain(by_files)
            .map(|skill| {
                let mut command = SlashCommand::new(skill.name(), short(skill.description()));
                command.hint.clone_from(&skill.front_matter().argument_hint);
                command
            })
            .collect();
        for (name, custom) in &self.base.config.commands {
            let is_taken = commands.iter().any(|it| it.name == *name);
            if !is_taken && has_prompt(&self.base.config, name) {
                let description = custom.description.as_deref().unwrap_or("Custom command");
                let mut command = SlashCommand::new(name, short(description));
                command.hint = Some("words".to_owned());
                commands.push(command);
            }
        }
        commands
    }
}

fn is_of_user(skill: &Skill) -> bool {
    skill.front_matter().user_invocable
}
