//! The whole conversation on a screen of its own, in `gadgetry chat`.

use std::fs::File;

use super::screen::{CTRL_D, Screen};
use super::workshop::{Workshop, call, reply};

const CTRL_C: &str = "\x03";
const CTRL_T: &str = "\x14";

/// `gadgetry chat` with a screen of 24 rows, and commands that need no approval.
fn chat(workshop: &Workshop, args: &[&str]) -> Screen {
    let usual = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--approval",
        "allow RunCommand",
    ];
    Screen::start(workshop, (80, 24), &[&usual, args].concat(), &[])
}

#[test]
fn it_is_scrolled_and_searched_and_leaves_the_screen_as_it_was() {
    let run = call("RunCommand:r", "!!!ARG:command\nseq 1001 1200\n");
    let workshop = Workshop::new(&(reply(&run) + &reply("That is **all**.")));
    let mut screen = chat(&workshop, &["Count!"]);
    screen.shows("That is all.");
    let before = screen.until("the end of the run", |text| {
        !text.contains("Esc interrupts") && text.ends_with("· asks")
    });
    assert!(!before.contains("1100"), "{before}");
    screen.keys(CTRL_T);
    let last = screen.shows("transcript · 100 %");
    assert!(last.contains("  1200\n\nThat is all."), "{last}");
    screen.keys("g");
    let first = screen.shows("> Count!");
    assert!(first.contains("✓ $ seq 1001 1200"), "{first}");
    assert!(first.contains("  1001\n  1002\n"), "{first}");
    screen.keys(" ");
    screen.shows("  1030\n");
    // From the end of the screen upwards, and on.
    screen.keys("G/1100\r");
    screen.shows("  1100\n");
    screen.keys("/COUNT\r");
    screen.shows("> Count!");
    screen.keys("/nowhere\r");
    screen.shows("no \"nowhere\"");
    screen.resize(60, 20);
    screen.until("a status in row 20", |text| {
        text.lines().count() == 20 && text.contains("\ntranscript ·")
    });
    screen.resize(80, 24);
    screen.keys("q");
    screen.until("the screen before", |text| text == before);
    // So does Ctrl-C, which cancels and leaves nothing.
    screen.say("/transcript");
    screen.shows("q returns");
    screen.keys(CTRL_C);
    screen.hides("transcript");
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

/// What happens meanwhile is printed when the pager is closed; a continued session has what was said before.
#[test]
fn it_follows_a_run_and_has_what_was_said_before() {
    let wait = "while ! test -e go; do sleep 0.05; done; echo forty-two";
    let run = call("RunCommand:r", &format!("!!!ARG:command\n{wait}\n"));
    let workshop = Workshop::new(&(reply(&run) + &reply("It has ended.")));
    let mut screen = chat(&workshop, &["Wait!", "--session", "day"]);
    screen.shows("Esc interrupts");
    screen.keys(CTRL_T);
    screen.shows("q returns");
    workshop.write("go", "");
    screen.shows("It has ended.");
    screen.keys("q");
    let text = screen.hides("q returns");
    assert_eq!(text.matches("It has ended.").count(), 1, "{text}");
    screen.rests();
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
    workshop.write("script.jsonl", &reply("Again."));
    let mut screen = chat(&workshop, &["More!", "--continue", "day"]);
    screen.shows("Again.");
    screen.rests();
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
    let mut screen = chat(&workshop, &["--continue", "day"]);
    screen.shows("Again.");
    screen.keys(format!("{CTRL_T}g"));
    let text = screen.shows("> Wait!");
    assert_eq!(text.matches("> More!").count(), 1, "{text}");
    screen.keys("q");
    screen.hides("q returns");
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

#[test]
fn a_continued_session_shows_its_last_exchanges_as_they_were_shown() {
    let run = call("RunCommand:r", "!!!ARG:command\nseq 1001 1200\n");
    let answer = |number: u32| {
        let answer = reply(&format!("Answer {number}."));
        if number == 13 {
            reply(&run) + &answer
        } else {
            answer
        }
    };
    let workshop = Workshop::new(&(1..=14).map(answer).collect::<String>());
    let typed = (1..=14).map(|number| format!("Question {number}?\n"));
    workshop.write("typed", &typed.collect::<String>());
    let args = [
        "chat",
        "--model",
        "script:script.jsonl",
        "--approval",
        "allow RunCommand",
        "--session",
        "day",
    ];
    let typed = File::open(workshop.path("typed")).expect("the messages");
    let ended = workshop.command(&args).stdin(typed).output();
    let ended = ended.expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    let args = ["chat", "--continue", "day"];
    let mut screen = Screen::start(&workshop, (80, 60), &args, &[]);
    let text = screen.shows("Answer 14.\n\n>");
    let (_, text) = text.split_once("/help for commands\n\n").expect("a start");
    let (text, _) = text.split_once("\n\n>  Message").expect("the input line");
    let (earlier, exchanges) = text.split_once("\n\n").expect("lines");
    let expected = "… 4 earlier messages; Ctrl-T shows what the model still reads of them";
    assert_eq!(earlier, expected);
    let expected = (5..=14).map(|number| {
        let calls = match number {
            13 => "✓ $ seq 1001 1200\n  … 195 lines before\n  1196\n  1197\n  1198\n  1199\n  1200\n\n",
            _ => "",
        };
        format!("> Question {number}?\n\n{calls}Answer {number}.")
    });
    assert_eq!(exchanges, expected.collect::<Vec<_>>().join("\n\n"));
    screen.keys(format!("{CTRL_T}g"));
    let text = screen.shows("> Question 1?");
    assert!(text.starts_with("> Question 1?\n\nAnswer 1.\n"), "{text}");
    screen.keys("q");
    screen.hides("q returns");
    screen.leave();
}

#[test]
fn an_interrupted_run_is_shown_from_its_beginning() {
    let first = reply(&call("RunCommand:r", "!!!ARG:command\necho one\n"));
    let hangs = serde_json::json!({ "chunks": ["Half", { "delayMs": 600_000 }] });
    let workshop = Workshop::new(&format!("{first}{hangs}\n"));
    let screen = chat(&workshop, &["Go!", "--session", "day"]);
    screen.shows("Half");
    screen.kill();
    screen.ends();
    workshop.write("script.jsonl", &(first + &reply("The whole.")));
    let screen = chat(&workshop, &["--continue", "day"]);
    let text = screen.shows("The whole.");
    assert!(text.contains("> Go!\n\n✓ $ echo one\n  one\n\n"), "{text}");
    // It may have been received, but not written.
    assert!(!text.contains("Half"), "{text}");
    screen.leave();
}
