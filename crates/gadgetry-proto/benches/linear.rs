//! Whether a byte of a long reply costs what a byte of a short one costs, whatever the reply and its chunks.
//!
//! `docs/performance.md` says what each number must be.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]

mod support;

use support::clock::seconds;
use support::reading::{consume, push, scanner, search, search_and_copy, start_marker};
use support::texts::{LINEAR, Make, chunks, prose};
use support::{MIB, verdict};

const CHUNKS: [(usize, &str); 4] = [
    (4, "4 B"),
    (64, "64 B"),
    (65536, "64 KiB"),
    (usize::MAX, "whole"),
];
/// How much longer the long text is.
const TIMES: usize = 16;
/// At most so much may a byte of the long text cost, where one of the short text costs 1.
const LIMIT: f64 = 1.2;
const ROUNDS: u32 = 7;
/// Seconds.
const AT_LEAST: f64 = 0.5;

fn main() {
    println!("\n### Linear: ns a byte of 1 MiB → of 16 MiB = ratio, at most {LIMIT}\n");
    let heads = CHUNKS.map(|(_, name)| name).join(" | ");
    println!("| text | {heads} | |\n|---|---|---|---|---|---|");
    let search = measure(prose, || {
        let finder = start_marker();
        move |chunks, _| search(&finder, chunks)
    });
    let kept = measure(prose, || {
        let (finder, mut copy) = (start_marker(), Vec::new());
        move |chunks, last| {
            search_and_copy(&finder, chunks, &mut copy);
            if last {
                copy.clear();
            }
        }
    });
    row("memmem", &search);
    row("memmem + memcpy", &kept);
    for (name, make) in LINEAR {
        let ours = measure(make, || {
            let mut scanner = scanner();
            move |chunks, last| {
                push(&mut scanner, chunks.iter().copied());
                if last {
                    scanner.finish(&mut |event| {
                        consume(event);
                    });
                }
            }
        });
        row(name, &ours);
        match name {
            "prose" => versus(name, &ours, "memmem", &search),
            "value" | "tag" | "cut closing tags" => versus(name, &ours, "memmem + memcpy", &kept),
            _ => {}
        }
    }
}

/// Nanoseconds a byte, of a short and of a long text.
#[derive(Clone, Copy)]
struct Costs {
    short: f64,
    long: f64,
}

impl Costs {
    fn ratio(self) -> f64 {
        self.long / self.short
    }
}

fn row(name: &str, costs: &[Costs; CHUNKS.len()]) {
    print!("| {name} |");
    for cost in costs {
        print!(
            " {:.3} → {:.3} = {:.2} |",
            cost.short,
            cost.long,
            cost.ratio()
        );
    }
    println!(" {} |", judge(&costs.map(Costs::ratio)));
}

/// A long text does not fit into the caches where a short one does: how much of the ratio is ours?
fn versus(name: &str, ours: &[Costs; CHUNKS.len()], base: &str, baseline: &[Costs; CHUNKS.len()]) {
    print!("| {name}: ratio ÷ that of {base} |");
    let mut ratios = [0.0; CHUNKS.len()];
    for (at, ratio) in ratios.iter_mut().enumerate() {
        *ratio = ours[at].ratio() / baseline[at].ratio();
        print!(" {ratio:.2} |");
    }
    println!(" {} |", judge(&ratios));
}

fn judge(ratios: &[f64; CHUNKS.len()]) -> String {
    let missed: Vec<String> = ratios
        .iter()
        .zip(CHUNKS)
        .filter(|(ratio, _)| **ratio > LIMIT)
        .map(|(_, (_, name))| name.to_owned())
        .collect();
    verdict(&missed)
}

/// Both texts are timed a MiB at a time, in turn, and of every MiB the best time counts: noise then meets both alike. A
/// text in one chunk cannot be divided.
fn measure<R: FnMut(&[&str], bool)>(make: Make, reader: impl Fn() -> R) -> [Costs; CHUNKS.len()] {
    let (short, long) = (make(MIB), make(TIMES * MIB));
    CHUNKS.map(|(size, _)| {
        let (short_chunks, long_chunks) = (chunks(&short, size), chunks(&long, size));
        let parts: Vec<&[&str]> = long_chunks
            .chunks(long_chunks.len().div_ceil(TIMES))
            .collect();
        let (mut read_short, mut read_long) = (reader(), reader());
        let mut short_best = f64::MAX;
        let mut long_best = vec![f64::MAX; parts.len()];
        let mut spent = 0.0;
        for round in 0.. {
            for _ in 0..TIMES {
                let time = seconds(|| read_short(&short_chunks, true));
                short_best = short_best.min(time);
                spent += time;
            }
            for (at, part) in parts.iter().enumerate() {
                let time = seconds(|| read_long(part, at + 1 == parts.len()));
                long_best[at] = long_best[at].min(time);
                spent += time;
            }
            if round + 1 >= ROUNDS && spent > AT_LEAST {
                break;
            }
        }
        Costs {
            short: short_best * 1e9 / short.len() as f64,
            long: long_best.iter().sum::<f64>() * 1e9 / long.len() as f64,
        }
    })
}
