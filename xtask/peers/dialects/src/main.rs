//! Our readers of dialects next to those of tool-parser and dynamo-parsers: the same streams, in the same pieces, in one run.
//!
//! Ours looks for all dialects at once; each of theirs knows which one to expect. `dynamo-parsers` reads whole replies only, so
//! its time is that of joining the pieces and reading once. What makes a parser ready is not measured on any side.

mod readers;
mod streams;

use std::time::{Duration, Instant};

use readers::{NAMES, Outcome, Ready, Tools};
use serde_json::{Number, Value};
use streams::{Row, Stream};

/// Rounds of each stream, of which the fastest counts, unless they take longer than the time.
const ROUNDS: usize = 25;
const LONGEST: Duration = Duration::from_millis(600);

/// What a reader made of the streams of a form; `None` where it does not read the form.
struct Score {
    right: usize,
    /// The same with each character on its own.
    right_by_char: usize,
    short: f64,
    long: f64,
    /// The first stream that it got wrong.
    wrong: Option<String>,
}

fn main() {
    // A parser that panics has lost its stream; that is in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let shows_wrong = std::env::args().any(|arg| arg == "--wrong");
    let tools = Tools::new();
    let mut correct = String::new();
    let mut times = String::new();
    let mut wrongs = String::new();
    let mut sums = [[0; 3]; NAMES.len()];
    for row in streams::rows() {
        let streams = row.streams();
        let scores: Vec<Option<Score>> = (0..NAMES.len())
            .map(|reader| score(&tools, reader, &row, &streams))
            .collect();
        if scores[1..].iter().all(Option::is_none) {
            continue;
        }
        correct += &format!("| {} |", row.title());
        times += &format!("| {} |", row.title());
        for (reader, score) in scores.iter().enumerate() {
            let Some(score) = score else {
                correct += " |";
                times += " |";
                continue;
            };
            let counts = [score.right, score.right_by_char, streams.len()];
            for (sum, count) in sums[reader].iter_mut().zip(counts) {
                *sum += count;
            }
            correct += &shown(counts);
            times += &format!(" {:.1}, {:.0} |", score.short, score.long);
            if let Some(wrong) = &score.wrong {
                wrongs += &format!("{}, {}:\n{wrong}\n", NAMES[reader], row.title());
            }
        }
        correct += "\n";
        let ours = scores[0].as_ref().expect("ours reads every form");
        for score in &scores[1..] {
            let ratio = |score: &Score| {
                format!(
                    " {:.1}, {:.1} |",
                    score.short / ours.short,
                    score.long / ours.long
                )
            };
            times += &score.as_ref().map_or_else(|| " |".to_owned(), ratio);
        }
        times += "\n";
    }
    let names = NAMES.join(" | ");
    println!(
        "Right of all: calls with their names and values, and the text; in brackets, in pieces of one character.\n"
    );
    println!("| form | {names} |\n|---|{}", "---|".repeat(NAMES.len()));
    let all = sums.map(shown).join("");
    println!("{correct}| all |{all}\n");
    let ratios: String = NAMES[1..]
        .iter()
        .map(|name| format!(" {name} ÷ ours |"))
        .collect();
    println!("µs a stream, short and long ones.\n");
    println!(
        "| form | {names} |{ratios}\n|---|{}",
        "---|".repeat(2 * NAMES.len() - 1)
    );
    println!("{times}");
    if shows_wrong {
        println!("{wrongs}");
    }
}

fn shown([right, by_char, all]: [usize; 3]) -> String {
    format!(" {right} ({by_char}) / {all} |")
}

fn score(tools: &Tools, reader: usize, row: &Row, streams: &[Stream]) -> Option<Score> {
    let mut score = Score {
        right: 0,
        right_by_char: 0,
        short: 0.0,
        long: 0.0,
        wrong: None,
    };
    let (mut short, mut long) = (0.0, 0.0);
    let family = row.parsers()[reader]?;
    for stream in streams {
        let run = |pieces: &[String]| {
            let ready = Ready::new(tools, reader, family);
            let begin = Instant::now();
            let outcome = ready.read(tools, pieces);
            (outcome, begin.elapsed())
        };
        // A parser may panic.
        let caught = |pieces: &[String]| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(pieces))).ok()
        };
        let by_char = caught(&stream.chars);
        score.right_by_char += usize::from(by_char.is_some_and(|(it, _)| is_right(&it, stream)));
        let Some((outcome, mut best)) = caught(&stream.pieces) else {
            score
                .wrong
                .get_or_insert_with(|| format!("{}  a panic", stream.pieces.concat()));
            continue;
        };
        if is_right(&outcome, stream) {
            score.right += 1;
        } else {
            let shown: String = stream.pieces.concat().chars().take(600).collect();
            let got: String = format!("{outcome:?}").chars().take(600).collect();
            score
                .wrong
                .get_or_insert_with(|| format!("{shown}\n  {got}"));
        }
        let begin = Instant::now();
        for _ in 1..ROUNDS {
            if begin.elapsed() > LONGEST {
                break;
            }
            best = best.min(run(&stream.pieces).1);
        }
        let sum = if stream.is_long {
            &mut long
        } else {
            &mut short
        };
        *sum += best.as_secs_f64() * 1e6;
    }
    let count = |is_long: bool| streams.iter().filter(|it| it.is_long == is_long).count();
    score.short = short / count(false) as f64;
    score.long = long / count(true) as f64;
    Some(score)
}

/// Whether the calls and the text are those of the stream.
fn is_right(outcome: &Outcome, stream: &Stream) -> bool {
    outcome.text.trim() == stream.text.trim()
        && outcome.calls.len() == stream.calls.len()
        && outcome
            .calls
            .iter()
            .zip(&stream.calls)
            .all(|(call, expected)| call.0 == "Calc" && is_same(&call.1, expected))
}

/// Whether two values are the same. An integer may be written as a decimal that is equal to it.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || whole(one) == whole(other) && whole(one).is_some()
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|it| is_same(value, it)))
        }
        _ => one == other,
    }
}

fn whole(number: &Number) -> Option<i128> {
    let integer = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    let float = || {
        number
            .as_f64()
            .filter(|it| it.fract() == 0.0)
            .map(|it| it as i128)
    };
    integer.or_else(float)
}
