mod answers;
mod ends;
mod typed;
mod waiting;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

/// An app, and the time that passes with each step.
struct Played {
    app: App,
    now: Duration,
    effects: Vec<Effect>,
}

impl Played {
    fn new() -> Self {
        let facts = Facts {
            name: "m".to_owned(),
            window: Some(1000),
            reads_images: false,
            place: String::new(),
            server: None,
            mode: "asks".to_owned(),
            approval: Mode::Ask,
            names: Names::default(),
        };
        Self {
            app: App::new(facts, History::new(Vec::new())),
            now: Duration::ZERO,
            effects: Vec::new(),
        }
    }

    fn step(&mut self, after_ms: u64, message: Message) -> &mut Self {
        self.now += Duration::from_millis(after_ms);
        let effects = self.app.update(self.now, message);
        self.effects.extend(effects);
        self
    }

    /// Types, 10 ms a key.
    fn keys(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.press(
                10,
                if c == '\n' {
                    KeyCode::Enter
                } else {
                    KeyCode::Char(c)
                },
            );
        }
        self
    }

    fn press(&mut self, after_ms: u64, key: KeyCode) -> &mut Self {
        self.step(
            after_ms,
            Message::Key(KeyEvent::new(key, KeyModifiers::NONE)),
        )
    }

    fn control(&mut self, after_ms: u64, key: char) -> &mut Self {
        let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
        self.step(after_ms, Message::Key(key))
    }

    fn event(&mut self, event: &str) -> &mut Self {
        let event = format!(r#"{{ "v": 1, "seq": 0, "timeMs": 0, {event} }}"#);
        let event = serde_json::from_str(&event).expect("an event");
        self.step(0, Message::Run(Box::new(event)))
    }

    fn approval(&mut self, id: RequestId) -> &mut Self {
        let approval = Approval {
            further: None,
            gadget: "Run".to_owned(),
            subject: "rm -r x\u{1b}[2J".to_owned(),
            is_line: false,
            diff: Some("@@ -1 +1 @@\n-a\n+b".to_owned()),
            notes: vec!["in src".to_owned()],
            rules: vec!["Run(rm -r x)".to_owned(), "Run(rm *)".to_owned()],
        };
        self.step(0, Message::Approval(id, approval))
    }

    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns the rows that settled since the last call, and the live rows.
    fn screen(&mut self, columns: u16, height: u16) -> (String, String) {
        let shown = |lines: &[Line<'_>]| {
            let lines = lines.iter().map(|it| it.to_string().trim_end().to_owned());
            lines.collect::<Vec<_>>().join("\n")
        };
        self.app.resize(columns, height);
        let settled = self.app.take_settled(columns - 1);
        let view = self.app.view(columns, height);
        assert!(view.rows.len() < usize::from(height), "{view:?}");
        for row in &view.rows {
            assert!(row.width() < usize::from(columns), "{row:?}");
        }
        assert!(
            view.cursor.0 < view.rows.len() && view.cursor.1 < columns,
            "{view:?}"
        );
        (shown(&settled), shown(&view.rows))
    }
}

fn call(number: u32) -> String {
    format!(r#""call": {number}, "invocationId": "a", "gadgetName": "Run""#)
}

#[test]
fn a_message_begins_a_run_or_is_added_to_it() {
    let mut played = Played::new();
    played.keys("hello\n");
    let remember = |text: &str| Effect::Remember(text.to_owned().into());
    let expected = [remember("hello"), Effect::Send("hello".to_owned())];
    assert_eq!(played.effects(), expected);
    played
        .step(0, Message::Began("hello".to_owned()))
        .keys("more\n");
    assert_eq!(
        played.effects(),
        [remember("more"), Effect::Inject("more".to_owned())]
    );
    // It was too late, so it begins the next run.
    played.step(0, Message::NotInjected("more".to_owned()));
    played.step(0, Message::Ended(Ok(())));
    assert_eq!(played.effects(), [Effect::Send("more".to_owned())]);
    played.keys("  \n").keys("/quit\n");
    assert_eq!(played.effects(), [remember("/quit"), Effect::Leave]);
}

/// Without a known window, what is in it is shown.
#[test]
fn the_status_shows_the_context() {
    let status = |window: Option<u64>| {
        let mut played = Played::new();
        played.app.facts.window = window;
        played.step(0, Message::Began("go".to_owned()));
        for _ in 0..2 {
            played.event(
                r#""type": "model_call_end", "iteration": 1, "stopReason": "stop", "usage": { "inputTokens": 400, "outputTokens": 100 }, "cost": 0"#,
            );
        }
        let (_, live) = played.screen(100, 24);
        let status = live.lines().last().unwrap_or_default().to_owned();
        // The sum is elsewhere.
        played.keys("/cost\n");
        let (settled, _) = played.screen(100, 24);
        assert!(
            settled.contains("800 tokens in, 200 tokens out"),
            "{settled}"
        );
        status
    };
    let known = "m · 500 tokens in context, 50 % left · asks";
    assert_eq!(status(Some(1000)), known);
    assert_eq!(status(None), "m · 500 tokens in context · asks");
}

#[test]
fn a_call_fills_in_runs_and_settles() {
    let mut played = Played::new();
    played.step(0, Message::Began("go".to_owned()));
    played.event(r#""type": "text", "text": "I try.\n""#);
    let (settled, live) = played.screen(60, 24);
    assert_eq!(settled, "> go\n");
    assert_eq!(
        live,
        "I try.\n⠋ writing · 0.0 s · Esc interrupts\n>  Message, /help for commands, @ for files\n\
         m · 100 % context left · asks"
    );
    let call = call(0);
    played.event(&format!(
        r#""type": "gadget_call_start", {call}, "dependencies": []"#
    ));
    played.event(&format!(
        r#""type": "gadget_args_partial", {call}, "fieldPath": "command", "delta": "ls\n-l\u001b", "isFieldComplete": false"#
    ));
    let (settled, live) = played.screen(60, 24);
    assert_eq!(settled, "I try.\n");
    assert!(
        live.starts_with("· Run\n  command: ls\n    -l\\u{1b}\n"),
        "{live}"
    );
    played.event(&format!(
        r#""type": "gadget_start", {call}, "parameters": {{ "command": "ls -l" }}"#
    ));
    played.event(&format!(
        r#""type": "gadget_progress", {call}, "message": "half""#
    ));
    played.step(1500, Message::Tick);
    let (settled, live) = played.screen(60, 24);
    assert_eq!(settled, "");
    assert!(live.starts_with("⠴ Run ls -l 1.5 s\n  half\n"), "{live}");
    let result = (1..9)
        .map(|it| it.to_string())
        .collect::<Vec<_>>()
        .join("\\n");
    played.event(&format!(
        r#""type": "gadget_result", {call}, "result": "{result}", "durationMs": 2000"#
    ));
    let (settled, _) = played.screen(60, 24);
    assert_eq!(
        settled,
        "✓ Run ls -l 2.0 s\n  1\n  2\n  3\n  4\n  5\n  … 3 more lines"
    );
    played.step(0, Message::Ended(Err(Failure::Run("no luck".to_owned()))));
    assert_eq!(played.screen(60, 24).0, "no luck");
    played.step(0, Message::Began("again".to_owned()));
    assert_eq!(played.screen(60, 24).0, "\n> again\n");
}

#[test]
fn approvals_are_a_queue() {
    let mut played = Played::new();
    played
        .step(0, Message::Began(String::new()))
        .approval(1)
        .approval(2);
    played.step(300, Message::Tick);
    let (settled, live) = played.screen(80, 24);
    let preview = "? Run\n  · in src\n  │ rm -r x\\u{1b}[2J\n  │ @@ -1 +1 @@\n  │ -a\n  │ +b";
    assert_eq!(settled, preview);
    assert!(
        live.contains(
            "Run Run? (1 more waiting)\ny once  n no  Tab another rule  s this session, a always: Run(rm -r x)\n"
        ),
        "{live}"
    );
    // A second key right after the first one does not answer the second request.
    played
        .press(0, KeyCode::Char('y'))
        .press(50, KeyCode::Char('y'));
    assert_eq!(played.effects(), [Effect::Decide(1, Verdict::Once)]);
    let (settled, live) = played.screen(80, 24);
    assert_eq!(settled, preview);
    // It is no message, either.
    assert!(!live.contains("> y"), "{live}");
    // Keys of the same question follow each other at once.
    played.step(300, Message::Tick);
    played
        .press(0, KeyCode::Tab)
        .press(1, KeyCode::Tab)
        .press(1, KeyCode::Char('n'))
        .press(1, KeyCode::Enter);
    assert_eq!(played.effects(), [Effect::Decide(2, Verdict::No(None))]);
    played.approval(2);
    played.step(0, Message::Withdrawn(2));
    assert!(!played.screen(80, 24).1.contains("Run Run?"));
}

#[test]
fn questions_are_answered_in_the_input_line() {
    let mut played = Played::new();
    played.step(0, Message::Began(String::new())).keys("draft");
    played.step(0, Message::Question(3, "Which\u{7} one?".to_owned()));
    let (settled, live) = played.screen(80, 24);
    assert_eq!(settled, "? A gadget asks\n  │ Which\\u{7} one?");
    assert!(
        live.contains("A gadget asks\nSend or clear the input line first\n> draft\n"),
        "{live}"
    );
    // The draft is a message, not the answer.
    played.press(400, KeyCode::Enter);
    let expected = [
        Effect::Remember("draft".to_owned().into()),
        Effect::Inject("draft".to_owned()),
    ];
    assert_eq!(played.effects(), expected);
    played
        .step(300, Message::Tick)
        .press(0, KeyCode::Enter)
        .keys("");
    played
        .press(300, KeyCode::Char('7'))
        .press(1, KeyCode::Enter);
    assert_eq!(played.effects(), [Effect::Answer(3, Some("7".to_owned()))]);
    played
        .step(0, Message::Question(4, "Sure?".to_owned()))
        .press(300, KeyCode::Esc);
    assert_eq!(played.effects(), [Effect::Answer(4, None)]);
}

#[test]
fn ctrl_c_takes_one_step_at_a_time() {
    let mut played = Played::new();
    let start = format!(r#""type": "gadget_start", {}, "parameters": {{}}"#, call(0));
    played
        .step(0, Message::Began("go".to_owned()))
        .event(&start)
        .control(10, 'c');
    assert_eq!(played.effects(), [Effect::CancelGadgets]);
    played.control(10, 'c');
    assert_eq!(played.effects(), [Effect::CancelRun]);
    // The next press is often meant for the run. It warns, and the one after it leaves.
    played
        .control(10, 'c')
        .step(0, Message::Ended(Err(Failure::Run("cancelled".to_owned()))));
    assert_eq!(played.effects(), []);
    let warning = "Ctrl-C again leaves";
    assert!(played.screen(60, 24).0.contains(warning));
    played.control(2999, 'c');
    assert_eq!(played.effects(), [Effect::Leave]);
    // Not if it is later, or if something was typed in between.
    let mut idle = Played::new();
    idle.control(10, 'c').control(3000, 'c');
    idle.keys("x").control(10, 'c').control(10, 'c');
    idle.step(0, Message::Paste(String::new())).control(10, 'c');
    assert_eq!(idle.effects(), [Effect::PasteImage]);
    assert_eq!(idle.screen(60, 24).0.matches(warning).count(), 4);
    idle.control(10, 'c').control(10, 'z').control(10, 'd');
    assert_eq!(
        idle.effects(),
        [Effect::Leave, Effect::Suspend, Effect::Leave]
    );
}

#[test]
fn a_command_forges_no_line_of_the_program() {
    let forged = "ls\n  · in the sandbox\n? Other\r\n│ x\u{b}\u{85}y".to_owned()
        + &" ".repeat(70)
        + "  · in src";
    let approval = Approval {
        gadget: "Run".to_owned(),
        subject: forged,
        notes: vec!["no sandbox".to_owned()],
        ..Approval::default()
    };
    let mut played = Played::new();
    played.step(0, Message::Approval(1, approval));
    let (settled, _) = played.screen(60, 24);
    let marked = settled
        .lines()
        .skip(2)
        .all(|row| row.starts_with("  │ ") || row.starts_with("  ┆ "));
    assert!(
        marked && settled.starts_with("? Run\n  · no sandbox\n  │ ls\n"),
        "{settled}"
    );
    assert!(settled.contains("  │ ? Other\\u{d}\n"), "{settled}");
}

#[test]
fn the_live_rows_fit_any_screen() {
    let text = "日本語 words and more words. ".repeat(30);
    for columns in [2, 3, 5, 10, 20, 79, 200] {
        for height in [2, 3, 5, 10, 50] {
            let mut played = Played::new();
            played.step(0, Message::Began("go".to_owned()));
            played.event(&format!(r#""type": "text", "text": "{text}""#));
            let start = format!(
                r#""type": "gadget_start", {}, "parameters": {{ "a": "{text}" }}"#,
                call(0)
            );
            played
                .event(&start)
                .keys("日本語の入力です\\\nline")
                .approval(1);
            let (_, live) = played.screen(columns, height);
            let rows = live.lines().count();
            assert!(
                rows <= usize::from((height / 2).max(4)),
                "{columns}x{height}:\n{live}"
            );
        }
    }
}

#[test]
fn subagents_and_withdrawn_replies_are_shown() {
    let mut played = Played::new();
    played.step(0, Message::Began(String::new()));
    played.event(r#""type": "text", "text": "wrong""#);
    played.event(r#""type": "reply_withdrawn", "iteration": 1"#);
    let outer = format!(r#""type": "gadget_start", {}, "parameters": {{}}"#, call(0));
    played.event(&outer);
    let path = r#""path": [{ "call": 0, "invocationId": "a", "agent": 0 }]"#;
    played.event(&format!(
        r#"{path}, "type": "gadget_start", {}, "parameters": {{}}"#,
        call(0)
    ));
    played.event(&format!(r#"{path}, "type": "text", "text": "not shown""#));
    let (settled, live) = played.screen(60, 24);
    assert_eq!(settled, "the reply so far is withdrawn");
    assert!(live.starts_with("⠋ Run 0.0 s\n  ⠋ Run 0.0 s\n⠋ "), "{live}");
}

/// What a subagent calls is below the call that has begun it, whatever was called meanwhile.
#[test]
fn calls_of_subagents_are_below_their_own() {
    let mut played = Played::new();
    played.step(0, Message::Began("go".to_owned()));
    let start = |path: &str, number: u32, name: &str| {
        let call = call(number).replace("\"Run\"", &format!("\"{name}\""));
        format!(r#"{path}"type": "gadget_start", {call}, "parameters": {{}}"#)
    };
    let of = |number: u32| {
        format!(r#""path": [{{ "call": {number}, "invocationId": "a", "agent": 0 }}], "#)
    };
    for event in [
        start("", 0, "One"),
        start("", 1, "Two"),
        start(&of(0), 0, "A"),
        start(&of(1), 0, "C"),
        start(&of(0), 1, "B"),
    ] {
        played.event(&event);
    }
    let (_, live) = played.screen(60, 24);
    let rows: Vec<&str> = live.lines().take(5).collect();
    let expected = ["⠋ One", "  ⠋ A", "  ⠋ B", "⠋ Two", "  ⠋ C"];
    assert_eq!(rows, expected.map(|it| format!("{it} 0.0 s")));
}

#[test]
fn what_needs_approval_is_shown_after_what_was_said() {
    let mut played = Played::new();
    played.step(0, Message::Began("go".to_owned()));
    let start = r#""type": "gadget_call_start", "dependencies": []"#;
    played.event(&format!("{start}, {}", call(0))).approval(1);
    // All of it is in one frame; the call itself waits.
    let (settled, live) = played.screen(60, 24);
    assert!(
        settled.starts_with("> go\n\n? Run\n  · in src\n  │ rm -r x"),
        "{settled}"
    );
    assert!(live.starts_with("· Run\n"), "{live}");
}

#[test]
fn very_long_lines_are_cut() {
    let mut played = Played::new();
    played.step(0, Message::Began("x".repeat(100_000)));
    let (settled, _) = played.screen(80, 24);
    assert!(
        settled.ends_with("x…\n  99000 more characters\n"),
        "{settled}"
    );
    assert!(settled.lines().count() < 20, "{settled}");
}

#[test]
fn a_long_rule_leaves_room_for_the_answers() {
    let mut played = Played::new();
    played.step(0, Message::Began(String::new()));
    let approval = Approval {
        gadget: "Run".to_owned(),
        rules: vec!["Run(word word word)".repeat(20)],
        ..Approval::default()
    };
    played.step(0, Message::Approval(1, approval));
    played.step(300, Message::Tick);
    let (_, live) = played.screen(20, 20);
    assert!(
        live.contains("y once  n no  s\nthis session, a\n"),
        "{live}"
    );
    assert!(live.ends_with("\nm · asks"), "{live}");
}

#[test]
fn a_plan_is_accepted_by_a_key_and_never_by_typing() {
    let answered = |answer: &str| {
        let event = format!(
            r#""type": "run_finished", "reason": "completed", "iterations": 1, "totalCost": null, "answer": "{answer}""#
        );
        let mut played = Played::new();
        played.app.facts.approval = Mode::Plan;
        played
            .step(0, Message::Began("go".to_owned()))
            .event(&event)
            .step(0, Message::Ended(Ok(())));
        played
    };
    // The answer to a question has none.
    let live = answered("It is 1.\\n- indeed").screen(80, 24).1;
    assert!(!live.contains("Carry out"), "{live}");
    let planned = || {
        let mut played = answered("## Plan\\n\\n- go");
        assert!(played.screen(80, 24).1.contains("Carry out this plan?"));
        played
    };
    let check = |step: fn(&mut Played) -> &mut Played, expected: &[Effect]| {
        let mut played = planned();
        step(&mut played);
        assert_eq!(played.effects(), expected);
    };
    let accepted = |mode: Mode| {
        let message = "Carry out the plan.".to_owned();
        [Effect::Mode(mode), Effect::Send(message)]
    };
    for key in ['1', '2'] {
        let mode = if key == '1' {
            Mode::Ask
        } else {
            Mode::AcceptEdits
        };
        let mut played = planned();
        played.press(300, KeyCode::Char(key));
        assert_eq!(played.effects(), []);
        played.press(300, KeyCode::Enter);
        assert_eq!(played.effects(), accepted(mode));
        // A message may begin with such a number.
        let mut played = planned();
        played
            .press(300, KeyCode::Char(key))
            .keys(". add tests")
            .press(300, KeyCode::Enter);
        let message = format!("{key}. add tests");
        let remembered = Effect::Remember(Typed::from(message.clone()));
        assert_eq!(played.effects(), [remembered, Effect::Send(message)]);
    }
    check(
        |it| it.press(300, KeyCode::Char('2')).press(299, KeyCode::Enter),
        &[],
    );
    check(
        |it| {
            it.press(300, KeyCode::Char('2'))
                .keys(" bugs")
                .press(300, KeyCode::Esc)
        },
        &[],
    );
    check(|it| it.press(299, KeyCode::Char('2')), &[]);
    check(|it| it.keys("x").press(400, KeyCode::Char('2')), &[]);
    check(|it| it.step(300, Message::Paste("1".to_owned())), &[]);
    check(|it| it.press(300, KeyCode::Enter), &[]);
    check(
        |it| it.press(10, KeyCode::Esc).press(400, KeyCode::Char('2')),
        &[],
    );
    // A plan that failed or was interrupted has no question.
    let mut played = Played::new();
    played.app.facts.approval = Mode::Plan;
    played
        .step(0, Message::Began("go".to_owned()))
        .press(10, KeyCode::Esc)
        .press(10, KeyCode::Esc)
        .step(0, Message::Ended(Err(Failure::Run("cancelled".to_owned()))));
    assert_eq!(played.effects(), [Effect::CancelRun]);
    let (settled, live) = played.screen(80, 24);
    assert!(!live.contains("Carry out"), "{live}");
    assert!(
        settled.ends_with("interrupted; what was received is kept"),
        "{settled}"
    );
}
