//! Sliding, done in the most obvious way: whole conversations are made and counted until one is short enough.

use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::message::{Content, Message, Role};

/// A reply, and everything up to the next one.
struct Turn {
    messages: Vec<Message>,
    stays: bool,
    gone: bool,
}

/// What is left of `messages`; `None` if they stay as they are. If `most` is passed, recent turns go as well, until it is
/// not, or only the last one is left; if it is still passed then, that is an error.
pub(crate) fn slide(
    messages: &[Message],
    keep_recent: u32,
    (target, most): (u64, Option<u64>),
    mut estimate: TokenEstimate,
) -> Result<Option<Vec<Message>>, ()> {
    let mut count = |messages: &[Message]| {
        estimate.recount(messages);
        estimate.tokens()
    };
    let before = count(messages);
    let (head, mut turns) = split(messages);
    let recent = turns.len().saturating_sub((keep_recent as usize).max(1));
    let last = turns.len().saturating_sub(1);
    let mut found = messages.to_vec();
    for at in 0..last {
        if turns[at].stays {
            continue;
        }
        let tokens = count(&found);
        let must = most.is_some_and(|most| tokens > most);
        let any = turns.iter().any(|turn| turn.gone);
        if at >= recent && !must || any && at < recent && tokens < before && tokens <= target {
            break;
        }
        turns[at].gone = true;
        found = join(messages, &head, &turns);
    }
    let tokens = count(&found);
    if most.is_some_and(|most| tokens > most) {
        return Err(());
    }
    Ok((tokens < before).then_some(found))
}

fn split(messages: &[Message]) -> (Vec<Message>, Vec<Turn>) {
    let users = |message: &Message| {
        let made = |part: &Content| {
            matches!(
                part,
                Content::GadgetResult { .. } | Content::Summary { .. } | Content::Omission { .. }
            )
        };
        message.role == Role::User && !message.content.iter().any(made)
    };
    let latest = (0..messages.len()).filter(|&at| users(&messages[at])).max();
    let (mut head, mut turns) = (Vec::new(), Vec::<Turn>::new());
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            turns.push(Turn {
                messages: Vec::new(),
                stays: false,
                gone: false,
            });
        }
        let Some(turn) = turns.last_mut() else {
            head.push(message.clone());
            continue;
        };
        let is_sticky = |part: &Content| matches!(part, Content::GadgetResult { sticky: true, .. });
        turn.stays |= latest == Some(at) || message.content.iter().any(is_sticky);
        turn.messages.push(message.clone());
    }
    (head, turns)
}

/// The conversation without the turns that are gone, and one message about all that ever went.
fn join(messages: &[Message], head: &[Message], turns: &[Turn]) -> Vec<Message> {
    let (mut texts, mut summarised) = (Vec::new(), 0);
    let mut omitted = turns.iter().filter(|turn| turn.gone).count();
    for part in messages.iter().flat_map(|message| &message.content) {
        match part {
            Content::Omission { turns } => omitted += *turns as usize,
            Content::Summary { text, turns } => {
                texts.push(text.as_str());
                summarised += turns;
            }
            _ => {}
        }
    }
    let mut content = Vec::new();
    if !texts.is_empty() {
        content.push(Content::Summary {
            text: texts.join("\n\n"),
            turns: summarised,
        });
    }
    content.push(Content::Omission {
        turns: u32::try_from(omitted).unwrap(),
    });
    let notice = Message::new(Role::User, content);
    let kept = turns.iter().flat_map(|turn| {
        let stays = |message: &&Message| !turn.gone || message.role == Role::System;
        turn.messages.iter().filter(stays)
    });
    let made = |message: &Message| {
        let first = message.content.first();
        matches!(
            first,
            Some(Content::Summary { .. } | Content::Omission { .. })
        )
    };
    let head = head.iter().filter(|message| !made(message)).cloned();
    let kept = kept.filter(|message| !made(message)).cloned();
    head.chain([notice]).chain(kept).collect()
}
