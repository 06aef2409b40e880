//! Options and commands of a session, in the types of the protocol.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
    SessionUpdate, UnstructuredCommandInput,
};

use crate::host::{Offer, OptionKind, SessionOption};

/// The option that has the modes.
pub(crate) fn mode(offer: &Offer) -> Option<&SessionOption> {
    let mut options = offer.options.iter();
    options.find(|it| it.kind == OptionKind::Mode)
}

/// The modes, if there are any.
pub(crate) fn modes(offer: &Offer) -> Option<SessionModeState> {
    let mode = mode(offer)?;
    let modes = mode.choices.iter().map(|choice| {
        SessionMode::new(choice.id.clone(), choice.name.clone())
            .description(choice.description.clone())
    });
    Some(SessionModeState::new(mode.current.clone(), modes.collect()))
}

/// Converts the options of a session for the protocol.
pub(crate) fn options(offer: &Offer) -> Vec<SessionConfigOption> {
    offer.options.iter().map(option).collect()
}

fn option(option: &SessionOption) -> SessionConfigOption {
    let choices = option.choices.iter().map(|choice| {
        SessionConfigSelectOption::new(choice.id.clone(), choice.name.clone())
            .description(choice.description.clone())
    });
    let choices: Vec<SessionConfigSelectOption> = choices.collect();
    let of = &option.option;
    let category = match option.kind {
        OptionKind::Mode => Some(SessionConfigOptionCategory::Mode),
        OptionKind::Model => Some(SessionConfigOptionCategory::Model),
        OptionKind::Reasoning => Some(SessionConfigOptionCategory::ThoughtLevel),
        OptionKind::Other => None,
    };
    let name = of.name.clone();
    SessionConfigOption::select(of.id.clone(), name, option.current.clone(), choices)
        .description(of.description.clone())
        .category(category)
}

/// The slash commands.
pub(crate) fn commands(offer: &Offer) -> SessionUpdate {
    let commands = offer.commands.iter().map(|command| {
        let hint = command
            .hint
            .clone()
            .map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(command.name.clone(), command.description.clone()).input(hint)
    });
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.collect()))
}
