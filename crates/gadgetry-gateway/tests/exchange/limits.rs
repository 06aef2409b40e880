//! Replies that are too long, and those that would take too long.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::delta::Delta;

use crate::support::exchanges::{Client, Received, ask, feed};

#[test]
fn a_reply_has_a_limit_over_all_its_turns() {
    let check = |bytes: usize, replies: &[&str], size: usize, is_too_large: bool| {
        let mut client = Client::new(ClientApi::Chat);
        client.reply_bytes = bytes;
        let mut exchange = client.exchange(ask("Hi"), 1);
        let mut out = Vec::new();
        for reply in replies {
            if feed(&mut exchange, &client.written(reply), size, &mut out) == ExchangeStep::Done {
                break;
            }
        }
        let error = Received::of(&out).error.unwrap_or_default();
        let begin = "the upstream's reply is larger than the gateway's limit";
        assert_eq!(
            error.starts_with(begin),
            is_too_large,
            "{bytes} {replies:?} {size}: {error}"
        );
    };
    let text = "x".repeat(100);
    let invalid = "{S}sum:s\n{A}a\nno\n{E}\n";
    // A delta counts as eight bytes in addition, and a reply has two more.
    check(124, &[&text], 100, false);
    check(123, &[&text], 100, true);
    check(815, &[&text], 1, true);
    check(100_000, &[&text], 1, false);
    check(60, &[&"\n".repeat(100)], 100, true);
    check(60, &[&"\n".repeat(100)], 1, true);
    // The repair turn counts as well.
    check(
        10_000,
        &[invalid, "{S}sum:s\n{A}a\n1\n{A}b\n2\n{E}\n"],
        10_000,
        false,
    );
    check(150, &[invalid, &text], 10_000, true);
    check(16 << 20, &[&"x".repeat(17 << 20)], 1 << 20, true);
}

#[test]
fn empty_deltas_have_an_end() {
    let mut client = Client::new(ClientApi::Chat);
    client.reply_bytes = 800;
    let mut exchange = client.exchange(ask("Hi"), 1);
    let mut out = Vec::new();
    let mut count = 0;
    while exchange.push(Delta::text(String::new()), &mut out) == ExchangeStep::More {
        count += 1;
        assert!(count < 1_000, "it ends");
    }
    assert_eq!(count, 100);
}

/// Each delta went through all open calls: minutes for these.
#[test]
fn native_calls_have_a_limit_and_are_read_in_linear_time() {
    let check = |calls: usize, deltas: usize, is_too_many: bool| {
        let mut exchange = Client::new(ClientApi::Chat).exchange(ask("Hi"), 1);
        let mut out = Vec::new();
        let starts = (0..calls).map(|call| Delta::ToolCallStart {
            id: format!("c{call}"),
            name: "sum".to_owned(),
        });
        let last = format!("c{}", calls - 1);
        let ends = (0..deltas).map(|_| Delta::ToolCallDelta {
            id: last.clone(),
            delta: " ".to_owned(),
        });
        for delta in starts.chain(ends) {
            if exchange.push(delta, &mut out) == ExchangeStep::Done {
                break;
            }
        }
        let error = Received::of(&out).error.unwrap_or_default();
        let expected = "the upstream's reply has more than 10000 calls";
        assert_eq!(error == expected, is_too_many, "{calls}: {error}");
    };
    check(10_000, 200_000, false);
    check(10_001, 0, true);
    check(100_000, 0, true);
}

/// Each of these took time with the square of its length: minutes for these.
#[test]
fn long_texts_are_read_in_linear_time() {
    let client = Client::new(ClientApi::Chat);
    for (piece, count) in [
        ("\n", 10 << 20),
        (" \t\n", 2 << 20),
        ("{\n", 1 << 20),
        ("{\"x\":1}\n", 200_000),
        ("{\"name\":1}\n", 100_000),
        ("<tool_call></tool_call>\n", 50_000),
        ("<", 2 << 20),
        ("```\n", 200_000),
    ] {
        for size in [usize::MAX, 3_000] {
            let mut exchange = client.exchange(ask("Hi"), 1);
            let mut out = Vec::new();
            let text = piece.repeat(if size == usize::MAX { count } else { count / 4 });
            feed(&mut exchange, &text, size, &mut out);
            assert_eq!(Received::of(&out).calls, [], "{piece:?}");
        }
    }
}
