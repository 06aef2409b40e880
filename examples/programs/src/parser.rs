//! The parser alone: prints each event of a reply from standard input.

use gadgetry_proto::reply::{BlockParser, ReplyEvent};

/// Parses a reply that comes in pieces.
pub(crate) fn parse(pieces: &[&str], mut see: impl FnMut(ReplyEvent<'_>)) {
    let mut parser = BlockParser::default();
    for piece in pieces {
        parser.push(piece, &mut see);
    }
    parser.finish(&mut see);
}

pub(crate) fn main() -> Result<(), crate::Error> {
    let reply = std::io::read_to_string(std::io::stdin())?;
    parse(&[&reply], |event| println!("{event:?}"));
    Ok(())
}
