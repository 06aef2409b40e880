//! How fast a reply is read, beside a search for the start marker in the same chunks.
//!
//! `docs/performance.md` says what each number must be.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]

mod support;

use std::time::Duration;

use support::clock::race;
use support::reading::{read, read_calls, scanner, search, search_and_copy, start_marker};
use support::texts::{PLACES, call, chunks, prose};
use support::{MIB, size, verdict};

const CHUNKS: [usize; 4] = [4, 64, 4096, 65536];
/// A loop is quicker or slower by half, depending on where its data and code happen to lie: so often, all is made anew.
const TRIALS: u32 = 8;
const AT_LEAST: Duration = Duration::from_millis(300);

fn main() {
    push();
    small_calls();
}

fn push() {
    println!("\n### `push`, GB/s (× the speed of memmem on the same chunks)\n");
    println!("| chunk | text | memmem | memmem + memcpy | prose | value | tag | limit | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for chunk in CHUNKS {
        for len in [MIB / 4, MIB] {
            push_row(chunk, len);
        }
    }
}

fn push_row(chunk: usize, len: usize) {
    let mut best = [f64::MAX; 5];
    for _ in 0..TRIALS {
        for (best, time) in best.iter_mut().zip(trial(chunk, len)) {
            *best = best.min(time);
        }
    }
    let [base, copied, times @ ..] = best;
    let speed = |seconds: f64| len as f64 / seconds / 1e9;
    let cell = |time: f64| format!("{:.2} ({:.2} ×)", speed(time), base / time);
    let (chunk_size, len_size) = (size(chunk), size(len));
    print!(
        "| {chunk_size} | {len_size} | {:.2} | {} |",
        speed(base),
        cell(copied)
    );
    let limit = limit(chunk);
    let mut missed = Vec::new();
    for (place, time) in PLACES.iter().zip(times) {
        print!(" {} |", cell(time));
        if limit.is_some_and(|least| base / time < least) {
            missed.push(place.name.to_owned());
        }
    }
    match limit {
        None => println!(" | |"),
        Some(least) => println!(" {least} × | {} |", verdict(&missed)),
    }
}

/// Seconds: the search alone, the search with a copy, and the three places.
fn trial(chunk: usize, len: usize) -> [f64; 5] {
    let text = prose(len);
    let chunks = chunks(&text, chunk);
    let finder = start_marker();
    let mut copy = Vec::new();
    let [mut prose, mut value, mut tag] = PLACES.map(|place| {
        let mut scanner = scanner();
        let chunks = &chunks;
        move || {
            let reply = [place.opener].into_iter();
            let reply = reply.chain(chunks.iter().copied()).chain([place.closer]);
            // Whitespace at the end of prose is no text.
            assert!(read(&mut scanner, reply) + 8 >= len);
        }
    });
    let contestants: [&mut dyn FnMut(); 5] = [
        &mut || search(&finder, &chunks),
        &mut || {
            copy.clear();
            search_and_copy(&finder, &chunks, &mut copy);
        },
        &mut prose,
        &mut value,
        &mut tag,
    ];
    race(contestants, AT_LEAST)
}

/// The least part of memmem's speed. GB/s would be a limit for one machine; for pieces of 4 bytes and for calls,
/// instructions are the limit (`instructions.rs`).
fn limit(chunk: usize) -> Option<f64> {
    match chunk {
        64 => Some(0.15),
        65536 => Some(0.5),
        _ => None,
    }
}

fn small_calls() {
    let text: String = (0..1000).map(call).collect();
    println!("\n### 1,000 small calls in one reply, parsed to parameters\n");
    println!("| chunk | MB/s |\n|---|---|");
    for chunk in CHUNKS.into_iter().chain([usize::MAX]) {
        let chunks = chunks(&text, chunk);
        let mut scanner = scanner();
        let [took] = race(
            [&mut || assert_eq!(read_calls(&mut scanner, chunks.iter().copied()), 1000)],
            AT_LEAST,
        );
        let speed = text.len() as f64 / took / 1e6;
        println!("| {} | {speed:.0} |", size(chunk));
    }
}
