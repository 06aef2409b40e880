//! MCP on the command line, with servers that run: our own, ones that misbehave, and ones that others wrote.

#[cfg(feature = "chat")]
mod consent;
mod ends;
mod import;
mod list;
mod login;
mod peers;
pub(super) mod serve;
mod sessions;

use super::found;
use std::path::Path;

use serde_json::{Value, json};

use super::GADGETRY;
use super::workshop::{Ended, Workshop, block, call, reply};

/// A run of the script, without built-in gadgets.
const AGENT: [&str; 6] = [
    "agent",
    "Go!",
    "--model",
    "script:script.jsonl",
    "--builtins",
    "none",
];

/// The gadgets of the workshop, served by the program itself.
fn own() -> String {
    format!("own={GADGETRY} mcp serve --builtins none --gadgets gadgets.toml --approval 'allow *'")
}

/// The server that misbehaves as `mode` says.
fn odd(mode: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gadgetry-mcp/tests/servers/odd.py");
    format!("odd=python3 {} {mode}", script.display())
}

/// A table of a configuration file for a command line.
fn table(name: &str, server: &str) -> String {
    let (_, server) = server.split_once('=').expect("a name");
    let script = format!("exec {server}");
    format!("[mcp.servers.{name}]\ncommand = 'sh'\nargs = ['-c', '''{script}''']\n")
}

/// What an MCP server of the command line offers, and its result.
#[test]
fn gadgets_of_servers() {
    let workshop = Workshop::new("");
    let own = own();
    let check = |args: &[&str], stdout: &str, stderr: &str, code: i32| {
        let args = [&["gadget"], args, &["--builtins", "none", "--mcp", &own]].concat();
        Ended::of(&mut workshop.command(&args)).check(stdout, stderr, code);
    };
    let list = "\
Echo   Says its parameters
Fail   Fails
Touch  Leaves a trace
Left   Waits for Right
Right  Waits for Left
Hang   Does not end
Late   Does not end in time
";
    check(&["list"], list, "", 0);
    let info = "## Echo\nSays its parameters\nParameters:\n- say (string; required)\n";
    check(&["info", "echo"], info, "", 0);
    let run = |name: &'static str, params: &'static str| ["run", name, "--params", params];
    let args = ["gadget", "run", "Echo", "--params", r#"{"say":"hi"}"#];
    let args = [&args[..], &["--builtins", "none", "--mcp", &own]].concat();
    let ended = Ended::of(&mut workshop.command(&args));
    let said: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!((said, ended.code), (json!({ "say": "hi" }), Some(0)));
    check(&run("Fail", "{}"), "", "error: no luck\n", 1);
    check(
        &["info", "Ech"],
        "",
        "error: Gadget 'Ech' not found. Did you mean 'Echo'? Available gadgets: Echo, Fail, Touch, Left, Right, Hang, Late\n",
        2,
    );
}

/// A server may change the files that the options name: they were read before it was started, and once.
#[test]
fn files_are_read_once() {
    let check = |args: &[&str], stdin: &str| {
        let workshop = Workshop::new(&reply("As it was."));
        let changed = reply("As it is now.");
        workshop.write("changed.jsonl", &changed);
        let server = own();
        let (_, server) = server.split_once('=').expect("a name");
        let script = format!("cp changed.jsonl script.jsonl; exec {server}");
        let server = format!("own=sh -c '{}'", script.replace('\'', r"'\''"));
        let mut command = workshop.command(&[args, &["--mcp", &server]].concat());
        workshop.write("stdin", stdin);
        command.stdin(std::fs::File::open(workshop.path("stdin")).expect("a file"));
        let ended = Ended::of(&mut command);
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("As it was.\n", Some(0)),
            "{ended:?}"
        );
        assert_eq!(workshop.read("script.jsonl"), changed, "{args:?}");
    };
    check(&[&AGENT[..], &["--no-session"]].concat(), "");
    if cfg!(feature = "chat") {
        let chat = [
            "chat",
            "--model",
            "script:script.jsonl",
            "--builtins",
            "none",
        ];
        check(&chat, "Go!\n");
    }
}

#[test]
fn what_cannot_be_a_server() {
    let workshop = Workshop::new("");
    let check = |server: &str, problem: &str| {
        let error = format!("error: invalid value '{server}' for '--mcp <SERVER>': {problem}\n");
        let mut command = workshop.command(&["gadget", "list", "--mcp", server]);
        Ended::of(&mut command).check("", &error, 2);
    };
    check("x=", "expected a command line or a URL");
    check("a 'b", "missing closing quote");
    check("https://", "invalid URL: empty host");
}

/// A server that cannot be used is a line of progress, and the others are used.
#[test]
fn a_broken_server_breaks_nothing() {
    let say = reply(&block("Echo", "hi")) + &reply("Done.");
    let workshop = Workshop::new(&say);
    let ends = odd("ends");
    let (own, missing) = (own(), "missing=/no/such/program");
    let servers = ["--mcp", &ends, "--mcp", &own, "--mcp", missing];
    let rule = ["--approval", "allow Echo@own"];
    let run = |more: &[&str]| {
        let args = [&AGENT[..], &servers, &rule, more].concat();
        let mut ended = Ended::of(&mut workshop.command(&args));
        ended.stderr = super::workshop::masked(&ended.stderr);
        ended
    };
    let failures = "\
MCP server \"odd\": it ended before it was ready; its stderr ends with:
| no licence
MCP server \"missing\": cannot start \"/no/such/program\": there is no such program in PATH, or its folder or `cwd` does not exist
";
    let ended = run(&["--no-session"]);
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    assert!(ended.stderr.starts_with(failures), "{ended:?}");
    assert!(
        ended.stderr.contains("+ gadget_1 done in N ms: "),
        "{ended:?}"
    );
    run(&["--quiet"]).check("Done.\n", "", 0);
    // Nothing else is on stdout.
    let events = run(&["--events", "jsonl"]);
    assert_eq!(events.stderr, failures);
    super::workshop::events(&events.stdout);
}

/// Calls of servers need approval, whatever the server says about its tools.
#[test]
fn calls_need_approval() {
    let workshop = Workshop::new(&(reply(&block("Touch", "")) + &reply("Done.")));
    let own = own();
    let check = |args: &[&str], is_executed: bool, shown: &str| {
        drop(std::fs::remove_file(workshop.path("trace")));
        let args = [&AGENT[..], &["--mcp", &own], args].concat();
        let ended = Ended::of(&mut workshop.command(&args));
        // No user was there.
        let code = if shown.contains("but no user") { 3 } else { 0 };
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Done.\n", Some(code)),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(shown), "{ended:?}");
        assert_eq!(workshop.has("trace"), is_executed, "{ended:?}");
    };
    check(&[], false, "Denied: Touch needs approval, but no user");
    check(&["--approval", "allow Touch@own"], true, "gadget_1 done");
    check(&["--approval", "deny *"], false, "failed: Denied");
    check(&["--yes", "--dangerously-without-sandbox"], true, "done");
    // The model must know what there is, but nothing is called.
    check(&["--dry-run"], false, "Dry run");
}

/// A name that another gadget has is prefixed with that of the server.
#[test]
fn names_that_are_taken() {
    let both = call("own__Touch", "") + &block("Echo", "of the file");
    let workshop = Workshop::new(&(reply(&both) + &reply("Done.")));
    let own = own();
    let ended = Ended::of(&mut workshop.agent(&["--mcp", &own, "--approval", "allow *"]));
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Done.\n", Some(0)),
        "{ended:?}"
    );
    assert!(workshop.has("trace"), "{ended:?}");
    assert!(ended.stderr.contains("of the file"), "{ended:?}");
    let twice = [
        "gadget",
        "list",
        "--builtins",
        "none",
        "--mcp",
        &own,
        "--mcp",
        &own,
    ];
    let list = Ended::of(&mut workshop.command(&twice)).stdout;
    let names = list.lines().filter_map(|it| it.split_whitespace().next());
    let names: Vec<&str> = names.filter(|it| it.ends_with("Echo")).collect();
    assert_eq!(names, ["own__Echo", "own-2__Echo"]);
    // A rule about a built-in gadget is about no other one, also if there is no built-in one.
    let reads = format!("reads={GADGETRY} mcp serve --builtins ReadFile");
    let args = ["gadget", "list", "--builtins", "none", "--mcp", &reads];
    let list = Ended::of(&mut workshop.command(&args)).stdout;
    assert!(list.starts_with("reads__ReadFile "), "{list}");
}
