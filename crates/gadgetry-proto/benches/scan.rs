//! How fast a reply is read, as ratios to a search for the start marker in the same bytes.
//!
//! `cargo xtask bench` prints the tables; `docs/performance.md` says what each number must be.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]

use std::hint::black_box;
use std::time::Instant;

use gadgetry_proto::block::Markers;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Event, Format, Scanner};

const MIB: usize = 1 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // For callgrind: one kind of text, 4-byte chunks, nothing else.
    if let Some(at) = arguments.iter().position(|argument| argument == "--count") {
        return count(&arguments[at + 1]);
    }
    speed();
    small_calls();
    linear();
}

fn scanner() -> Scanner {
    let limits = Limits {
        value: 64 * MIB,
        block: 64 * MIB,
        tag_content: 64 * MIB,
        ..Limits::default()
    };
    let format = Format {
        markers: Some(Markers::default()),
        tags: vec!["think".to_owned(), "citation".to_owned()],
        limits,
        ..Format::default()
    };
    Scanner::new(&format).expect("names are names")
}

fn prose(len: usize) -> String {
    const TEXT: &str = "The quick brown fox jumps over the lazy dog, and then it naps in the warm afternoon sun. \
        Nobody is surprised: foxes do as they like (mostly).\nA second paragraph says that 3 of 4 dogs agree; \
        the fourth one sleeps. \u{201c}Quite so,\u{201d} says the owl, who has seen it all before!\n\n";
    let mut text = String::with_capacity(len + TEXT.len());
    while text.len() < len {
        text.push_str(TEXT);
    }
    text.truncate(text.floor_char_boundary(len));
    text
}

/// Opener, content, closer.
fn kinds() -> [(&'static str, &'static str, &'static str); 3] {
    [
        ("prose", "", ""),
        (
            "value",
            "!!!GADGET_START:Write:w\n!!!ARG:text\n",
            "\n!!!GADGET_END\n",
        ),
        ("tag", "<think>", "</think>"),
    ]
}

fn chunks(text: &str, size: usize) -> Vec<&str> {
    let mut chunks = Vec::with_capacity(text.len() / size + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = rest.floor_char_boundary(size);
        if at == 0 {
            at = rest.ceil_char_boundary(1);
        }
        let (chunk, tail) = rest.split_at(at);
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

/// Best of several runs, in seconds.
fn time(mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let begin = Instant::now();
    for round in 0.. {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
        if round >= 4 && begin.elapsed().as_secs_f64() > 0.4 {
            break;
        }
    }
    best
}

fn read(scanner: &mut Scanner, kind: (&str, &str, &str), chunks: &[&str]) -> usize {
    let mut seen = 0;
    let mut see = |event: Event<'_>| match event {
        Event::Text(text) => seen += black_box(text).len(),
        Event::Argument { delta, .. } | Event::TagDelta { delta, .. } => {
            seen += black_box(delta).len()
        }
        event => {
            black_box(event);
        }
    };
    scanner.push(kind.1, &mut see);
    for chunk in chunks {
        scanner.push(chunk, &mut see);
    }
    scanner.push(kind.2, &mut see);
    scanner.finish(&mut see);
    seen
}

fn speed() {
    let text = prose(MIB);
    let marker = memchr::memmem::Finder::new("!!!GADGET_START:");
    println!("\n## push, one core, 1 MiB, GB/s (ratio to memmem at the same chunks)\n");
    println!("| chunk | memmem | prose | value | tag |\n|---|---|---|---|---|");
    for size in [4, 64, 4096, 65536] {
        let chunks = chunks(&text, size);
        let base = time(|| {
            for chunk in &chunks {
                black_box(marker.find(chunk.as_bytes()));
            }
        });
        print!("| {size} B | {:.2} |", text.len() as f64 / base / 1e9);
        for kind in kinds() {
            let mut scanner = scanner();
            let took = time(|| {
                assert!(read(&mut scanner, kind, &chunks) >= text.len() - 2);
            });
            print!(
                " {:.2} ({:.2}) |",
                text.len() as f64 / took / 1e9,
                base / took
            );
        }
        println!();
    }
}

fn thousand_calls() -> String {
    let mut text = String::new();
    for index in 0..1000 {
        text.push_str(&format!(
            "!!!GADGET_START:Fetch:call_{index}\n!!!ARG:url\nhttps://example.com/items/{index}\n!!!ARG:limit\n{index}\n!!!GADGET_END\n"
        ));
    }
    text
}

fn read_calls(scanner: &mut Scanner, chunks: &[&str]) {
    let mut calls = 0;
    let mut see = |event: Event<'_>| {
        if let Event::Call(call) = event {
            calls += usize::from(black_box(call.parameters(None)).is_ok());
        }
    };
    for chunk in chunks {
        scanner.push(chunk, &mut see);
    }
    scanner.finish(&mut see);
    assert_eq!(calls, 1000);
}

fn small_calls() {
    let text = thousand_calls();
    println!("\n## 1,000 small calls in one reply, parsed to parameters\n");
    println!("| chunk | MB/s |\n|---|---|");
    for size in [4, 64, 65536] {
        let chunks = chunks(&text, size);
        let mut scanner = scanner();
        let took = time(|| read_calls(&mut scanner, &chunks));
        println!("| {size} B | {:.0} |", text.len() as f64 / took / 1e6);
    }
}

fn linear() {
    let arguments = |len: usize| {
        let mut text = "!!!GADGET_START:Many\n".to_owned();
        let mut index = 0;
        let pad = "x".repeat(len / 10_000 - 20);
        while text.len() < len {
            text.push_str(&format!("!!!ARG:a{index}\n{pad}\n"));
            index += 1;
        }
        text
    };
    let repeat = |unit: &'static str| move |len: usize| unit.repeat(len / unit.len());
    let value = |len: usize| format!("!!!GADGET_START:W\n!!!ARG:t\n{}", prose(len));
    let tag = |len: usize| format!("<think>{}", prose(len));
    type Make<'a> = (&'static str, Box<dyn Fn(usize) -> String + 'a>);
    let texts: Vec<Make<'_>> = vec![
        ("prose", Box::new(prose)),
        ("value", Box::new(value)),
        ("tag", Box::new(tag)),
        ("near misses", Box::new(repeat("!!GADGET_START: "))),
        ("cut markers", Box::new(repeat("!!!GADGET_STAR"))),
        ("headers without end", Box::new(repeat("!!!GADGET_START:"))),
        ("runs of !", Box::new(repeat("!"))),
        ("runs of <", Box::new(repeat("<"))),
        ("unclosed tags", Box::new(repeat("<think"))),
        ("unclosed attributes", Box::new(repeat("<think a=\"b' "))),
        (
            "closing tags cut",
            Box::new(|len| format!("<think>{}", "</thin".repeat(len / 6))),
        ),
        ("10,000 arguments", Box::new(arguments)),
    ];
    println!("\n## ns per byte: 1 MiB, 16 MiB, ratio\n");
    println!("| text | 4 B | 64 B | 64 KiB |\n|---|---|---|---|");
    for (name, make) in &texts {
        print!("| {name} |");
        let (small, large) = (make(MIB), make(16 * MIB));
        for size in [4, 64, 65536] {
            let each = [&small, &large].map(|text| {
                let chunks = chunks(text, size);
                let mut scanner = scanner();
                let took = time(|| {
                    read(&mut scanner, ("", "", ""), &chunks);
                });
                took * 1e9 / text.len() as f64
            });
            print!(" {:.3} {:.3} {:.2} |", each[0], each[1], each[1] / each[0]);
        }
        println!();
    }
}

fn count(name: &str) {
    if name == "calls" {
        let text = thousand_calls();
        let mut scanner = scanner();
        (0..20).for_each(|_| read_calls(&mut scanner, &[&text]));
        return;
    }
    let text = prose(MIB);
    let chunks = chunks(&text, 4);
    let kind = kinds().into_iter().find(|kind| kind.0 == name);
    let mut scanner = scanner();
    match kind {
        Some(kind) => {
            read(&mut scanner, kind, &chunks);
        }
        // What is not the scanner's: making the text and the chunks.
        None => {
            black_box(&chunks);
        }
    }
    println!("{} pushes", chunks.len());
}
