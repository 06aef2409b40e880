//! `gadgetry chat` in a terminal, with a scripted model.

use serde_json::json;

use super::doctor::NO_SERVERS;
use super::screen::{CTRL_D, Screen};
use super::workshop::{Workshop, block, reply};

const CTRL_C: &str = "\x03";
const ENTER: &str = "\r";
const UP: &str = "\x1b[A";
/// What the status line has when nothing is in progress and no token was used.
const READY: &str = "script:script.jsonl";

/// A reply that takes its time: pieces with pauses.
fn slow(pieces: &[&str], pause: u64) -> String {
    let mut chunks = Vec::new();
    for piece in pieces {
        chunks.extend([json!(piece), json!({ "delayMs": pause })]);
    }
    format!("{}\n", json!({ "chunks": chunks }))
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn two_messages_are_one_session() {
    let workshop = Workshop::new(&(reply("It is **four**.") + &reply("Because.\n\n- one\n- two")));
    let mut screen = Screen::chat(&workshop, 80, &["--session", "sum"]);
    screen.shows(READY);
    screen.say("What is 2+2?");
    screen.shows("It is four.");
    screen.rests();
    screen.say("Why?");
    screen.shows("- two");
    let text = screen.leave();
    assert!(text.starts_with("gadgetry 0.1.0 in "), "{text}");
    let (_, text) = text.split_once("\n\n").expect("the start");
    let expected = "> What is 2+2?\n\nIt is four.\n\n> Why?\n\nBecause.\n\n- one\n- two\n\n\
                    continue with: gadgetry chat --continue sum";
    assert_eq!(text, expected);

    workshop.write("script.jsonl", &reply("Still four."));
    let args = ["chat", "--continue", "sum"];
    let mut screen = Screen::start(&workshop, (80, 40), &args, &[]);
    screen.shows("> Why?\n\nBecause.\n\n- one\n- two\n");
    screen.say("Sure?");
    screen.shows("Still four.");
    screen.leave();
    let shown = workshop.command(&["sessions", "show", "sum"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(shown.contains("> Sure?\n\nStill four.\n"), "{shown}");
}

#[test]
fn calls_are_lines_of_state_and_results_are_short() {
    let many: Vec<String> = (1..=20).map(|number| format!("line {number}")).collect();
    let many = many.join("\n");
    let script = reply(&format!("I call.\n{}", block("Echo:a", &many))) + &reply("Done.");
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &[]);
    screen.shows(READY);
    screen.say("Go!");
    screen.shows("Done.");
    let text = screen.leave();
    assert!(text.contains("I call.\n\n✓ Echo line 1 line 2"), "{text}");
    assert!(text.contains(r#"{"say":"line 1\nline 2"#), "{text}");
    let workshop = Workshop::new(&(reply(&block("Fail:b", "")) + &reply("So.")));
    let mut screen = Screen::chat(&workshop, 80, &["Go!"]);
    screen.shows("So.");
    let text = screen.shows("✗ Fail");
    assert!(text.contains("\n  no luck\n"), "{text}");
    screen.keys(CTRL_D);
    assert_eq!(screen.ends().0, 0);
}

/// A workshop whose model calls Echo twice; the rule says that it needs approval.
fn with_approval() -> (Workshop, [&'static str; 3]) {
    let script = reply(&block("Echo:a", "one")) + &reply(&block("Echo:b", "two")) + &reply("Done.");
    (Workshop::new(&script), ["Go!", "--approval", "ask Echo"])
}

#[test]
fn a_call_runs_once_it_is_approved() {
    let (workshop, args) = with_approval();
    let mut screen = Screen::chat(&workshop, 80, &args);
    let text = screen.shows("Run Echo?");
    assert!(
        text.contains("? Echo\n  │ {\n  │   \"say\": \"one\"\n  │ }\n"),
        "{text}"
    );
    // Enter never approves.
    screen.keys(ENTER);
    press(&mut screen, "y", "✓ Echo one");
    screen.shows("\"say\": \"two\"");
    screen.shows("Run Echo?");
    press(&mut screen, "n", "Reason for the model");
    screen.say("not that one");
    let text = screen.shows("Done.");
    assert!(
        text.contains("✗ Echo two\n  Denied by the user: not that one\n"),
        "{text}"
    );
    screen.leave();
}

#[test]
fn a_call_is_approved_for_the_session() {
    let (workshop, args) = with_approval();
    let mut screen = Screen::chat(&workshop, 80, &args);
    screen.shows("Run Echo?");
    press(&mut screen, "s", "Enter allows for this session: Echo");
    screen.keys(ENTER);
    screen.shows("✓ Echo one");
    let text = screen.shows("Done.");
    assert!(text.contains("✓ Echo two"), "{text}");
    assert_eq!(count(&text, "? Echo"), 1, "{text}");
    screen.leave();
}

/// Presses a key as an answer, once such keys count.
#[track_caller]
fn press(screen: &mut Screen, key: &str, then: &str) {
    screen.shows("y once  n no  ");
    screen.keys(key);
    screen.shows(then);
}

#[test]
fn a_long_call_is_approved_after_its_last_page() {
    let long = format!("{}END", "x".repeat(15_000));
    let workshop = Workshop::new(&(reply(&block("Echo:a", &long)) + &reply("Done.")));
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--approval", "ask Echo"]);
    let more = screen.shows("Space shows more (");
    assert!(more.contains("  ┆ "), "{more}");
    // Without the last page, nothing counts.
    screen.keys("y\x7f");
    let keys = " ".repeat(40);
    screen.keys(&keys);
    press(&mut screen, "y", "✓ Echo");
    screen.shows("Done.");
    screen.leave();
}

#[test]
fn what_is_typed_never_approves() {
    let (workshop, args) = with_approval();
    let mut screen = Screen::chat(&workshop, 80, &args);
    screen.keys("yes, and s");
    screen.shows("Run Echo?");
    screen.shows("> yes, and s");
    screen.keys("y");
    let text = screen.shows("> yes, and sy");
    assert!(
        text.contains("Send or clear the input line first"),
        "{text}"
    );
    // Esc refuses it.
    screen.keys("\x1b");
    screen.shows("✗ Echo one");
    screen.shows("\"say\": \"two\"");
    screen.keys("\x1b");
    let text = screen.shows("Done.");
    assert_eq!(count(&text, "Denied by the user"), 2, "{text}");
    // While the run ends, it would be about the run.
    screen.rests();
    screen.keys(CTRL_C);
    screen.hides("> yes, and sy");
    screen.leave();
}

#[test]
fn ctrl_c_cancels_the_gadget_then_the_reply_then_leaves() {
    let script = reply(&block("Left:a", "")) + &slow(&["Ende", "avour"], 600_000);
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &["Go!"]);
    screen.until("a gadget", |text| {
        text.contains("Left") && text.contains("running 1 gadget")
    });
    screen.keys(CTRL_C);
    screen.shows("✗ Left");
    screen.shows("Ende");
    screen.keys(CTRL_C);
    let text = screen.shows("interrupted; what was received is kept\n>");
    assert!(text.contains("Ende"), "{text}");
    // One press more does not leave: it is often meant for the reply.
    screen.keys(CTRL_C);
    screen.shows("Ctrl-C again leaves");
    screen.keys(CTRL_C);
    let (code, _) = screen.ends();
    assert_eq!(code, 0);
}

#[test]
fn what_is_typed_during_a_run_is_added_to_it() {
    let script = reply(&block("Left:a", "")) + &reply("Understood.");
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--session", "talk"]);
    screen.shows("running 1 gadget");
    screen.say("Be brief.");
    screen.shows("+ Be brief.");
    workshop.write("right", "");
    screen.shows("Understood.");
    let text = screen.leave();
    assert!(text.contains("✓ Left"), "{text}");
    assert!(
        text.contains("> Be brief.\n  (added to the run)\n"),
        "{text}"
    );
    let shown = workshop.command(&["sessions", "show", "talk"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(shown.contains("> Be brief.\n\n  > Left a {}\n"), "{shown}");
    assert!(shown.ends_with("\n\nUnderstood.\n"), "{shown}");
}

#[test]
fn a_resize_in_the_middle_of_a_stream_loses_and_repeats_nothing() {
    let pieces: Vec<String> = (1..=30)
        .map(|number| format!("paragraph {number} ends.\n\n"))
        .collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let workshop = Workshop::new(&slow(&pieces, 20));
    let mut screen = Screen::start(
        &workshop,
        (80, 100),
        &[
            "chat",
            "Go!",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
        ],
        // The terminal of these tests cuts rows, as xterm does.
        &[("XTERM_VERSION", "XTerm(390)")],
    );
    for (index, columns) in [60, 90, 40, 80, 30, 100].into_iter().enumerate() {
        screen.shows(&format!("paragraph {} ends.", 4 * index + 1));
        screen.resize(columns, 100);
    }
    screen.shows("paragraph 30 ends.");
    screen.until("the end", |text| !text.contains("Esc interrupts"));
    screen.keys("typed");
    let text = screen.shows("> typed");
    for number in 1..=30 {
        assert_eq!(
            count(&text, &format!("paragraph {number} ends.")),
            1,
            "{number} in\n{text}"
        );
    }
    assert_eq!(count(&text, READY), 1, "{text}");
    screen.keys(CTRL_C);
    screen.hides("> typed");
    screen.leave();
}

#[test]
fn a_long_paste_is_a_label_and_is_sent_whole() {
    let rows: Vec<String> = (0..200)
        .map(|number| format!("row {number} {}", "x".repeat(40)))
        .collect();
    let paste = rows.join("\n");
    assert!(paste.len() > 9_000);
    let workshop = Workshop::new(&reply("Read."));
    let mut screen = Screen::chat(&workshop, 80, &["--session", "paste"]);
    screen.shows(READY);
    screen.keys(format!("see \x1b[200~{paste}\x1b[201~"));
    screen.shows("> see [paste 1: 200 lines]");
    screen.keys("\x1b[200~two\nlines\x1b[201~");
    screen.shows("two\n  lines");
    screen.keys(ENTER);
    let text = screen.shows("Read.");
    assert!(text.contains("row 0 xxx"), "{text}");
    assert!(text.contains("more lines"), "{text}");
    screen.leave();
    let shown = workshop.command(&["sessions", "show", "paste"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(
        shown.contains("row 199 xxx") && shown.contains("two\n> lines"),
        "{shown}"
    );
    // So is one that is recalled, also by another program.
    let mut screen = Screen::chat(&workshop, 80, &["--session", "again"]);
    screen.shows(READY);
    screen.keys(UP);
    screen.shows("> see [paste 1: 200 lines]two\n  lines\n");
    screen.keys(ENTER);
    screen.shows("Read.");
    screen.leave();
    let again = workshop.command(&["sessions", "show", "again"]).output();
    let again = String::from_utf8(again.expect("sessions").stdout).expect("UTF-8");
    assert_eq!(again.replace("again", "paste"), shown);
}

#[test]
fn what_is_typed_before_the_screen_is_there_is_typed_once() {
    let check = |keys: &str, expected: &str| {
        let workshop = Workshop::new(&reply("Read."));
        let mut screen = Screen::chat(&workshop, 80, &[]);
        screen.keys(keys);
        screen.until(expected, |text| {
            let (_, chat) = text.split_once("/help for commands\n").unwrap_or_default();
            let (chat, _) = chat.split_once("\nscript:").unwrap_or_default();
            chat == expected
        });
        screen.keys(CTRL_C);
        screen.leave();
    };
    check("hello", "\n> hello");
    check(
        "hello\r",
        "\n> hello\n\nRead.\n\n>  Message, /help for commands, @ for files",
    );
    check("hello\rwor", "\n> hello\n\nRead.\n\n> wor");
}

/// What comes in one burst is read to its end, also without the marks of a paste.
#[test]
fn typed_bursts_are_read_whole() {
    for length in [1_000, 1_024, 3_000, 10_000] {
        let workshop = Workshop::new(&reply("Read."));
        let mut screen = Screen::chat(&workshop, 80, &["--session", "burst"]);
        screen.shows(READY);
        screen.say(&format!("{}END", "w".repeat(length)));
        screen.shows("Read.");
        screen.leave();
        let shown = workshop.command(&["sessions", "show", "burst"]).output();
        let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
        let typed = shown.lines().find(|line| line.ends_with("END"));
        assert_eq!(typed.map(str::len), Some(length + 5), "{shown}");
    }
}

#[test]
fn earlier_messages_are_recalled_and_searched() {
    let workshop = Workshop::new(&(reply("A.") + &reply("B.") + &reply("C.")));
    let mut screen = Screen::chat(&workshop, 80, &[]);
    screen.shows(READY);
    screen.say("first thing");
    screen.shows("A.");
    screen.rests();
    screen.say("second thing");
    screen.shows("B.");
    screen.rests();
    screen.keys("draft\x1b[A");
    screen.until("recall", |text| count(text, "> second thing") == 2);
    screen.keys("\x1b[A");
    screen.until("recall", |text| count(text, "> first thing") == 2);
    screen.keys("\x1b[B\x1b[B");
    screen.shows("> draft");
    screen.keys(CTRL_C);
    screen.hides("> draft");
    screen.leave();
    // The next program has them, too.
    let mut screen = Screen::chat(&workshop, 80, &[]);
    screen.shows(READY);
    screen.keys("\x12fir");
    screen.shows("search: fir  first thing");
    screen.keys(ENTER);
    screen.shows("> first thing");
    screen.keys(ENTER);
    screen.shows("A.");
    screen.leave();
}

#[test]
fn nothing_of_others_commands_the_terminal() {
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}&#27;[2J\r";
    let script = reply(&format!(
        "Text {hostile}\n```\n{hostile}\n```\n{}",
        block("Echo:a", hostile)
    )) + &reply(&block(&format!("No{hostile}pe:b"), ""))
        + &reply("Done.");
    let workshop = Workshop::new(&script);
    let mut screen = Screen::chat(&workshop, 80, &["--approval", "ask Echo"]);
    screen.shows(READY);
    screen.keys(format!("\x1b[200~{hostile}\x1b[201~"));
    screen.say("Go");
    screen.shows("Run Echo?");
    press(&mut screen, "y", "Done.");
    let bytes = screen.bytes();
    for sequence in [
        "\u{1b}]0;",
        "\u{1b}[2J",
        "\u{9b}",
        "\u{202e}",
        "\u{7}",
        "\u{1b}[31m\u{202e}",
    ] {
        assert!(!bytes.contains(sequence), "{sequence:?} in {bytes:?}");
    }
    assert!(bytes.contains("\\u{1b}[2J"), "{bytes:?}");
    screen.leave();
}

#[test]
fn wide_characters_end_before_the_edge() {
    let text = "日本語の文章はとても長いので折り返されます。".repeat(3);
    let workshop = Workshop::new(&reply(&text));
    let mut screen = Screen::chat(&workshop, 20, &[]);
    screen.until("a prompt", |text| text.contains('>'));
    screen.say("日本語の質問ですがとても長い");
    screen.until("the end", |screen| {
        let joined: String = screen.lines().collect();
        joined.contains(&text)
    });
    let shown = screen.leave();
    for row in shown.lines() {
        assert!(
            unicode_columns(row) < 20 || row.contains("gadgetry"),
            "{row:?} in\n{shown}"
        );
    }
}

/// Columns of a row of ASCII and of Japanese.
fn unicode_columns(row: &str) -> usize {
    row.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum()
}

#[test]
fn a_closed_window_ends_the_program() {
    let workshop = Workshop::new(&slow(&["never", "ends"], 600_000));
    let screen = Screen::chat(&workshop, 80, &["Go!"]);
    screen.shows("never");
    screen.hang_up();
    screen.ends();
}

#[test]
fn words_are_completed_and_files_attached() {
    let workshop = Workshop::new(&reply("Read."));
    workshop.write("notes.txt", "the secret is 42\n");
    workshop.write(".gitignore", "ignored.txt\n");
    workshop.write("ignored.txt", "");
    let mut screen = Screen::chat(&workshop, 80, &["--session", "files"]);
    screen.shows(READY);
    screen.keys("/ex");
    screen.shows("› /export");
    screen.keys("\t");
    screen.shows("> /export");
    screen.keys("\x15see @not");
    screen.shows("› notes.txt");
    screen.keys("\t please");
    screen.shows("> see @notes.txt please");
    screen.keys("\x1b\r @ign");
    let text = screen.shows("@ign");
    assert!(!text.contains("ignored.txt"), "{text}");
    screen.keys("\x7f\x7f\x7f\x7f\r");
    screen.shows("Read.");
    screen.leave();
    let shown = workshop.command(&["sessions", "show", "files"]).output();
    let shown = String::from_utf8(shown.expect("sessions").stdout).expect("UTF-8");
    assert!(
        shown.contains("> --- notes.txt ---\n> the secret is 42\n"),
        "{shown}"
    );
}

#[test]
fn a_suspended_program_continues() {
    let workshop = Workshop::new(&reply("Hello."));
    let line = format!(
        "{} chat --model script:script.jsonl --gadgets gadgets.toml",
        super::GADGETRY
    );
    let mut screen = Screen::shell(&workshop);
    screen.say(&line);
    screen.shows("script:script.jsonl · asks");
    screen.keys("some words\x1a");
    screen.shows("Stopped");
    screen.say("fg");
    screen.shows("> some words");
    screen.keys(ENTER);
    screen.shows("Hello.");
    screen.keys(CTRL_D);
    screen.shows("continue with");
    screen.say("exit");
    assert_eq!(screen.ends().0, 0);
}

#[test]
fn narrow_terminals_and_those_without_colors_work() {
    let check = |columns: u16, variables: &[(&str, &str)], has_colors: bool| {
        let workshop = Workshop::new(&reply("**Hello** to `you` and many others."));
        let args = [
            "chat",
            "Hi",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
        ];
        let screen = Screen::start(&workshop, (columns, 24), &args, variables);
        screen.shows("others.");
        let is_colored = screen.bytes().contains(";36m");
        assert_eq!(is_colored, has_colors, "{variables:?}");
        screen.leave();
    };
    check(20, &[], true);
    check(80, &[("NO_COLOR", "1")], false);
    check(80, &[("NO_COLOR", "")], true);
}

#[test]
fn a_killed_conversation_is_resumed_with_a_question() {
    let script = reply(&block("Meet:a", "")) + &reply("Met.");
    let workshop = Workshop::new(&script);
    let gadget = "[[gadget]]\nname = \"Meet\"\ndescription = \"Waits\"\non-interrupt = \"ask\"\ntimeout = \"1m\"\n\
                  command = [\"sh\", \"-c\", \"until [ -e right ]; do sleep 0.01; done; echo met\"]\n";
    workshop.write("gadgets.toml", gadget);
    let mut screen = Screen::chat(&workshop, 80, &["Go!", "--session", "killed"]);
    screen.shows("running 1 gadget");
    screen.say("And be brief.");
    screen.shows("(waits for the run");
    screen.kill();
    screen.ends();
    let args = ["chat", "--continue", "killed"];
    let mut screen = Screen::start(&workshop, (80, 40), &args, &[]);
    screen.shows("> Go!");
    screen.shows("waiting for you");
    workshop.write("right", "");
    screen.shows("Type the answer: Enter sends it, Esc gives none");
    screen.say("yes");
    screen.shows("Met.");
    let text = screen.leave();
    assert!(text.contains("✓ Meet"), "{text}");
}

#[test]
fn mistakes_are_reported_before_anything_starts() {
    let workshop = Workshop::new(&reply("Hi."));
    let check = |args: &[&str], stderr: &str| {
        let mut command = workshop.command(&[&["chat"], args].concat());
        super::workshop::Ended::of(&mut command).check("", stderr, 2);
    };
    let usual = [
        "--model",
        "script:script.jsonl",
        "--gadgets",
        "gadgets.toml",
    ];
    let with = |more: &[&'static str]| [&usual[..], more].concat();
    check(
        &with(&["--continue"]),
        "error: there is no session to continue\n",
    );
    check(
        &["--continue", "nope"],
        "error: there is no session to continue\n",
    );
    check(
        &with(&["--approval", "alow Echo"]),
        "error: invalid value 'alow Echo' for '--approval <RULE>': invalid rule `alow Echo`: it does not begin with `allow`, `ask` or `deny`; write `Gadget` or `Gadget(pattern)`\n",
    );
    check(
        &with(&["--session", "a.b"]),
        "error: invalid value 'a.b' for '--session <NAME>': expected 1 to 64 ASCII letters, digits, hyphens and underscores, the first one not a hyphen\n",
    );
    check(
        &with(&["--continue", "a", "--session", "b"]),
        "error: the argument '--continue [<NAME>]' cannot be used with '--session <NAME>'\n",
    );
    // Without a user, a call that needs approval is denied.
    workshop.write(
        "script.jsonl",
        &(reply(&block("Echo:a", "one")) + &reply("So.")),
    );
    let ended = super::workshop::Ended::of(&mut workshop.agent(&["--approval", "ask Echo"]));
    assert!(
        ended
            .stderr
            .contains("Denied: Echo needs approval, but no user is at a terminal"),
        "{ended:?}"
    );
    assert_eq!(ended.stdout, "So.\n");
}

#[test]
fn without_a_verb_and_a_key_there_is_help() {
    let workshop = Workshop::new(&reply("Hi."));
    let screen = Screen::start(&workshop, (100, 200), &[], &NO_SERVERS);
    let (code, text) = screen.ends();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("To begin, do one of these:"), "{text}");
}
