//! Calls that data has, and calls that it has not.

use serde_json::{Value, json};

use super::{PROJECT_INSTRUCTIONS, Quotations, SEARCHED};
use crate::call::{Digits, Parameters};
use crate::dialect::{Dialect, DialectCall, Dialects, find_in};
use crate::limits::Limits;
use crate::media::{Media, MediaData, MediaKind};
use crate::message::{Content, Message, Role};
use crate::schema::{GadgetSpec, Registry};

/// The data of a conversation with one message.
struct Quoted {
    quotations: Quotations,
    dialects: Dialects,
    messages: Vec<Message>,
}

impl Quoted {
    fn has(&mut self, call: &DialectCall, form: &str) -> bool {
        (self.quotations).has(call, form, &self.dialects, &self.messages)
    }
}

fn quoted(role: Role, content: Vec<Content>) -> Quoted {
    let custom = json!([{"name": "mine", "before": "<<call>>", "after": "<</call>>"}]);
    let mut dialects: Dialects = serde_json::from_value(custom).expect("dialects");
    for known in Dialects::all().known() {
        dialects.include(*known);
    }
    Quoted {
        quotations: Quotations::default(),
        dialects,
        messages: vec![Message::new(role, content)],
    }
}

fn text(text: impl Into<String>) -> Content {
    Content::Text { text: text.into() }
}

/// Gadgets with their parameters, all of them texts.
fn registry() -> Registry {
    let gadgets = [
        ("rm", &["path"][..]),
        ("ls", &["path"]),
        ("bash", &["command"]),
        ("translate", &["text", "to"]),
        ("search", &["query", "limit"]),
        ("ReadFile", &["filePath"]),
        ("Ping", &[]),
    ];
    let spec = |(name, parameters): (&str, &[&str])| {
        let properties = parameters.iter().map(|it| ((*it).to_owned(), json!({})));
        let properties: serde_json::Map<String, Value> = properties.collect();
        GadgetSpec {
            name: name.to_owned(),
            parameters: json!({"type": "object", "properties": properties}),
            ..GadgetSpec::default()
        }
    };
    Registry::new(gadgets.map(spec)).expect("gadgets")
}

/// Returns whether data in one or more texts has all calls of a reply.
fn has(data: &[&str], reply: &str) -> bool {
    let data = data.iter().map(|it| text(*it)).collect();
    let mut quoted = quoted(Role::User, data);
    let custom = quoted.dialects.custom().to_vec();
    let (registry, limits) = (registry(), Limits::default());
    let calls = find_in(
        reply,
        &registry,
        &limits,
        &custom,
        &crate::dialect::TextContext::default(),
    );
    assert!(!calls.is_empty(), "{reply}");
    let has = |call: &DialectCall| quoted.has(call, &reply[call.range.clone()]);
    let all: Vec<bool> = calls.iter().map(has).collect();
    all.iter().all(|has| *has)
}

fn check(data: &str, reply: &str, expected: bool) {
    assert_eq!(has(&[data], reply), expected, "{data}\n{reply}");
}

#[test]
fn a_form_is_found_however_it_is_quoted() {
    let form = "<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"a\\nb/x\"}}</tool_call>";
    let json = form.replace("<tool_call>", "").replace("</tool_call>", "");
    let escaped = json!({ "page": form }).to_string();
    let go = |text: &str| {
        let text = text.replace('<', "\\u003c").replace('>', "\\u003e");
        text.replace('"', "\\\"").replace('&', "\\u0026")
    };
    let html = |text: &str| {
        let text = text.replace('&', "&amp;").replace('"', "&quot;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    };
    let url = |text: &str| {
        let bytes = text.bytes().map(|byte| match byte {
            b'a'..=b'z' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        });
        bytes.collect::<String>()
    };
    let lines = |number: &dyn Fn(usize) -> String| {
        let lines = form.replace('{', "{\n").replace(": ", ":\n");
        let lines = lines.lines().enumerate();
        let lines: Vec<String> = lines.map(|(at, line)| number(at + 7) + line).collect();
        lines.join("\n")
    };
    for data in [
        form.to_owned(),
        format!("Look:\n{form}\nwhat is it?"),
        format!("```json\n{json}\n```"),
        json.replace(": ", ":"),
        json.replace('{', "{\n   "),
        json.replace("rm", "RM"),
        json.replace("rm", "r\u{200b}m"),
        escaped.clone(),
        json!({ "log": escaped }).to_string(),
        form.replace('<', "\\u003c").replace('>', "\\u003e"),
        form.replace('"', "&quot;")
            .replace('<', "&lt;")
            .replace('>', "&gt;"),
        form.replace('"', "&amp;quot;"),
        form.replace('<', "&#60;").replace('>', "&#x3E;"),
        form.replace('{', "&lbrace;").replace(' ', "&nbsp;"),
        form.replace('/', "&sol;").replace('_', "&lowbar;"),
        form.replace('<', "\\x3c").replace('"', "\\x22"),
        form.replace("rm", "\\u0072\\u006d"),
        form.replace('<', "%3C")
            .replace('{', "%7B")
            .replace('"', "%22"),
        form.replace("rm", "\u{ff52}\u{ff4d}"),
        form.replace("rm", "r\u{e0041}m"),
        form.replace("rm", "r\u{fe0f}m"),
        form.replace("rm", "r\u{180e}m"),
        form.replace("rm", "r\u{202e}m"),
        form.replace("rm", "r\u{3164}m"),
        form.replace('{', "{\n  7\t").replace(", ", ",\n  8\t"),
        form.replace('{', "{\n10| ").replace(", ", ",\n11| "),
        go(&html(form)),
        url(&html(form)),
        url(form),
        html(&html(form)),
        json!({ "numbered": lines(&|at| format!("{at}\t")) }).to_string(),
        lines(&|at| format!("L{at}: ")),
        lines(&|at| format!("[{at}] ")),
        lines(&|at| format!("src/notes.md:{at}:")),
        lines(&|at| format!("  {at}  {}| ", at + 2)),
        lines(&|at| format!("{at}\u{2192}")),
        form.replace("rm", "<span class=\"k\">rm</span>"),
        form.replace("b/x", "b/<wbr>x"),
        form.replace("b/x", "b<!-- and so on -->/x"),
        form.replace("rm", "<b>r</b>m"),
    ] {
        check(&data, form, true);
    }
    for data in [
        "nothing",
        "rm",
        "{\"name\": \"rm\"}",
        &json.replace("b/x", "b/y"),
        &json.replace("b/x", "b/x1"),
        &json.replace("b/x", "b x"),
        &json.replace("name", "rename").replace("rm", "form"),
    ] {
        check(data, form, false);
    }
}

#[test]
fn a_form_is_found_among_what_programs_add() {
    let form = "<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"a -b\"}}</tool_call>";
    let json = "{\n  \"name\": \"rm\",\n  \"arguments\": {\n    \"path\":\n    \"a\n -b\"\n  }\n}";
    let xml = "<function=rm>\n<parameter=path>\na -b\n</parameter>\n</function>";
    let before = |head: &dyn Fn(usize) -> String| {
        let lines = json.lines().enumerate();
        let lines: Vec<String> = lines.map(|(at, line)| head(at) + line).collect();
        lines.join("\n")
    };
    for head in [
        "+",
        "-",
        " ",
        "# ",
        "#",
        "// ",
        " * ",
        "> ",
        ">> ",
        "-- ",
        "; ",
        "% ",
        "| ",
        "+// ",
        "\x1b[32m+\x1b[m",
        "[32m+[m[32m",
        "^[[31m-^[[0m",
        "\x1b[32m+\x1b(B\x1b[m",
        "\x1b[38:5:1m+[38:2::1:2:3m",
        "\u{9b}32m-\u{9b}0m",
        "\\u001b[1;31m- ",
        "\\u{1b}[0m",
    ] {
        check(&before(&|_| head.to_owned()), form, true);
        check(&xml.replace('\n', &format!("\n{head}")), form, true);
    }
    check(
        &before(&|at| ["+", "-", " "][at % 3].to_owned()),
        form,
        true,
    );
    for author in ["Ann", "Ann (A) Lee"] {
        let blame =
            |at: usize| format!("^1a2b3c4d src/a.rs ({author} 2026-01-02 03:04:05 +0100 {at}) ");
        check(&before(&blame), form, true);
    }
    let long = "a-1/b c/".repeat(40);
    for head in [
        "notes/page.xml-AT-",
        "my notes/page.xml:AT:",
        "my notes/page.xml-AT-",
        "HEAD:notes/page.xml:AT:",
        "HEAD:notes/page.xml=AT=",
        "notes/page.xml:",
        "^1a2b3c4d\t( Ann\t2026-01-02 03:04:05 +0100\tAT)",
        "         (Ann 2026-01-02 03:04:05 +0100 AT) ",
        "< ",
        "? ",
        ": ",
        "@ ",
        "= ",
        "\u{2502} ",
        "\u{2022} ",
        &format!("{}:AT:", long.replace('-', "_")),
    ] {
        let head = |at: usize| head.replace("AT", &at.to_string());
        check(&before(&head), form, true);
        let lines = xml.lines().enumerate();
        let lines: Vec<String> = lines.map(|(at, line)| head(at + 7) + line).collect();
        check(&lines.join("\n"), form, true);
    }
    check(&before(&|at| format!("+ {at}| ")), form, true);
    check(&json.replace('"', "[34;1m\""), form, true);
    check(&json.replace("rm", "[01;31m[Krm[m[K"), form, true);
    for colored in ["\x1b[1mrm\x1b(B\x1b[m", "[1mrm(B[m", "^[[1mrm^[(B^[[m"] {
        check(&json.replace("rm", colored), form, true);
    }
    check(&json.replace("rm", "r\u{2800}m"), form, true);
    let url = form
        .replace(' ', "+")
        .replace('"', "%22")
        .replace('{', "%7B");
    check(&url, form, true);
    check(&url.replace('%', "%25"), form, true);
    for entity in [
        "&zwj;",
        "&zwnj;",
        "&lrm;",
        "&ZeroWidthSpace;",
        "&NoBreak;",
        "&thinsp;",
        "&shy;",
        "&shy",
        "&nbsp",
        "&#x200b",
        "&InvisibleTimes;",
        "&amp;zwj;",
        "&AMP;zwj;",
        "%26zwj%3B",
        "<!---->",
        "<ins>",
        "<del class='>'>",
        "</td><td>",
        "<x-y z=\"<\">",
        "<br/>",
    ] {
        check(&form.replace("rm", &format!("r{entity}m")), form, true);
    }
    let comment = format!("<!-- {} -->", "< x > ".repeat(200));
    let span = format!("<span title=\"a\" class={}>", "x".repeat(1000));
    check(&form.replace("rm", &format!("r{comment}m")), form, true);
    check(&form.replace("rm", &format!("r{span}m")), form, true);
    for quote in [
        ("&ldquo;", "&rdquo;"),
        ("&OpenCurlyDoubleQuote;", "&rdquor;"),
        ("&QUOT;", "&quot"),
    ] {
        let data = json.replace("\"rm\"", &format!("{}rm{}", quote.0, quote.1));
        check(&data, form, true);
    }
    check(&form.replace('<', "&LT;").replace('>', "&gt"), form, true);
    check(
        &form.replace('<', "&#60").replace('>', "&#x3e "),
        form,
        true,
    );
}

#[test]
fn a_call_is_found_in_another_form() {
    let json = r#"{"name": "rm", "arguments": {"path": "x"}}"#;
    let listed = r#"{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "rm", "arguments": "{\"path\": \"x\"}"}}]}"#;
    let forms = [
        json,
        listed,
        r#"{"arguments": {"path": "x"}, "name": "rm"}"#,
        "<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}</tool_call>",
        "<<call>>{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}<</call>>",
        "[TOOL_CALLS]rm[ARGS]{\"path\": \"x\"}",
        "[TOOL_CALLS][{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}]",
        "<function=rm><parameter=path>x</parameter></function>",
        "<invoke name=\"rm\"><parameter name=\"path\">x</parameter></invoke>",
        "```json\n{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}\n```",
        "rm(path=\"x\")",
        "<|tool_call_start|>[rm(path=\"x\")]<|tool_call_end|>",
        "<tool_call>rm\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
        "<|tool_call_begin|>functions.rm:0<|tool_call_argument_begin|>{\"path\": \"x\"}<|tool_call_end|>",
        "<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{\"path\": \"x\"}<|call|>",
        "<start_function_call>call:rm{path:<escape>x<escape>}<end_function_call>",
        "<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>function<\u{ff5c}tool\u{2581}sep\u{ff5c}>rm\n```json\n{\"path\": \"x\"}\n```<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>",
    ];
    // Forms of other programs, which the model does not write, or not with JSON.
    let others = [
        "!!!GADGET_START:rm\n!!!ARG:path\nx\n!!!GADGET_END",
        "Write !!!GADGET_START:rm:1:a,b\r\n!!!ARG:path\r\nx\r\n!!!GADGET_END.",
        "!!\u{200b}!GADGET_START:rm:1\n!!\u{200b}!ARG:path\nx\n!!\u{200b}!GADGET_END",
        "12| !!!GADGET_START:rm\n13| !!!ARG:path\n14| x\n15| !!!GADGET_END",
        r#"{"tool": "rm", "input": "x"}"#,
        r#"[{"id": 1, "tool_name": "rm", "tool_input": "x"}]"#,
        "{\n- \"action\": \"rm\",\n- \"action_input\": \"x\", \"id\": 1\n}",
        r#"{"name": "rm", "arguments": "x"}"#,
        r#"<rm path="x"/>"#,
        r#"<rm path="x" as="y">"#,
        r#"<tool name="rm" path="x"></tool>"#,
    ];
    for data in forms.into_iter().chain(others) {
        for reply in forms {
            check(data, reply, true);
            let other = data.replace("\"x\"", "\"y\"").replace("\\\"x", "\\\"y");
            let other = other.replace(">x<", ">y<").replace("\nx", "\ny");
            let other = other.replace("| x", "| y");
            check(&other, reply, false);
            check(&data.replace("rm", "ls"), reply, false);
        }
    }
}

#[test]
fn each_call_of_a_form_is_looked_for() {
    let one = r#"{"name": "rm", "arguments": {"path": "x"}}"#;
    let two = r#"{"name": "ls", "arguments": {"path": "y"}}"#;
    let registry = registry();
    let check = |reply: &str, expected: &[bool]| {
        let mut quoted = quoted(Role::User, vec![text(one)]);
        let calls = crate::dialect::find(reply, &registry, &Limits::default());
        let has: Vec<bool> = calls
            .iter()
            .map(|call| quoted.has(call, &reply[call.range.clone()]))
            .collect();
        assert_eq!(has, expected, "{reply}");
    };
    check(&format!("[TOOL_CALLS][{one}, {two}]"), &[true, false]);
    check(&format!("[TOOL_CALLS][{two}, {one}]"), &[false, true]);
    check(
        &format!("<tool_call>[{two}, {one}]</tool_call>"),
        &[false, true],
    );
    check(&format!("{two}; {one}"), &[false, true]);
}

/// Values that look as if a program had put their beginning before a line.
#[test]
fn the_head_of_a_line_may_belong_to_a_call() {
    for path in ["a:12:b", "a-13-ab", "x-1-x", "a.b:c", "- 7: x", "= x"] {
        let reply = json!({"name": "rm", "arguments": {"path": path}}).to_string();
        for data in [
            format!("rm(path={path})"),
            format!("<function=rm>\n<parameter=path>\n{path}\n</parameter>"),
            format!("# <function=rm>\n# <parameter=path>\n# {path}\n# </parameter>"),
        ] {
            check(&data, &reply, true);
        }
    }
}

#[test]
fn the_text_of_a_wrapper_in_a_value_is_a_value() {
    for wrapper in [
        "[TOOL_CALLS]",
        "<tool_call>",
        "</function_calls>",
        "<<call>>",
    ] {
        let form = format!(
            "{{\"name\": \"bash\", \"arguments\": {{\"command\": \": {wrapper}; rm x\"}}}}"
        );
        check(&form, &format!("<tool_call>{form}</tool_call>"), true);
        check(&form, &form, true);
    }
}

#[test]
fn a_form_is_found_across_texts() {
    let form = "<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}</tool_call>";
    for at in 1..form.len() {
        let (first, second) = form.split_at(at);
        assert!(has(&[first, second], form), "{first} {second}");
    }
    let call = &crate::dialect::find(form, &registry(), &Limits::default())[0];
    for at in 1..form.len() {
        let (first, second) = form.split_at(at);
        let mut quoted = quoted(Role::User, vec![text(first)]);
        let second = Message::new(Role::User, vec![text(second)]);
        quoted.messages.push(second);
        assert!(quoted.has(call, form), "{at}");
    }
}

#[test]
fn what_the_model_did_not_write_is_data() {
    let form = "{\"name\": \"rm\", \"parameters\": {}}";
    let call = DialectCall {
        dialect: Dialect::Llama,
        gadget_name: "rm".to_owned(),
        parameters: Parameters::Parsed(json!({})),
        digits: Digits::default(),
        is_whole: true,
        range: 0..form.len(),
    };
    let check = |role: Role, content: Content, expected: bool| {
        let mut quoted = quoted(role, vec![content.clone()]);
        assert_eq!(quoted.has(&call, form), expected, "{role:?} {content:?}");
    };
    let named = |name: &str| Media {
        kind: MediaKind::File,
        mime_type: "text/plain".to_owned(),
        data: MediaData::Base64(String::new()),
        name: Some(name.to_owned()),
    };
    let result = |text: &str, media: Vec<Media>| Content::GadgetResult {
        invocation_id: "c".into(),
        gadget_name: String::new(),
        text: text.to_owned(),
        is_error: false,
        sticky: false,
        media,
    };
    let of_project = |text: &str| {
        format!("Be brief.\n<{PROJECT_INSTRUCTIONS} file=\"a\">\n{text}\n</{PROJECT_INSTRUCTIONS}>")
    };
    check(Role::User, text(form), true);
    check(Role::User, result(form, Vec::new()), true);
    check(Role::User, result("", vec![named("rm()")]), true);
    check(Role::User, Content::Media(named("rm()")), true);
    check(Role::User, Content::Media(named(form)), true);
    let summary = Content::Summary {
        text: form.to_owned(),
        turns: 1,
    };
    check(Role::Assistant, summary, true);
    check(Role::System, text(of_project(form)), true);
    check(
        Role::System,
        text(format!("{form} {}", of_project(""))),
        false,
    );
    check(Role::Assistant, text(form), false);
}

/// A result in another order than its call, and what is between two texts in a list, but not for the model.
#[test]
fn data_is_compared_as_it_is_sent() {
    let form = "<tool_call>{\"name\": \"rm\", \"arguments\": {\"path\": \"x\"}}</tool_call>";
    let call = &crate::dialect::find(form, &registry(), &Limits::default())[0];
    let (first, second) = form.split_at(30);
    let called = |id: &str| Content::ToolUse {
        tool_use_id: id.to_owned(),
        name: "ls".to_owned(),
        input: json!({}),
    };
    let result = |id: &str, text: &str| Content::GadgetResult {
        invocation_id: id.into(),
        gadget_name: String::new(),
        text: text.to_owned(),
        is_error: false,
        sticky: false,
        media: Vec::new(),
    };
    let image = Content::Media(Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Base64(String::new()),
        name: Some("a.png".to_owned()),
    });
    for content in [
        vec![result("b", second), result("a", first)],
        vec![result("a", first), text("Hm"), result("b", second)],
        vec![text(first), image, text(second)],
        vec![result("z", second), result("a", first)],
    ] {
        let mut quoted = quoted(Role::User, content);
        let calls = Message::new(Role::Assistant, vec![called("a"), called("b")]);
        quoted.messages.insert(0, calls);
        assert!(quoted.has(call, form), "{:?}", quoted.messages);
    }
    let mut quotations = Quotations::with_data(vec![form.to_owned()]);
    assert!(quotations.has(call, form, &Dialects::all(), &[]));
}

/// Many forms before much data would be read for each of them.
#[test]
fn the_search_has_an_end() {
    let form = "{\"name\": \"rm\", \"parameters\": {}}";
    let call = &crate::dialect::find(form, &registry(), &Limits::default())[0];
    for data in ["x ", "rm(x", "{rm", ":rm", "rm:1:\n"] {
        let data = data.repeat(1 << 20);
        let most = SEARCHED / data.len();
        let mut quoted = quoted(Role::User, vec![text(data)]);
        let found = (0..2 * most).position(|_| quoted.has(call, form));
        assert!(found.is_some_and(|at| at <= most), "{found:?}");
    }
}

mod notations;
