//! Gadget files: what they say, and what is said about mistakes in them.

use std::path::Path;

use gadgetry::command::{GadgetFileError, load};
use gadgetry::proto::schema::{Example, GadgetSpec, OnInterrupt};
use gadgetry::{CommandGadget, DynGadget as _};
use serde_json::json;

/// Loads `toml` from a file `gadgets.toml` in `folder`.
fn load_text(folder: &Path, toml: &str) -> Result<Vec<CommandGadget>, GadgetFileError> {
    let path = folder.join("gadgets.toml");
    std::fs::write(&path, toml).expect("a file");
    load(&path)
}

/// A file that can be run.
fn put_program(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn says_what_the_file_says() {
    let folder = tempfile::tempdir().expect("a folder");
    put_program(&folder.path().join("fetch.sh"));
    let toml = r#"
        # Two gadgets.
        [[gadget]]
        name = "Fetch"
        description = "Fetches a URL"
        command = ["./fetch.sh", "--quiet", ""]
        timeout = "1.5s"
        max-concurrent = 2
        exclusive = true
        on-interrupt = "rerun"
        parameters = { type = "object", properties = { url = { type = "string" }, depth = { type = "integer", maximum = 3.5 } }, required = ["url"] }
        [[gadget.examples]]
        params = { url = "https://example.com", since = 2024-02-03 }
        output = "…"
        comment = "Fetch a page"
        [[gadget.examples]]
        params = { url = "x", deep = { list = [1, true] } }

        [[gadget]]
        name = "math.now"
        description = "x"
        command = ["date"]
        on_interrupt = "ask"
    "#;
    let schema = json!({
        "type": "object",
        "properties": { "url": { "type": "string" }, "depth": { "type": "integer", "maximum": 3.5 } },
        "required": ["url"],
    });
    let fetch = GadgetSpec {
        name: "Fetch".to_owned(),
        description: "Fetches a URL".to_owned(),
        parameters: schema.clone(),
        examples: vec![
            Example {
                params: json!({ "url": "https://example.com", "since": "2024-02-03" }),
                output: Some("…".to_owned()),
                comment: Some("Fetch a page".to_owned()),
            },
            Example {
                params: json!({ "url": "x", "deep": { "list": [1, true] } }),
                output: None,
                comment: None,
            },
        ],
        timeout_ms: Some(1500),
        max_concurrent: Some(2),
        exclusive: true,
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    };
    let expected = [
        CommandGadget::new(fetch, folder.path().join("fetch.sh"), ["--quiet", ""]),
        CommandGadget::new(
            GadgetSpec {
                name: "math.now".to_owned(),
                description: "x".to_owned(),
                on_interrupt: OnInterrupt::Ask,
                parameters: json!({ "type": "object", "properties": {} }),
                ..GadgetSpec::default()
            },
            "date",
            [] as [&str; 0],
        ),
    ];
    let gadgets = load_text(folder.path(), toml).expect("two gadgets");
    assert_eq!(gadgets, expected);
    // Equality of JSON does not see the order, but a model does.
    let order = gadgets[0].spec().parameters.to_string();
    assert_eq!(order, schema.to_string());
    assert_eq!(load_text(folder.path(), "").expect("no gadget"), []);
}

#[test]
fn programs_are_found_from_the_folder_of_the_file() {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("inner");
    let here = folder.display();
    for program in ["run.sh", "tools/run.sh", "../run.sh"] {
        put_program(&folder.join(program));
    }
    let cases = [
        ("./run.sh", format!("{here}/run.sh")),
        ("tools/run.sh", format!("{here}/tools/run.sh")),
        ("../run.sh", format!("{here}/../run.sh")),
        ("/bin/cat", "/bin/cat".to_owned()),
        ("cat", "cat".to_owned()),
    ];
    for (written, meant) in cases {
        let toml =
            format!("[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = [{written:?}]\n");
        let gadgets = load_text(&folder, &toml).expect(written);
        assert_eq!(gadgets[0].program(), Path::new(&meant), "{written}");
    }
}

/// A gadget without mistakes but for the lines that follow it; they begin at line 5.
fn with(lines: &str) -> String {
    format!("[[gadget]]\nname = \"A\"\ndescription = \"does\"\ncommand = [\"true\"]\n{lines}\n")
}

#[test]
fn mistakes_name_their_place_and_the_way_out() {
    let cases = [
        // Not TOML.
        (
            "name = ",
            "1:8: string values must be quoted, expected literal string",
        ),
        ("[[gadget]\n", "1:10: unclosed array table, expected `]`"),
        (&with("name = \"B\""), "5:1: duplicate key"),
        // No program.
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = [\"./nope.sh\", \"x\"]",
            "4:11: cannot find an executable program \"./nope.sh\"; correct the command (a path with / counts from this \
             file's folder), or make the file executable",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = [\"no-such-program\"]",
            "4:11: cannot find an executable program \"no-such-program\"; correct the command (a path with / counts from \
             this file's folder), or make the file executable",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = [\"/etc\"]",
            "4:11: cannot find an executable program \"/etc\"; correct the command (a path with / counts from this file's \
             folder), or make the file executable",
        ),
        // Unknown keys.
        (
            "[[gadgets]]",
            "1:3: unknown field `gadgets`, expected `gadget`",
        ),
        (
            &with("\n  timout = \"1s\""),
            "6:3: unknown field `timout`, expected one of `name`, `description`, `command`, `timeout`, \
             `max-concurrent`, `exclusive`, `unterminated`, `on-interrupt`, `on_interrupt`, `env`, `result`, `parameters`, `examples`",
        ),
        (
            &with("[[gadget.examples]]\nparams = {}\nresult = 1"),
            "7:1: unknown field `result`, expected one of `params`, `output`, `comment`",
        ),
        // Wrong types.
        (
            &with("exclusive = \"yes\""),
            "5:13: invalid type: string \"yes\", expected a boolean",
        ),
        (
            &with("on-interrupt = \"again\""),
            "5:16: unknown variant `again`, expected one of `fail`, `rerun`, `ask`",
        ),
        (
            &with("max-concurrent = -1"),
            "5:18: invalid value: integer `-1`, expected u32",
        ),
        (
            &with("timeout = 10"),
            "5:11: invalid type: integer `10`, expected a string",
        ),
        (&with("[[gadget.examples]]"), "5:1: missing field `params`"),
        // Keys that are left out.
        (
            "# none\n[[gadget]]\ndescription = \"x\"\ncommand = [\"true\"]",
            "2:1: this gadget has no name; add name = \"Fetch\"",
        ),
        (
            "[[gadget]]\nname = \"A\"\ncommand = [\"true\"]",
            "1:1: this gadget has no description; add description = \"Fetches the page at a URL\"",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \" \"\ncommand = [\"true\"]",
            "1:1: this gadget has no description; add description = \"Fetches the page at a URL\"",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"does\"",
            "1:1: this gadget has no command; add command = [\"./fetch.sh\"]",
        ),
        // Names.
        (
            "[[gadget]]\nname = \"a:b\"\ndescription = \"x\"\ncommand = [\"true\"]",
            "2:8: \"a:b\" cannot be the name of a gadget; a name is not empty, has no `:`, whitespace or control character, and does not begin with `!!!`",
        ),
        (
            "[[gadget]]\nname = \"!!!A\"\ndescription = \"x\"\ncommand = [\"true\"]",
            "2:8: \"!!!A\" cannot be the name of a gadget; a name is not empty, has no `:`, whitespace or control character, and does not begin with `!!!`",
        ),
        (
            "[[gadget]]\ndescription = \"x\"\ncommand = [\"true\"]\nname = \" é\"",
            "4:8: \" é\" cannot be the name of a gadget; a name is not empty, has no `:`, whitespace or control character, and does not begin with `!!!`",
        ),
        (
            &with("[[gadget]]\nname = \"a\"\ndescription = \"x\"\ncommand = [\"true\"]"),
            "6:8: the name \"a\" is taken by the gadget on line 2; names must differ in more than case",
        ),
        // Commands.
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = []",
            "4:11: the command names no program; write command = [\"./program\", \"argument\"]",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"é\"\ncommand = [\"\", \"a\"]",
            "4:11: the command names no program; write command = [\"./program\", \"argument\"]",
        ),
        (
            "[[gadget]]\nname = \"A\"\ndescription = \"x\"\ncommand = \"rm -r\"",
            "4:11: invalid type: string \"rm -r\", expected an array ([…]; of tables: [[…]])",
        ),
        // Limits.
        (
            &with("timeout = \"10 s\""),
            "5:11: invalid duration \"10 s\"; expected a number and a unit, such as 500ms, 10s, 1.5m or 1h",
        ),
        (
            &with("timeout = \"0s\""),
            "5:11: invalid duration \"0s\"; expected a number and a unit, such as 500ms, 10s, 1.5m or 1h",
        ),
        (
            &with("max-concurrent = 0"),
            "5:18: max-concurrent must be 1 or more; omit it for no limit",
        ),
        // Schemas.
        (
            &with("parameters = { type = \"string\" }"),
            "5:14: parameters must be the JSON Schema of an object; write { type = \"object\", properties = { … } }",
        ),
        (
            &with("[gadget.parameters]\nurl = { type = \"string\" }"),
            "5:1: parameters must be the JSON Schema of an object; write { type = \"object\", properties = { … } }",
        ),
        (
            &with("parameters = { type = \"object\", properties = { a = { type = \"text\" } } }"),
            "5:14: parameters: invalid schema at #/properties/a/type: \"text\" is not valid under any of the \
             schemas listed in the 'anyOf' keyword",
        ),
        (
            &with("parameters = { type = \"object\", maxProperties = inf }"),
            "5:14: inf cannot be written in JSON; use a finite number",
        ),
        // Examples.
        (
            &with(
                "parameters = { type = \"object\", properties = { n = { type = \"integer\" } } }\n\
                 [[gadget.examples]]\nparams = {}\n[[gadget.examples]]\nparams = { n = \"one\" }",
            ),
            "9:10: example 2 of gadget 'A' does not fit its parameters: n: expected integer, got string \"one\"",
        ),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gadgets.toml");
    for (toml, message) in cases {
        let error = load_text(folder.path(), toml).expect_err(toml);
        assert_eq!(
            error.to_string(),
            format!("{}:{message}", path.display()),
            "{toml}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("missing.toml");
    let error = load(&path).expect_err("no file");
    let start = format!("cannot read the gadget file {}: ", path.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_gadgets_of_a_file_run() {
    use gadgetry::CancellationToken;
    use gadgetry::ExecutionContext;
    use gadgetry::Invocation;

    let folder = tempfile::tempdir().expect("a folder");
    // Another process writes it: a file that this one has open for writing, even in a test beside this one that is
    // just starting a program, could not be executed.
    let script = folder.path().join("fetch.sh");
    let written = std::process::Command::new("sh")
        .arg("-c")
        .arg(r#"printf '#!/bin/sh\nprintf "%%s: " "$@"\ncat\n' > "$0"; chmod +x "$0""#)
        .arg(&script)
        .status();
    assert!(written.expect("sh").success());

    let toml =
        "[[gadget]]\nname = \"Fetch\"\ndescription = \"x\"\ncommand = [\"./fetch.sh\", \"a; b\"]\n";
    let gadgets = load_text(folder.path(), toml).expect("a gadget");
    let invocation = Invocation {
        gadget_name: "Fetch".to_owned(),
        invocation_id: "f".into(),
        parameters: json!({ "url": "x" }),
        dependencies: [].into(),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    let outcome = invocation.execute(&gadgets[0], context).await;
    assert_eq!(outcome.result, Ok("a; b: {\"url\":\"x\"}".to_owned()));
}
