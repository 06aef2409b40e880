//! Reads a model's text from standard input, without an agent, and prints each call.

use std::io::Read as _;

use gadgetry_proto::reply::{BlockParser, ReplyEvent};

use crate::Error;

/// Returns the calls in pieces of a reply, each as its name and parameters.
pub(crate) fn calls<'p>(pieces: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let (mut parser, mut calls) = (BlockParser::default(), Vec::new());
    let mut see = |event: ReplyEvent<'_>| {
        if let ReplyEvent::Call(block) = event {
            let call = block.to_call(None);
            calls.push(format!("{} {:?}", call.gadget_name, call.parameters));
        }
    };
    pieces
        .into_iter()
        .for_each(|piece| parser.push(piece, &mut see));
    parser.finish(&mut see);
    calls
}

pub(crate) fn main() -> Result<(), Error> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    calls([text.as_str()])
        .iter()
        .for_each(|call| println!("{call}"));
    Ok(())
}
