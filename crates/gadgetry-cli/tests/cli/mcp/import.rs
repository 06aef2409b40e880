//! `mcp import`: lists of Claude Code, Claude Desktop and Cursor.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::super::config::Configured;
use super::super::workshop::Ended;

const CODE: &str = r#"{ "numStartups": 3, "mcpServers": {
    "files": { "type": "stdio", "command": "npx", "args": ["-y", "files"], "env": { "KEY": "s3cret" } },
    "old": { "type": "sse", "url": "https://example.com/sse" }
} }"#;
const DESKTOP: &str = r#"{ "mcpServers": { "files": { "command": "other" }, "desk": { "command": "desk", "cwd": "/srv" } } }"#;
const CURSOR: &str = r#"{ "mcpServers": { "web": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${env:TOKEN}" } } } }"#;
const OF_PROJECT: &str = r#"{ "mcpServers": { "near": { "command": "near" } } }"#;

/// A home directory with three lists, and a project with one.
fn configured(config: &str) -> Configured {
    let configured = Configured::new(config);
    for folder in ["me/.config/Claude", "me/.cursor"] {
        fs::create_dir_all(configured.0.path(folder)).expect("a folder");
    }
    configured.0.write("me/.claude.json", CODE);
    configured
        .0
        .write("me/.config/Claude/claude_desktop_config.json", DESKTOP);
    configured.0.write("me/.cursor/mcp.json", CURSOR);
    configured.0.write(".mcp.json", OF_PROJECT);
    configured
}

fn import(configured: &Configured, args: &[&str]) -> Ended {
    let mut command = configured.command(&[&["mcp", "import"], args].concat());
    Ended::of(command.env("HOME", configured.0.path("me")))
}

const HINT: &str = "programs are started after `gadgetry mcp trust NAME`, or when you agree\n";

#[test]
fn lists_of_the_home_directory() {
    let configured = configured("");
    let home = |file: &str| configured.0.path("me").join(file).display().to_string();
    let wrote = format!(
        "wrote {}\n",
        configured.0.path("home/gadgetry/config.toml").display()
    );
    let warnings = format!(
        "{}: server \"old\": left out: HTTP with SSE is obsolete; import it with the address of its streamable HTTP endpoint\n\
         {}: server \"files\": left out: another list has one of this name\n",
        home(".claude.json"),
        home(".config/Claude/claude_desktop_config.json")
    );
    let would = "would add files: npx -y files\nwould add desk: desk\nwould add web: https://example.com/mcp\n";
    import(&configured, &["--dry-run"]).check(would, &warnings, 0);
    assert!(!configured.0.has("home/gadgetry/config.toml"));
    let added = "added files: npx -y files\nadded desk: desk\nadded web: https://example.com/mcp\n";
    import(&configured, &[]).check(&format!("{added}{wrote}"), &format!("{warnings}{HINT}"), 0);
    let file = configured.0.path("home/gadgetry/config.toml");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let expected = "[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"files\"]\nenv = { KEY = \"s3cret\" }\n\n\
        [mcp.servers.desk]\ncommand = \"desk\"\ncwd = \"/srv\"\n\n\
        [mcp.servers.web]\nurl = \"https://example.com/mcp\"\nheaders = { Authorization = \"Bearer ${TOKEN}\" }\n";
    assert_eq!(configured.0.read("home/gadgetry/config.toml"), expected);
    let again = "kept files: the file has a server of this name already\n\
        kept desk: the file has a server of this name already\nkept web: the file has a server of this name already\n";
    import(&configured, &[]).check(again, &warnings, 0);
    assert_eq!(configured.0.read("home/gadgetry/config.toml"), expected);
    let listed = configured.ended(&["mcp", "list"]);
    let states = [
        "desk   stdio  not trusted",
        "files  stdio  not trusted",
        "web    http   not needed ",
    ];
    for (line, expected) in listed.stdout.lines().zip(states) {
        assert!(line.starts_with(expected), "{listed:?}");
    }
}

#[test]
fn one_list() {
    let mine = "# Mine.\nmodel = 'x' # fast\n";
    let check = |args: &[&str], added: &str| {
        let configured = configured(mine);
        let ended = import(&configured, args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let names: Vec<&str> = ended
            .stdout
            .lines()
            .filter_map(|it| it.strip_prefix("added "))
            .collect();
        assert_eq!(names.join(" | "), added, "{ended:?}");
        assert!(
            configured
                .0
                .read("home/gadgetry/config.toml")
                .starts_with(mine)
        );
        // The file was open to all before, and keeps its mode.
        let note = "other users can read ";
        assert!(ended.stderr.contains(note), "{ended:?}");
    };
    check(&["--from", "cursor"], "web: https://example.com/mcp");
    check(&["--from", "claude-desktop"], "files: other | desk: desk");
    check(
        &["--from", "claude-code", "--project"],
        "near: near | files: npx -y files",
    );
    check(&[".mcp.json"], "near: near");
    check(&["me/.cursor/mcp.json"], "web: https://example.com/mcp");
}

/// An address of someone else's list must not receive keys of the user before they agree.
#[test]
fn addresses_of_other_lists_are_disabled() {
    let list = r#"{ "mcpServers": {
        "web": { "url": "https://example.com/mcp", "headers": { "X-Key": "${KEY}", "X-B": "b" } },
        "open": { "url": "https://example.com/open" },
        "bad": { "url": "nope" },
        "ftp": { "url": "ftp://example.com" },
        "near": { "command": "near" }
    } }"#;
    let check = |args: &[&str], name: &str| {
        let configured = configured("");
        configured.0.write(name, list);
        let ended = import(&configured, args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let file = configured.0.path("home/gadgetry/config.toml");
        let file = file.display();
        let note = format!("to use it, remove `enabled = false` from its table in {file}\n");
        for line in [
            "server \"bad\": left out: `url` is not an address: relative URL without a base\n",
            "server \"ftp\": left out: `url` begins with \"ftp\"; expected http:// or https://\n",
            &format!(
                "server \"web\" is disabled: it would receive the headers X-B, X-Key and KEY of your environment; {note}"
            ),
            &format!("server \"open\" is disabled: {note}"),
        ] {
            assert!(ended.stderr.contains(line), "{line}{ended:#?}");
        }
        assert_eq!(ended.stderr.matches("is disabled").count(), 2, "{ended:#?}");
        let listed = configured.ended(&["mcp", "list"]).stdout;
        for name in ["web", "open"] {
            let row = listed.lines().find(|it| it.starts_with(name));
            let words = row.map(|it| it.split_whitespace().nth(2));
            assert_eq!(words, Some(Some("disabled")), "{listed}");
        }
        assert!(!listed.contains("bad"), "{listed}");
    };
    check(&["--project", "--from", "claude-code"], ".mcp.json");
    check(&["list.json"], "list.json");
}

#[test]
fn invalid_files_are_refused() {
    let configured = Configured::new("");
    configured.0.write("broken.json", "{");
    configured.0.write("none.json", "{}");
    fs::create_dir(configured.0.path("me")).expect("a folder");
    let check = |args: &[&str], problem: &str| {
        import(&configured, args).check("", &format!("error: {problem}\n"), 2);
    };
    check(
        &["missing.json"],
        "cannot read missing.json: No such file or directory (os error 2)",
    );
    check(
        &["broken.json"],
        "broken.json: not valid JSON: EOF while parsing an object at line 1 column 1",
    );
    check(
        &["none.json"],
        "none.json: there is no list of servers: `mcpServers` is missing or not an object",
    );
    let cursor = configured.0.path("me/.cursor/mcp.json");
    let nothing = format!("found no list of servers; looked at {}", cursor.display());
    check(&["--from", "cursor"], &nothing);
    configured.0.write(
        "one.json",
        r#"{ "mcpServers": { "x": { "command": "x" } } }"#,
    );
    check(
        &["one.json", "--no-config"],
        "there is no configuration file of the user: it is not read, or there is no home directory",
    );
}
