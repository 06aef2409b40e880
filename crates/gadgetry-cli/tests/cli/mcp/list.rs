//! `mcp list`, `mcp test` and `mcp trust`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::super::config::Configured;
use super::super::workshop::reply;
use super::{AGENT, odd, own, table};

const CONFIG: &str = "[mcp.servers.web]\nurl = 'https://user:s3cret@example.com/mcp?key=s3cret'\nheaders = { A = 's3cret' }\n\
    [mcp.servers.off]\ncommand = 'off'\nenabled = false\n\
    [mcp.servers.bad]\ncomand = 'x'\n\
    [mcp.servers.worse]\ncommand = 'x'\nenv = { KEY = ['s3cret'] }\n";

fn place(configured: &Configured, at: &str) -> String {
    let file = configured.0.path("home/gadgetry/config.toml");
    format!("{}:{at}", file.display())
}

#[test]
fn servers_are_listed() {
    let files =
        "[mcp.servers.files]\ncommand = 'files'\nargs = ['a b']\nenv = { KEY = 's3cret' }\n";
    let configured = Configured::new(&format!("{files}{CONFIG}"));
    configured.project("[mcp.servers.near]\nurl = 'https://example.com/near'\n");
    let row = |name: &str, rest: Value, at: &str| {
        let mut row = json!({ "name": name });
        for (key, value) in rest.as_object().expect("an object") {
            row[key] = value.clone();
        }
        let source = if at.starts_with("gadgetry") {
            at.to_owned()
        } else {
            place(&configured, at)
        };
        row["source"] = source.into();
        row
    };
    let web = json!({ "transport": "http", "target": "https://example.com/mcp", "enabled": true, "consent": "not needed" });
    let off = json!({ "transport": "stdio", "target": "off", "enabled": false, "consent": "not trusted" });
    let files = json!({ "transport": "stdio", "target": "files 'a b'", "enabled": true, "consent": "not trusted" });
    let near = json!({ "transport": "http", "target": "https://example.com/near", "enabled": true, "consent": "not trusted" });
    let expected = [
        row(
            "bad",
            json!({ "error": "mcp.servers.bad: unknown field `comand`, expected one of `command`, `args`, `cwd`, `url`, \
            `enabled`, `timeout`, `startup-timeout`, `protocol`, `env`, `headers`, `oauth`" }),
            "11:1",
        ),
        row("files", files, "1:1"),
        row("near", near, "gadgetry.toml:1:1"),
        row("off", off, "8:1"),
        row("web", web, "5:1"),
        row(
            "worse",
            json!({ "error": format!("{}: mcp.servers.worse.env.KEY is a list; expected a text", place(&configured, "15:15")) }),
            "13:1",
        ),
    ];
    let ended = configured.ended(&["mcp", "list", "--json"]);
    assert_eq!((&*ended.stderr, ended.code), ("", Some(0)));
    let rows = ended
        .stdout
        .lines()
        .map(|it| serde_json::from_str(it).expect("JSON"));
    assert_eq!(rows.collect::<Vec<Value>>(), expected);
    let text = configured.ended(&["mcp", "list"]);
    assert_eq!((&*text.stderr, text.code), ("", Some(0)));
    let columns = [
        "files  stdio  not trusted  ",
        "off    stdio  disabled     ",
        "web    http   not needed   ",
    ];
    for expected in columns {
        assert!(text.stdout.contains(expected), "{}", text.stdout);
    }
    assert!(!(text.stdout + &ended.stdout).contains("s3cret"));
    Configured::new("")
        .ended(&["mcp", "list"])
        .check("", "no MCP servers\n", 0);
}

#[test]
fn a_project_is_not_listed_before_it_is_trusted() {
    let configured = Configured::new("");
    configured
        .0
        .write("gadgetry.toml", "[mcp.servers.x]\ncommand = 'x'\n");
    let note = "gadgetry.toml is not trusted; `gadgetry config trust` shows it and trusts it\nno MCP servers\n";
    configured.ended(&["mcp", "list"]).check("", note, 0);
}

#[test]
fn a_server_is_tested() {
    let configured = Configured::new(&table("mine", &own()));
    let check = |server: &str, stdout: &str, stderr: &str, code: i32| {
        configured
            .ended(&["mcp", "test", server])
            .check(stdout, stderr, code);
    };
    let offers = |name: &str| {
        format!(
            "server     {name}\nprotocol   2026-07-28\ntools      7\n  Echo  Says its parameters\n  Fail  Fails\n  Touch  Leaves a trace\n  \
             Left  Waits for Right\n  Right  Waits for Left\n  Hang  Does not end\n  Late  Does not end in time\nresources  none\n"
        )
    };
    check(&own(), &offers("own"), "", 0);
    let untrusted = "MCP server mine is not used: you have not trusted it; `gadgetry mcp trust mine` shows it and trusts it\n\
        error: MCP server mine is not trusted\n";
    check("mine", "", untrusted, 1);
    assert_eq!(configured.ended(&["mcp", "trust", "mine"]).code, Some(0));
    check("mine", &offers("mine"), "", 0);
    // Tools that cannot be offered are not silently missing.
    let schemas = configured.ended(&["mcp", "test", &odd("schemas")]);
    assert_eq!(schemas.code, Some(0), "{schemas:?}");
    assert!(
        schemas
            .stdout
            .contains("  not offered: MCP server \"odd\", tool \"Invalid\": "),
        "{schemas:?}"
    );
    check(
        &odd("ends"),
        "",
        "error: MCP server \"odd\": it ended before it was ready; its stderr ends with: | no licence\n",
        1,
    );
    check(
        "mien",
        "",
        "error: the configuration has no MCP server mien; did you mean mine?\n",
        2,
    );
    for verb in ["login", "logout"] {
        let nope = "error: the configuration has no MCP server nope\n";
        configured.ended(&["mcp", verb, "nope"]).check("", nope, 2);
    }
    check(
        "http://127.0.0.1:1/mcp?key=s3cret",
        "",
        "error: MCP server \"127.0.0.1\": cannot connect: Connection refused (os error 111)\n",
        1,
    );
    check("a 'b", "", "error: missing closing quote\n", 2);
}

/// Consent is about the exact program.
#[test]
fn consent_is_kept_until_the_server_changes() {
    let own = own();
    let script = reply("!!!GADGET_START:Echo\n!!!ARG:say\nhi\n!!!GADGET_END\n") + &reply("Done.");
    let server = |more: &str| format!("{}{more}", table("mine", &own));
    let configured = Configured::new(&server(""));
    configured.0.write("script.jsonl", &script);
    let path = configured.0.path("home/gadgetry/trusted-servers.json");
    let check = |is_used: bool, note: &str| {
        let ended =
            configured.ended(&[&AGENT[..], &["--no-session", "--approval", "allow *"]].concat());
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Done.\n", Some(0)),
            "{ended:?}"
        );
        assert_eq!(ended.stderr.contains("gadget_1 done"), is_used, "{ended:?}");
        assert!(ended.stderr.starts_with(note), "{ended:?}");
    };
    let untrusted = "MCP server mine is not used: you have not trusted it; `gadgetry mcp trust mine` shows it and trusts it\n";
    let changed = "MCP server mine is not used: it is not what you decided about, or not in that folder; \
        `gadgetry mcp trust mine` shows it and trusts it\n";
    let trust = |expected: &str| {
        let ended = configured.ended(&["mcp", "trust", "mine"]);
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{ended:?}");
        let shown = format!(
            "  sh -c '{}'\n",
            format_args!("exec {}", &own[4..])
                .to_string()
                .replace('\'', r"'\''")
        );
        assert!(ended.stdout.contains(&shown), "{shown}{}", ended.stdout);
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
        assert!(
            ended.stdout.ends_with("MCP server mine is trusted\n"),
            "{ended:?}"
        );
        assert!(!ended.stdout.contains("s3cret"), "{ended:?}");
    };
    check(false, untrusted);
    trust(&format!(
        "MCP server mine of {} is a program:\n",
        place(&configured, "1:1")
    ));
    check(true, "[1] calling model\n");
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    configured.user(&server("env = { KEY = 's3cret', B = '${HOME}' }\n"));
    check(false, changed);
    trust("  with the variables B, KEY\n  it receives HOME of your environment\n");
    check(true, "[1] calling model\n");
    // The value of a variable may make another program of it.
    configured.user(&server("env = { KEY = 'other', B = '${HOME}' }\n"));
    check(false, changed);
    trust("  with the variables B, KEY\n");
    check(true, "[1] calling model\n");
    configured.user(&server("cwd = '../..'\n"));
    check(false, changed);
    trust(&format!(
        "  in the folder {}\n",
        configured.0.path("home/gadgetry/../..").display()
    ));
    check(true, "[1] calling model\n");
    let revoked = configured.ended(&["mcp", "trust", "mine", "--revoke"]);
    revoked.check("MCP server mine is not trusted any more\n", "", 0);
    check(false, changed);
    // Typing a server is consent, and replaces the one of that name.
    let args = ["gadget", "list", "--builtins", "none", "--mcp", &own];
    assert_eq!(configured.ended(&args).stdout.lines().count(), 7);
    for unknown in [
        &["mcp", "trust", "min"][..],
        &["mcp", "trust", "min", "--revoke"],
    ] {
        let error = "error: the configuration has no MCP server min; did you mean mine?\n";
        configured.ended(unknown).check("", error, 2);
    }
    assert!(
        !configured
            .0
            .read("home/gadgetry/trusted-servers.json")
            .contains("s3cret")
    );
}

/// Trust in the file of a project is no consent to its servers: addresses included, because keys are sent to them.
#[test]
fn servers_of_a_project() {
    let configured = Configured::new("");
    let web = "[mcp.servers.web]\nurl = 'http://127.0.0.1:1/mcp'\nheaders = { Authorization = 'Bearer ${KEY}' }\n";
    configured.project(web);
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let note = "MCP server web is not used: you have not trusted it; `gadgetry mcp trust web` shows it and trusts it\n[1] calling model\n";
    let run = |args: &[&str]| super::Ended::of(configured.command(args).env("KEY", "s3cret"));
    run(&agent).check("Hi.\n", note, 0);
    run(&["mcp", "trust", "web"]).check(
        "MCP server web of gadgetry.toml:1:1 is an address:\n  http://127.0.0.1:1/mcp\n  with the headers Authorization\n  \
         it receives KEY of your environment\nMCP server web is trusted\n",
        "",
        0,
    );
    let used = "MCP server \"web\": cannot connect: Connection refused (os error 111)\n[1] calling model\n";
    run(&agent).check("Hi.\n", used, 0);
    run(&[&agent[..], &["--no-mcp"]].concat()).check("Hi.\n", "[1] calling model\n", 0);
    run(&[&agent[..], &["--no-config"]].concat()).check("Hi.\n", "[1] calling model\n", 0);
    // Which key is sent is a part of what was agreed to.
    configured.project(&web.replace("KEY", "OTHER"));
    let ended = run(&agent);
    assert!(
        ended
            .stderr
            .starts_with("MCP server web is not used: it is not what you decided about"),
        "{ended:?}"
    );
    // The same program in another folder may be another program.
    configured.project("[mcp.servers.x]\ncommand = 'x'\n");
    assert_eq!(run(&["mcp", "trust", "x"]).code, Some(0));
    let other = configured.0.path("other");
    fs::create_dir(&other).expect("a folder");
    fs::copy(
        configured.0.path("gadgetry.toml"),
        other.join("gadgetry.toml"),
    )
    .expect("a copy");
    let in_other = |args: &[&str]| super::Ended::of(configured.command(args).current_dir(&other));
    assert_eq!(in_other(&["config", "trust"]).code, Some(0));
    let listed = in_other(&["mcp", "list"]).stdout;
    assert!(listed.contains("not trusted as it is here"), "{listed}");
}

/// Whatever the command line, what runs may be a file of the folder: a module, a package, a target of `make`, a variable.
#[test]
fn consent_to_a_program_of_the_user_is_for_one_folder() {
    let check = |command: &str, args: &str| {
        let configured = Configured::new(&format!(
            "[mcp.servers.own]\ncommand = '{command}'\nargs = [{args}]\n"
        ));
        let args = ["mcp", "trust", "own"];
        let ended = configured.ended(&args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let other = configured.0.path("other");
        fs::create_dir(&other).expect("a folder");
        let files = [
            "srv",
            "acme/server.py",
            "node_modules/.bin/acme",
            "Makefile",
        ];
        for file in files {
            let file = other.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, "echo started > ran\n").expect("a file");
        }
        let agent = ["mcp", "test", "own"];
        let note = "MCP server own is not used: it is not what you decided about, or not in that folder; \
            `gadgetry mcp trust own` shows it and trusts it\nerror: MCP server own is not trusted\n";
        super::Ended::of(
            configured
                .command(&agent)
                .current_dir(&other)
                .env("PWD", &other),
        )
        .check("", note, 1);
        assert!(!other.join("ran").exists(), "{command} {args:?}");
        // Where it is trusted, it is started.
        let ended = configured.ended(&agent);
        assert!(!ended.stderr.contains("is not used"), "{ended:?}");
    };
    check("python3", "'-m', 'acme.server'");
    check("sh", "'${PWD}/srv'");
    check("sh", "'-c', '$PWD/srv'");
    check("sh", "'-c', 'npx acme'");
    check("make", "'serve'");
    check("true", "");
}

/// The command that is recommended names the server, with its file if that is not the usual one.
#[test]
fn the_recommended_command_is_complete() {
    let configured = Configured::new("");
    let file = "[mcp.servers.\"my files\"]\ncommand = 'true'\n";
    configured.0.write("my.toml", file);
    let args = ["mcp", "test", "my files", "--config", "my.toml"];
    let note = "MCP server my files is not used: you have not trusted it; \
        `gadgetry mcp trust --config my.toml 'my files'` shows it and trusts it\n\
        error: MCP server my files is not trusted\n";
    configured.ended(&args).check("", note, 1);
    let trust = ["mcp", "trust", "--config", "my.toml", "my files"];
    assert_eq!(configured.ended(&trust).code, Some(0));
    // One that is disabled is tested.
    configured
        .0
        .write("my.toml", &format!("{file}enabled = false\n"));
    let ended = configured.ended(&args);
    let note = "MCP server my files is disabled in the configuration; it is tested anyway\n";
    assert!(ended.stderr.starts_with(note), "{ended:?}");
}

/// A name and an argument cannot pretend to be other lines, or write to the terminal.
#[test]
fn names_that_pretend() {
    let server = "[mcp.servers.\"x of y is a program:\\n  true\\u001b[2J\"]\ncommand = 'rm'\nargs = [\"-rf\\n  true\", 'a  b']\n";
    let configured = Configured::new(server);
    let name = "x of y is a program:\n  true\u{1b}[2J";
    let ended = configured.ended(&["mcp", "trust", name]);
    let expected = format!(
        "MCP server x of y is a program: true\\u{{1b}}[2J of {} is a program:\n  rm '-rf\\u{{a}}  true' 'a  b'\n  \
         if it is used in {}\nMCP server x of y is a program: true\\u{{1b}}[2J is trusted\n",
        place(&configured, "1:1"),
        configured
            .0
            .path("")
            .display()
            .to_string()
            .trim_end_matches('/')
    );
    ended.check(&expected, "", 0);
}

/// An invalid table is a mistake of the file, before anything is done.
#[test]
fn invalid_tables() {
    let check = |server: &str, problem: &str| {
        let configured = Configured::new(&format!("[mcp.servers.x]\n{server}\n"));
        invalid(&configured, problem);
    };
    check(
        "command = 'x'\nurl = 'y'",
        "a server has either `command` or `url`; remove one of them",
    );
    check(
        "url = 'nope'",
        "`url` is not an address: relative URL without a base",
    );
    check(
        "url = 'file:///x'",
        "`url` begins with \"file\"; expected http:// or https://",
    );
}

#[track_caller]
fn invalid(configured: &Configured, problem: &str) {
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let error = format!(
        "error: {}: mcp.servers.x: {problem}\n",
        place(configured, "1:1")
    );
    let listed = configured.ended(&["mcp", "list"]).stdout;
    assert!(listed.starts_with("x  ?  invalid  "), "{listed}");
    configured.ended(&agent).check("", &error, 2);
    configured
        .ended(&[&agent[..], &["--no-mcp"]].concat())
        .check("Hi.\n", "[1] calling model\n", 0);
}
