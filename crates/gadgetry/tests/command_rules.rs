//! Rules about commands: what their `*` matches, and where they apply. Lines of a question about one.

use std::io::Write as _;
use std::process::{Command, Stdio};

use gadgetry::approval::{ApprovalRequest, Rule};
use gadgetry::proto::event::RunInfo;
use gadgetry::serde_json::Value;
use gadgetry::{CallPreview, CommandLine, Subject};

#[test]
fn the_end_of_a_rule_is_not_quoted_away() {
    let check = |rule: &str, line: &str, expected: bool| {
        let subject = Subject::command(line);
        let matches = |permission: &str| {
            let rule: Rule = format!("{permission} *({rule})").parse().unwrap();
            rule.matches("RunCommand", &Value::Null, Some(&subject))
        };
        assert_eq!(matches("allow"), expected, "{rule} for {line}");
        assert!(matches("deny") && matches("ask"), "{rule} for {line}");
    };
    check("./deploy * --dry-run", "./deploy prod --dry-run", true);
    check("./deploy * --dry-run", "./deploy  --dry-run", true);
    check("./deploy * --dry-run", "./deploy prod # --dry-run", false);
    check("./deploy * --dry-run", "./deploy # --dry-run", false);
    check("./deploy * --dry-run", "./deploy a\t# --dry-run", false);
    check("./deploy * --dry-run", "./deploy a\u{a0}# --dry-run", false);
    check("./deploy * --dry-run", "./deploy 'a' # --dry-run", false);
    check("./deploy * --dry-run", "./deploy 'a # b' --dry-run", true);
    check(
        "./deploy * --dry-run",
        "./deploy http://a/#b --dry-run",
        true,
    );
    check("./deploy * --dry-run", "./deploy ''#b --dry-run", true);
    check("./deploy*--dry-run", "./deploy # --dry-run", false);
    // An open quotation that a later `*` closes.
    check("a * -n *", "a 'x -n y'", false);
    check("a * -n *", "a \"x -n y\"", false);
    check("a * -n *", "a \"'\" -n \"'\"", true);
    check("a * -n *", "a \"it's\" -n 'x", true);
    check("a * -n*", "a 'x -n'", false);
    // Nothing ends a quotation of the rule.
    check(
        "git commit -m \"*\" -n",
        "git commit -m \"it's #5\" -n",
        true,
    );
    check(
        "git commit -m \"*\" -n",
        "git commit -m \"a\" # \"b\" -n",
        false,
    );
    check(
        "git commit -m '*' -n",
        "git commit -m 'a' --amend 'b' -n",
        false,
    );
    check(r#"a "\\"*" -n *"#, r#"a "\"x" -n y"#, true);
    check(r#"a "\\"*" -n *"#, r#"a "\"x" y" -n z"#, false);
    check(r"a \\* -n *", "a \\' -n x", false);
    check(r"a \\* -n *", "a \\x -n x", true);
    let output = "git log --grep=\"x\" --output=\"y\"";
    check("git log --grep=\"*\"", output, false);
    // There is nothing after it.
    check("a *", "a # b", true);
    check("a *", "a 'b", true);
}

/// What an allowing rule allows has the end that the rule names, for a real shell.
#[cfg(unix)]
#[test]
fn a_shell_reads_the_end_of_a_rule_as_written() {
    let texts = |length: u32| {
        let symbols = ['a', ' ', '#', '"', '\''];
        (0..5_usize.pow(length)).map(move |number| -> String {
            let symbol = |place| symbols[number / 5_usize.pow(place) % 5];
            (0..length).map(symbol).collect()
        })
    };
    for (start, end) in [("last ", " -n"), ("last \"", "\" -n"), ("last a", " -n")] {
        let rule: Rule = format!("allow *({start}*{end})").parse().unwrap();
        let lines = (0..=5)
            .flat_map(texts)
            .map(|text| start.to_owned() + &text + end);
        let matches =
            |line: &String| rule.matches("RunCommand", &Value::Null, Some(&Subject::command(line)));
        let allowed: Vec<String> = lines.filter(matches).collect();
        assert!(allowed.len() > 100, "{rule}: {allowed:?}");
        let script = "last() { for it; do :; done; printf '%s\\n' \"$it\"; }; while IFS= read -r l; do eval \"$l\"; done";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        let input = allowed.join("\n") + "\n";
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = shell.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let mut last = output.lines();
        for line in &allowed {
            assert_eq!(last.next(), Some("-n"), "{rule} allows {line}");
        }
    }
}

fn make(folder: Option<&str>, workspace: Option<&str>, is_sandboxed: bool) -> Subject {
    Subject::Command(CommandLine {
        line: "make".to_owned(),
        folder: folder.map(str::to_owned),
        workspace: workspace.map(str::to_owned),
        is_sandboxed,
        ..CommandLine::default()
    })
}

#[test]
fn a_rule_says_where_a_command_runs() {
    let check = |rule: &str, subject: &Subject, expected: bool| {
        let rule: Rule = rule.parse().unwrap();
        let matched = rule.matches("RunCommand", &Value::Null, Some(subject));
        assert_eq!(matched, expected, "{rule} for {subject:?}");
    };
    let shop = make(None, Some("/home/me/shop"), false);
    let sub = make(Some("sub"), Some("/home/me/shop"), false);
    let confined = make(None, Some("/home/me/shop"), true);
    let unknown = make(None, None, false);
    for subject in [&shop, &confined] {
        check("allow *(make)", subject, true);
        check("allow *(make) in .", subject, true);
        check("allow *(make) in /home/me/shop", subject, true);
        check("allow *(make) in /home/me/*", subject, true);
        check("allow *(make) in /home/me", subject, false);
        check("allow *(make) in /home/me/shop/sub", subject, false);
        check("allow *(make) in **/shop", subject, false);
        check("allow *(make) in *", subject, true);
        check("deny *(make) in /home/**", subject, true);
        check("deny *(make) in /opt/**", subject, false);
    }
    check("allow *(make) in /home/me/shop/sub", &sub, true);
    check("allow *(make) in /home/me/shop", &sub, false);
    check("allow *(make) in sub", &sub, true);
    check("allow *(make) in /home/me/shop", &unknown, false);
    check("deny *(make) in /home/me/shop", &unknown, true);
    for rule in [
        "allow RunCommand in the sandbox",
        "allow * in the sandbox",
        "allow *(make) in the sandbox",
        "allow *(m*) in /home/me/shop in the sandbox",
        "allow *(make) in ** in the sandbox",
        "deny *(make) in the sandbox",
    ] {
        check(rule, &confined, true);
        check(rule, &shop, false);
        check(rule, &Subject::Path("make".to_owned()), false);
    }
    check("allow *(make) in /opt in the sandbox", &confined, false);
    check("allow *(make in the sandbox)", &confined, false);
}

#[test]
fn a_suggested_rule_applies_where_the_command_was_shown() {
    let check = |subject: Subject, expected: &[&str]| {
        let preview = CallPreview::of(subject.clone());
        let request = ApprovalRequest::new(RunInfo::new("r", "m"), "Do", preview);
        let rules = request.suggestions();
        for rule in &rules {
            assert!(rule.matches("Do", &Value::Null, Some(&subject)), "{rule}");
        }
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules, expected);
    };
    let shop = Some("/home/me/shop");
    check(
        make(None, shop, false),
        &["allow Do(make) in /home/me/shop"],
    );
    let inside = ["allow Do(make) in /home/me/shop/sub in the sandbox"];
    check(make(Some("sub"), shop, true), &inside);
    check(make(None, Some("/"), false), &["allow Do(make) in /"]);
    check(make(Some("a"), Some("/"), false), &["allow Do(make) in /a"]);
    check(
        make(None, Some("/a*b"), false),
        &[r"allow Do(make) in /a\*b"],
    );
    check(make(None, None, true), &["allow Do(make) in the sandbox"]);
    // No rule can be written about these.
    check(make(None, Some("/a (copy)"), false), &[]);
    check(make(None, Some("/a in the sandbox"), false), &[]);
}

#[test]
fn no_line_of_a_question_looks_like_a_note() {
    let subject = Subject::command("make\r\u{1b}[1A\u{1b}[2Kin the sandbox\u{202e}\n\tb");
    let preview = CallPreview::of(subject).note("in a\u{1b}b");
    let request = ApprovalRequest::new(RunInfo::new("r", "m"), "Do", preview);
    let lines: Vec<String> = request.lines().iter().map(ToString::to_string).collect();
    let forged = r"| \u{1b}[1A\u{1b}[2Kin the sandbox\u{202e}";
    let expected = ["Do", r"in a\u{1b}b", "| make", forged, "| \tb"];
    assert_eq!(lines, expected);
}
