//! Whether a byte of a long reply costs what a byte of a short one costs, whatever the reply and its chunks.
//!
//! `docs/performance.md` says what each number must be.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]

mod support;

use std::time::Duration;

use support::clock::race;
use support::reading::{read, scanner, search, search_and_copy, start_marker};
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
const AT_LEAST: Duration = Duration::from_millis(500);

fn main() {
    println!("\n### Linear: ns a byte of 1 MiB → of 16 MiB = ratio, at most {LIMIT}\n");
    let heads = CHUNKS.map(|(_, name)| name).join(" | ");
    println!("| text | {heads} | |\n|---|---|---|---|---|---|");
    let search = measure(prose, || {
        let finder = start_marker();
        move |chunks| search(&finder, chunks)
    });
    let kept = measure(prose, || {
        let (finder, mut copy) = (start_marker(), Vec::new());
        move |chunks| search_and_copy(&finder, chunks, &mut copy)
    });
    row("memmem", &search);
    row("memmem + memcpy", &kept);
    for (name, make) in LINEAR {
        let ours = measure(make, || {
            let mut scanner = scanner();
            move |chunks| {
                read(&mut scanner, chunks.iter().copied());
            }
        });
        row(name, &ours);
        match name {
            "prose" => beside(name, &ours, "memmem", &search),
            "value" | "tag" | "cut closing tags" => beside(name, &ours, "memmem + memcpy", &kept),
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
fn beside(name: &str, ours: &[Costs; CHUNKS.len()], base: &str, baseline: &[Costs; CHUNKS.len()]) {
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

/// The short text is read so often that both measurements take about as long: noise then meets both alike.
fn measure<R: FnMut(&[&str])>(make: Make, reader: impl Fn() -> R) -> [Costs; CHUNKS.len()] {
    let (short, long) = (make(MIB), make(TIMES * MIB));
    CHUNKS.map(|(size, _)| {
        let (short_chunks, long_chunks) = (chunks(&short, size), chunks(&long, size));
        let (mut read_short, mut read_long) = (reader(), reader());
        let contestants: [&mut dyn FnMut(); 2] = [
            &mut || (0..TIMES).for_each(|_| read_short(&short_chunks)),
            &mut || read_long(&long_chunks),
        ];
        let [short_time, long_time] = race(contestants, AT_LEAST);
        Costs {
            short: short_time * 1e9 / (TIMES * short.len()) as f64,
            long: long_time * 1e9 / long.len() as f64,
        }
    })
}
