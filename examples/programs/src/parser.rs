//! The parser alone: prints each call in a reply from standard input.

use gadgetry_proto::reply::{BlockParser, ReplyEvent};

use crate::Error;

/// Returns the calls in a reply that comes in pieces.
pub(crate) fn calls<'p>(pieces: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let (mut parser, mut calls) = (BlockParser::default(), Vec::new());
    let mut see = |event: ReplyEvent<'_>| {
        if let ReplyEvent::Call(block) = event {
            calls.push(format!("{:?}", block.to_call(None)));
        }
    };
    for piece in pieces {
        parser.push(piece, &mut see);
    }
    parser.finish(&mut see);
    calls
}

pub(crate) fn main() -> Result<(), Error> {
    println!(
        "{:#?}",
        calls([&*std::io::read_to_string(std::io::stdin())?])
    );
    Ok(())
}
