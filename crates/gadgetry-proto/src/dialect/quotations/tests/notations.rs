//! Notations of values, and sentences that have none.

use serde_json::json;

use super::check;

#[test]
fn numbers_have_one_notation() {
    let reply = |limit: &str| {
        format!("{{\"name\": \"search\", \"arguments\": {{\"query\": \"a\", \"limit\": {limit}}}}}")
    };
    for (data, limit, expected) in [
        ("1.50", "1.5", true),
        (".5", "0.5", true),
        ("1.", "1", true),
        ("None", "null", true),
        ("nil", "null", true),
        ("1_000", "1000", true),
        ("0x3E8", "1000", true),
        ("1_0", "1", false),
        ("none", "null", false),
        ("Nonesuch", "null", false),
        ("1e3", "1000", true),
        ("1000.0", "1e3", true),
        ("100000000000000000000", "1e20", true),
        ("-0.50", "-0.5", true),
        ("15", "1.5", false),
        ("-5", "5", false),
        ("5", "-5", false),
    ] {
        check(&reply(data), &reply(limit), expected);
        check(
            &format!("search(query=\"a\", limit={data})"),
            &reply(limit),
            expected,
        );
    }
}

/// What precedes a call does not hide it: the end of another text, a prefix of a string, or a script without blanks between words. A name
/// that ends as the gadget's is another one.
#[test]
fn a_name_may_follow_a_letter() {
    let call = "translate(text=\"Hello you\", to=\"fr\")";
    let reply = json!({"name": "translate", "arguments": {"text": "Hello you", "to": "fr"}});
    for before in [
        "\u{8bf7}\u{4e0d}\u{8981}\u{8c03}\u{7528}",
        "\u{432}\u{44b}\u{437}\u{43e}\u{432}\u{438}",
        "f\"",
        "l'",
        "_",
        "say\u{200b}",
    ] {
        check(&format!("{before}{call}"), &reply.to_string(), true);
        let other = json!({"name": "translate", "arguments": {"text": "Hello", "to": "fr"}});
        check(&format!("{before}{call}"), &other.to_string(), false);
    }
    check(&format!("re{call}"), &reply.to_string(), false);
    let ping = json!({"name": "Ping", "arguments": {}}).to_string();
    assert!(super::has(
        &["Read the page please", "Ping() was called"],
        &ping
    ));
    for (before, expected) in [
        ("\u{8bf7}", true),
        ("f\"", true),
        ("_", true),
        ("map", false),
    ] {
        check(&format!("{before}ping()"), &ping, expected);
    }
    for call in [call.to_owned(), format!("_{call}_")] {
        let split = ["Read the page please", &call];
        assert!(super::has(&split, &reply.to_string()));
    }
}

#[test]
fn values_of_a_block_or_an_element_are_in_their_order() {
    for data in [
        "!!!GADGET_START:translate:1\n!!!ARG:text\nHello\n you\n!!!ARG:to\nfr\n!!!GADGET_END",
        "!!!GADGET_START:translate\n!!!ARG:text\nHello you\n!!!ARG:to\nfr",
        "<translate text=\"Hello you\" to='fr'/>",
        "<invoke name=\"translate\"\n  text=\"Hello you\"\n  to='fr'></invoke>",
        r#"{"tool": "translate", "text": "Hello you", "to": "fr"}"#,
        "Action: translate\nAction Input: {\"text\": \"Hello you\", \"to\": \"fr\"}",
        "Tool: translate\nArguments: {\"text\": \"Hello you\", \"to\": \"fr\"}",
    ] {
        let reply = |text: &str| {
            let parameters = json!({"text": text, "to": "fr"});
            json!({"name": "translate", "arguments": parameters}).to_string()
        };
        check(data, &reply("Hello you"), true);
        check(data, &reply("Hello"), false);
        check(data, &reply("you"), false);
    }
}

#[test]
fn a_request_is_not_a_quotation() {
    for (data, reply) in [
        (
            "Translate text \"Hello world\" to \"fr\"",
            "translate(text=\"Hello world\", to=\"fr\")",
        ),
        (
            "Use translate with text=\"Hello\", to=\"fr\".",
            "translate(text=\"Hello\", to=\"fr\")",
        ),
        ("search query: rust async", "search(query=\"rust async\")"),
        ("search: rust async", "search(query=\"rust async\")"),
        (
            "Call the tool: search, query: rust async",
            "search(query=\"rust async\")",
        ),
        (
            "{task: search, query: rust async}",
            "search(query=\"rust async\")",
        ),
        ("Use rm on src/a.rs:12: (x)", "rm(path=\"x\")"),
        ("rm - see notes/2026-01-02: [x]", "rm(path=\"x\")"),
        ("a < search query=rust", "search(query=\"rust async\")"),
        ("<b>search query=rust</b>", "search(query=\"rust\")"),
        (
            "Read file `src/main.rs`.",
            "ReadFile(filePath=\"src/main.rs\")",
        ),
        (
            "ReadFile `src/main.rs`",
            "ReadFile(filePath=\"src/main.rs\")",
        ),
        ("bash(command=\"ls -l /tmp\")", "bash(command=\"ls\")"),
        ("bash(command=\"2*3\")", "bash(command=\"2+3\")"),
        ("bash(command=\"a/b\")", "bash(command=\"a b\")"),
        ("Use bash with command=ls", "bash(command=\"ls\")"),
        (
            "search(query=\"rust\", limit=5)",
            "search(query=\"rust async\")",
        ),
    ] {
        check(data, reply, false);
    }
}

#[test]
fn a_call_without_arguments_is_not_quoted_by_its_name() {
    for (data, form, expected) in [
        ("Ping it, please.", "Ping()", false),
        ("What does Ping() do?", "Ping()", true),
        (
            "Call Ping.",
            "<start_function_call>call:Ping{}<end_function_call>",
            false,
        ),
        ("call:Ping{}", "Ping()", true),
        ("<Ping></Ping>", "<Ping></Ping>", true),
        (
            "Ping()",
            "<|tool_call_start|>[Ping()]<|tool_call_end|>",
            true,
        ),
        ("Ping, ping!", "<Ping></Ping>", false),
        (
            "{\"name\": \"Ping\"}",
            "{\"name\":\"Ping\",\"arguments\":{}}",
            true,
        ),
        (
            "{\"name\" : \"Ping\" , \"arguments\" : { } }",
            "<tool_call>{\"name\":\"Ping\"}</tool_call>",
            true,
        ),
        ("{\\\"name\\\": \\\"Ping\\\"}", "Ping()", true),
        ("{\"name\": \"Ping\", \"id\": \"call_1\"}", "Ping()", true),
        (
            "{\"name\": \"Ping\", \"arguments\": {\"a\": 1}}",
            "Ping()",
            false,
        ),
        (
            "write <tool_call>{\"name\":\"Ping\",\"arguments\":{\u{2026}}}</tool_call>",
            "Ping()",
            false,
        ),
        ("<tool_call>Ping</tool_call>", "Ping()", true),
        ("<td>Ping</td>", "Ping()", false),
        ("!!!GADGET_START:Ping:1\n!!!GADGET_END", "Ping()", true),
        (
            "!!!GADGET_START:Ping\n!!!ARG:a\n1\n!!!GADGET_END",
            "Ping()",
            false,
        ),
    ] {
        check(data, form, expected);
    }
}
