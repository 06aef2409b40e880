//! Rules, and the user who approves calls.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Named, Rule, Rules};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{CallAnswer, Event, EventKind, RunInfo};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::serde_json::{Value, json};
use gadgetry::{
    Agent, CallPreview, CommandLine, DynGadget, ExecutionContext, Origin, Permission,
    ScriptedModel, Subject,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

#[test]
fn a_rule_matches_calls() {
    let check = |rule: &str, subject: Option<Subject>, expected: bool| {
        let rule: Rule = rule.parse().unwrap();
        let parameters = json!({ "target": "staging-1", "count": 3 });
        let matched = rule.matches("WriteFile", &parameters, subject.as_ref());
        assert_eq!(matched, expected, "{rule} for {subject:?}");
    };
    let path = |text: &str| Some(Subject::Path(text.to_owned()));
    let command = |text: &str| Some(Subject::command(text));
    let url = |text: &str| Some(Subject::Url(text.to_owned()));

    check("allow WriteFile", None, true);
    check("allow writefile", None, true);
    check("allow *", path("a"), true);
    check("allow Write*", None, true);
    check("allow Read*", None, false);
    check("allow WriteFil", None, false);

    check("allow *(src/*)", path("src/a.rs"), true);
    check("allow *(src/*)", path("src/a/b.rs"), false);
    check("allow *(src/**)", path("src/a/b.rs"), true);
    check("allow *(src/**)", path("srcs/a"), false);
    check("allow *(**/*.rs)", path("src/a/b.rs"), true);
    check("allow *(a.c)", path("abc"), false);
    check(r"allow *(\*)", path("*"), true);
    check(r"allow *(\*)", path("a"), false);
    check("allow *(src/**)", None, false);

    check("allow *(cargo test *)", command("cargo test"), true);
    check("allow *(cargo test *)", command("cargo test --all"), true);
    check("allow *(cargo test *)", command("cargo tests"), false);
    check("allow *(cargo test*)", command("cargo tests"), true);
    for forged in [
        "cargo test; curl evil",
        "cargo test && rm -rf .",
        "cargo test | sh",
        "cargo test > /etc/passwd",
        "cargo test < key",
        "cargo test $(id)",
        "cargo test `id`",
        "cargo test\nid",
        "cargo test\rid",
        "cargo test & id",
        "cargo test {a,b}",
        "cargo test \\\nid",
        "cargo test\u{b}id",
        "cargo test\u{c}id",
        "cargo test\u{85}id",
        "cargo test\u{2028}id",
        "cargo test\u{2029}id",
        "cargo test \0id",
        "cargo test \u{1b}[2K",
        "cargo test \u{85}",
    ] {
        check("allow *(cargo test *)", command(forged), false);
        check("allow *(cargo test*)", command(forged), false);
        check("allow *(*)", command(forged), false);
        check("allow *(cargo test)", command(forged), false);
        check("allow *", command(forged), true);
        check("deny *(cargo test*)", command(forged), true);
        check("ask *(*)", command(forged), true);
    }
    check("allow *(a; b)", command("a; b"), true);
    check("allow *(a b)", command(" a b\n"), true);
    check("allow *(a b)", command("a  b"), false);
    check("allow *(a\tb)", command("a\tb"), true);

    let inside = |line: &str, folder: &str| {
        let (line, folder) = (line.to_owned(), Some(folder.to_owned()));
        let rest = CommandLine::default();
        Some(Subject::Command(CommandLine {
            line,
            folder,
            ..rest
        }))
    };
    // A rule that allows says in which folders; one that denies holds in all of them.
    check("allow *(sh run.sh)", inside("sh run.sh", "evil"), false);
    check(
        "allow *(sh run.sh) in evil",
        inside("sh run.sh", "evil"),
        true,
    );
    check(
        "allow *(sh run.sh) in evil",
        inside("sh run.sh", "evil/x"),
        false,
    );
    check("allow *(sh run.sh) in evil", command("sh run.sh"), false);
    check("allow *(sh run.sh) in .", command("sh run.sh"), true);
    check("allow *(sh *) in a/**", inside("sh x", "a/b/c"), true);
    check("allow *(sh *) in a/*", inside("sh x", "a/b/c"), false);
    check("allow *(sh *) in **", inside("sh x", "a/b/c"), true);
    check("allow *(sh *) in **", command("sh x"), true);
    check("allow * in a", inside("sh x", "a"), true);
    check("allow * in a", inside("sh x", "b"), false);
    check("allow * in a", path("a"), false);
    check("allow *", inside("sh x", "a"), true);
    check("deny *(sh *)", inside("sh x", "a"), true);
    check("ask *(sh *)", inside("sh x", "a"), true);
    check("deny *(sh *) in a", inside("sh x", "a"), true);
    check("deny *(sh *) in a", inside("sh x", "b"), false);
    // A text that ends with a parenthesis has no folder.
    check("allow *(echo (x) in a)", command("echo (x) in a"), true);
    check("allow *(echo (x) in a)", inside("echo (x", "a"), false);

    let folder = |text: &str| Some(Subject::Folder(text.to_owned()));
    check("allow *(tmp/**)", folder("tmp"), true);
    check("allow *(tmp/**)", folder("tmp/x"), true);
    check("allow *(tmp/*)", folder("tmp/x"), false);
    check("allow *(tmp/*)", folder("tmp"), false);
    check("allow *(tmp/x)", folder("tmp/x"), false);
    check("allow *(tmp/x/**)", folder("tmp"), false);
    check("allow *(tmp/**/x)", folder("tmp/a/x"), false);
    check(r"allow *(tmp/*\*)", folder("tmp/*"), false);
    check("allow *(**)", folder("."), true);
    check("allow *(src/**)", folder("."), false);
    check("allow *", folder("."), true);
    check("deny *(secrets/**)", folder("secrets"), true);
    check("deny *(secrets/**)", folder("secrets/a"), true);
    check("deny *(secrets/*)", folder("secrets"), true);
    check("deny *(secrets)", folder("secrets"), true);
    check("deny *(secrets/**)", folder("."), false);
    check("deny *(**)", folder("."), true);

    let docs = "allow *(https://*.example.com/**)";
    check(docs, url("https://docs.example.com/a/b"), true);
    check(docs, url("https://evil.org/docs.example.com/"), false);
    check(docs, url("http://docs.example.com/"), false);

    check("allow *(target=staging*)", None, true);
    check("allow *(target=prod*)", None, false);
    check("allow *(count=3)", None, true);
    check("allow *(missing=*)", None, false);
    check("allow *(target=staging*)", path("x"), false);
}

#[test]
fn what_is_no_rule_says_why() {
    let check = |text: &str, expected: &str| {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("", "does not begin with `allow`, `ask` or `deny`");
    check("permit ReadFile", "does not begin with");
    check("allow", "the name of a gadget is missing");
    check("allow (src/*)", "the name of a gadget is missing");
    check(
        "allow WriteFile(src/*",
        "the closing parenthesis is missing",
    );
    check("allow WriteFile()", "between the parentheses is empty");
    check("allow Write File", "contains no spaces");
    check(&format!("allow X({})", "a".repeat(1 << 20)), "too long");
    check(
        "allow RunCommand(x) in ",
        "the closing parenthesis is missing",
    );
    check(
        "allow RunCommand(x) within a",
        "the closing parenthesis is missing",
    );
    check("allow look@", "tool@server");
    check("allow look@a#", "tool@server");
    check("allow look@#x", "tool@server");
}

#[test]
fn suggestions_go_from_narrow_to_wide() {
    let check = |subject: Option<Subject>, expected: &[&str]| {
        let mut preview = CallPreview::default();
        preview.subject = subject.clone();
        let request = ApprovalRequest::new(RunInfo::new("r", "m"), "Do", preview);
        let rules = request.suggestions();
        for rule in &rules {
            assert!(rule.matches("Do", &Value::Null, subject.as_ref()), "{rule}");
        }
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules, expected);
    };
    let path = |text: &str| Some(Subject::Path(text.to_owned()));
    let command = |text: &str| Some(Subject::command(text));
    check(None, &["allow Do"]);
    // Blanks around a command are not compared.
    check(command("  make x\n"), &["allow Do(make x)"]);
    check(
        path("src/a*.rs"),
        &[r"allow Do(src/a\*.rs)", "allow Do(src/**)", "allow Do"],
    );
    check(path("a.rs"), &["allow Do(a.rs)", "allow Do"]);
    check(command("cargo test --all"), &["allow Do(cargo test --all)"]);
    // Only what runs no other program, whatever its arguments.
    for program in [
        "sh", "bash", "env", "git", "python3", "node", "perl", "tar", "make", "npx", "find",
        "xargs", "ssh", "cargo", "npm", "awk", "sed", "sort", "rg", "grep", "cat", "tee", "time",
        "nice", "./ls", "sudo", "docker", "vim", "less", "man", "zip", "curl", "wget", "rsync",
        "cp", "ln", "echo",
    ] {
        let line = format!("{program} x");
        check(command(&line), &[format!("allow Do({line})").as_str()]);
    }
    check(command("ls -l"), &["allow Do(ls -l)", "allow Do(ls *)"]);
    let inside = |folder: &str| {
        Some(Subject::Command(CommandLine {
            line: "wc -l x".to_owned(),
            folder: Some(folder.to_owned()),
            ..CommandLine::default()
        }))
    };
    check(
        inside("a b"),
        &["allow Do(wc -l x) in a b", "allow Do(wc *) in a b"],
    );
    // No rule can be written about these.
    for folder in ["a)", " a", "a) in b"] {
        check(inside(folder), &[]);
    }
    let folder = |text: &str| Some(Subject::Folder(text.to_owned()));
    check(folder("a/b"), &["allow Do(a/b/**)", "allow Do"]);
    check(folder("."), &["allow Do(**)", "allow Do"]);
    check(command("$EDITOR x"), &["allow Do($EDITOR x)"]);
    check(
        Some(Subject::Url("https://example.com/a/b".to_owned())),
        &[
            "allow Do(https://example.com/a/b)",
            "allow Do(https://example.com/**)",
            "allow Do",
        ],
    );

    // The name of a stranger's tool is no pattern.
    for (name, expected) in [
        ("*", vec![r"allow \*(a.rs)", r"allow \*"]),
        (r"a\", vec![r"allow a\\(a.rs)", r"allow a\\"]),
        ("Do(*)", vec![]),
        ("Do it", vec![]),
    ] {
        let mut preview = CallPreview::default();
        preview.subject = path("a.rs");
        let request = ApprovalRequest::new(RunInfo::new("r", "m"), name, preview);
        let rules = request.suggestions();
        let matches =
            |name: &str, rule: &Rule| rule.matches(name, &Value::Null, path("a.rs").as_ref());
        assert!(
            rules
                .iter()
                .all(|it| matches(name, it) && !matches("Do", it))
        );
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules, expected);
    }
}

#[test]
fn rules_name_the_server_of_a_tool() {
    let weather = Origin {
        server: "weather".to_owned(),
        definition: "d1".to_owned(),
    };
    let check = |rule: &str, name: &str, origin: Option<&Origin>, expected: bool| {
        let rule: Rule = rule.parse().unwrap();
        let matched = rule.matches(Named { name, origin }, &Value::Null, None);
        assert_eq!(matched, expected, "{rule} for {name} of {origin:?}");
    };
    let other = Origin {
        server: "evil".to_owned(),
        ..weather.clone()
    };
    let changed = Origin {
        definition: "d2".to_owned(),
        ..weather.clone()
    };
    check("allow look@weather#d1", "look", Some(&weather), true);
    check("allow look@weather#d1", "look", Some(&changed), false);
    check("allow look@weather#d1", "look", Some(&other), false);
    check("allow look@weather#d1", "look", None, false);
    check("allow look@weather", "look", Some(&changed), true);
    check("allow look@weather", "look", Some(&other), false);
    check("allow *@weather", "look", Some(&weather), true);
    check("allow *@weather", "look", Some(&other), false);
    check("allow *@weather", "look", None, false);
    check("allow look", "look", Some(&weather), false);
    check("allow look", "look", None, true);
    check("allow lo*", "look", Some(&weather), false);
    check("allow *", "look", Some(&weather), true);
    // What denies holds for more.
    check("deny look", "look", Some(&weather), true);
    check("ask look", "look", Some(&weather), true);
    check("deny look@weather#d1", "look", Some(&changed), true);
    check("deny look@weather", "look", Some(&other), false);
    // A tool whose name looks like a source.
    check("allow look@weather#d1", "look@weather#d1", None, false);
    check(r"allow look\@weather\#d1", "look@weather#d1", None, true);

    let mut preview = CallPreview::default();
    preview.origin = Some(weather.clone());
    let mut request = ApprovalRequest::new(RunInfo::new("r", "m"), "look@evil", preview);
    let rules: Vec<String> = request
        .suggestions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(rules, [r"allow look\@evil@weather#d1"]);
    check(&rules[0], "look@evil", Some(&weather), true);
    check(&rules[0], "look", Some(&weather), false);
    // A name that no rule can have.
    if let Some(origin) = &mut request.preview.origin {
        origin.server = "my weather".to_owned();
    }
    assert_eq!(request.suggestions(), []);
}

/// A gadget that writes to a path: it has a preview and needs approval.
struct Write(GadgetSpec);

impl Write {
    fn shared() -> Arc<dyn DynGadget> {
        Arc::new(Self(GadgetSpec::new("Write", "Writes a file").parameters(
            json!({
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
            }),
        )))
    }
}

impl DynGadget for Write {
    fn spec(&self) -> &GadgetSpec {
        &self.0
    }

    fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let path = parameters["path"].as_str().unwrap().to_owned();
        Box::pin(async move { Outcome::ok(format!("wrote {path}")) })
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let path = parameters["path"].as_str().unwrap();
        Box::pin(async move {
            if path.starts_with("slow") {
                sleep(Duration::from_secs(1)).await;
            }
            if path.starts_with('/') {
                return Err(format!("{path} is outside the workspace"));
            }
            Ok(match path.strip_prefix("$ ") {
                Some(line) => CallPreview::of(Subject::command(line)),
                None => CallPreview::of(Subject::Path(path.to_owned())).diff("+new"),
            })
        })
    }
}

fn write(id: &str, path: &str) -> String {
    format!("!!!GADGET_START:Write:{id}\n!!!ARG:path\n{path}\n!!!GADGET_END\n")
}

/// Runs one reply and returns the answer to each call, in order of their ends.
async fn answers(reply: &str, approvals: Approvals) -> Vec<String> {
    let script = format!(
        "{}\n{}",
        json!({ "text": reply }),
        json!({ "text": "done" })
    );
    let model: ScriptedModel = script.parse().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let agent = Agent::builder()
        .model(model)
        .gadget(Write::shared())
        .approvals(approvals)
        .on_event(move |event: &Event| {
            let mut sink = sink.lock().unwrap();
            #[expect(clippy::wildcard_enum_match_arm, reason = "only the answers count")]
            match &event.kind {
                EventKind::GadgetResult {
                    invocation_id,
                    answer: CallAnswer::Result(text) | CallAnswer::Error(text),
                    ..
                } => sink.push(format!("{invocation_id}: {text}")),
                EventKind::GadgetSkipped {
                    invocation_id,
                    error,
                    ..
                } => sink.push(format!("{invocation_id} skipped: {error}")),
                _ => {}
            }
        });
    agent.ask("go").unwrap().text().await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// An approver with these answers, and what it was asked.
fn answering(
    answers: Vec<Answer>,
) -> (
    impl Fn(ApprovalRequest) -> BoxFuture<'static, Answer> + Send + Sync,
    Arc<Mutex<Vec<String>>>,
) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Mutex::new(VecDeque::from(answers));
    let log = Arc::clone(&asked);
    let approver = move |request: ApprovalRequest| -> BoxFuture<'static, Answer> {
        let subject = request.preview.subject.as_ref().unwrap().text().to_owned();
        log.lock().unwrap().push(subject);
        let answer = answers.lock().unwrap().pop_front().unwrap();
        Box::pin(async move { answer })
    };
    (approver, asked)
}

#[tokio::test(start_paused = true)]
async fn rules_and_the_user_decide() {
    let check = async |rules: &[&str], given: &[Answer], asked: &[&str], expected: &[&str]| {
        let (approver, log) = answering(given.to_vec());
        let approvals = Approvals::new(Rules::parse(rules).unwrap()).approver(approver);
        let reply = write("a", "src/a") + &write("b", "src/b") + &write("c:b", "etc/c");
        assert_eq!(answers(&reply, approvals).await, expected, "{rules:?}");
        assert_eq!(*log.lock().unwrap(), asked, "{rules:?}");
    };
    let wrote = &["a: wrote src/a", "b: wrote src/b", "c: wrote etc/c"];
    let folder = Answer::Session("allow Write(src/**)".parse().unwrap());
    check(&["allow Write"], &[], &[], wrote).await;
    check(
        &[],
        &[Answer::Once, Answer::Once, Answer::Once],
        &["src/a", "src/b", "etc/c"],
        wrote,
    )
    .await;
    // The answer about `a` decides about `b`, which waits.
    check(
        &["ask *"],
        &[folder.clone(), Answer::Once],
        &["src/a", "etc/c"],
        wrote,
    )
    .await;
    check(
        &["deny *(src/b)", "ask *"],
        &[folder],
        &["src/a"],
        &[
            "b: Denied by the rule `deny *(src/b)`",
            "c skipped: Denied by the rule `deny *(src/b)`",
            "a: wrote src/a",
        ],
    )
    .await;
    check(
        &["allow *(src/a)"],
        &[Answer::No(Some(" not there ".to_owned()))],
        &["src/b"],
        // The question about `b` waits until `a` is written.
        &[
            "a: wrote src/a",
            "b: Denied by the user: not there",
            "c skipped: Denied by the user: not there",
        ],
    )
    .await;
    check(
        &["allow *(src/a)"],
        &[Answer::No(Some("  ".to_owned()))],
        &["src/b"],
        &[
            "a: wrote src/a",
            "b: Denied by the user",
            "c skipped: Denied by the user",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_says_why_a_rule_does_not_allow_the_command() {
    let check = async |rules: &[&str], line: &str, expected: &[&str]| {
        let asked = Arc::new(Mutex::new(None));
        let log = Arc::clone(&asked);
        let approver = move |request: ApprovalRequest| {
            *log.lock().unwrap() = Some(request.preview.notes);
            async { Answer::Once }
        };
        let approvals = Approvals::new(Rules::parse(rules).unwrap()).approver(approver);
        let seen = answers(&write("a", &format!("$ {line}")), approvals).await;
        assert_eq!(seen, [format!("a: wrote $ {line}")], "{rules:?}");
        let notes = asked.lock().unwrap().clone().unwrap();
        assert_eq!(notes, expected, "{rules:?} for {line:?}");
    };
    let semicolon = "`allow Write(*)` does not allow it: no `*` of it matches `;`";
    check(&["allow Write(*)"], "a; b", &[semicolon]).await;
    check(&["allow Write(*)", "ask *"], "a; b", &[semicolon]).await;
    check(&["ask *", "allow Write(*)"], "a; b", &[]).await;
    let pipe = "`allow *(a; b *)` does not allow it: no `*` of it matches `|`";
    check(&["allow *(a; b *)"], "a; b | c", &[pipe]).await;
    let twice = "`allow *(a; b *)` does not allow it: no `*` of it matches `;`";
    check(&["allow *(a; b *)"], "a; b ; c", &[twice]).await;
    let lines = "`allow *(a *)` does not allow it: no `*` of it matches a line break";
    check(&["allow *(a *)"], "a b\nc", &[lines]).await;
    let comment = "`allow *(a * b)` does not allow it: no `*` before its end matches a comment or an open quotation";
    check(&["allow *(a * b)"], "a # b", &[comment]).await;
    check(&["allow *(a *)", "allow Other(*)"], "b; c", &[]).await;
    check(&[], "a; b", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_user_what_asks_is_denied() {
    let approvals = Approvals::new(Rules::parse(["allow *(src/a)"]).unwrap());
    let reply = write("a", "src/a") + &write("b", "src/b") + &write("c", "/etc/c");
    let mut seen = answers(&reply, approvals.unattended("stdin is not a terminal")).await;
    seen.sort();
    let expected = [
        "a: wrote src/a",
        "b: Denied: Write needs approval, but stdin is not a terminal",
        "c: /etc/c is outside the workspace",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn requests_are_a_queue() {
    let open = Arc::new(AtomicUsize::new(0));
    let (opened, mut requests) = mpsc::unbounded_channel();
    let approvals = Approvals::new(Rules::default()).approver(move |request: ApprovalRequest| {
        assert_eq!(
            open.fetch_add(1, Ordering::SeqCst),
            0,
            "two requests at once"
        );
        let (release, released) = oneshot::channel::<()>();
        opened.send((request.invocation_id, release)).unwrap();
        let open = Arc::clone(&open);
        async move {
            released.await.unwrap();
            open.fetch_sub(1, Ordering::SeqCst);
            Answer::Once
        }
    });
    // They are shown in the order of the calls, even if the preview of the first takes longer.
    let reply = write("a", "slow") + &write("b", "b") + &write("c", "c");
    let run = tokio::spawn(async move { answers(&reply, approvals).await });
    for id in ["a", "b", "c"] {
        let (shown, release) = requests.recv().await.unwrap();
        assert_eq!(shown.as_str(), id);
        release.send(()).unwrap();
    }
    let expected = ["a: wrote slow", "b: wrote b", "c: wrote c"];
    assert_eq!(run.await.unwrap(), expected);
}
