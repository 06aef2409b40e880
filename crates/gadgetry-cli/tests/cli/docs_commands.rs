//! The commands in code blocks of the documentation run as they are pasted, with servers of ours at the addresses on the pages.
//! `docs` runs those in `console` blocks, and compares what they print.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Command;

use super::docs::{add_pages, blocks, root, shell_path};
use super::eval::perfect;
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, signal};

/// Pages in the root with commands.
const PAGES: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// Beginnings of commands that something else runs: its file, and a word in it.
const ELSEWHERE: [(&str, &str, &str); 27] = [
    (
        "cargo run --release -- demo",
        "crates/gadgetry-cli/tests/cli/demo.rs",
        "demo",
    ),
    ("cargo xtask test", "xtask/src/test.rs", "--quick"),
    (
        "cargo test -p gadgetry-proto --test tests dialects::",
        "crates/gadgetry-proto/tests/main.rs",
        "mod dialects",
    ),
    (
        "cargo install --locked --profile dist",
        "xtask/src/dist.rs",
        "\"dist\"",
    ),
    (
        "pip install ./bindings/python",
        "xtask/src/bindings/python.rs",
        "install",
    ),
    (
        "npm --prefix bindings/node run build",
        "xtask/src/bindings/node.rs",
        "build",
    ),
    (
        "npm install --ignore-scripts @restatedev/restate-server@1.7.12",
        "xtask/src/servers.rs",
        "@restatedev/restate-server",
    ),
    (
        "DO_NOT_TRACK=1 npx restate-server",
        "crates/gadgetry-restate/tests/support/restate.rs",
        "node-name",
    ),
    (
        "gadgetry worker",
        "crates/gadgetry-cli/tests/cli/restate.rs",
        "\"worker\"",
    ),
    (
        "gadgetry submit",
        "crates/gadgetry-cli/tests/cli/restate.rs",
        "\"submit\"",
    ),
    (
        "gadgetry remote status",
        "crates/gadgetry-cli/tests/cli/restate.rs",
        "\"status\"",
    ),
    (
        "gadgetry remote answer",
        "crates/gadgetry-cli/tests/cli/restate.rs",
        "\"answer\"",
    ),
    (
        "gadgetry remote cancel",
        "crates/gadgetry-cli/tests/cli/restate.rs",
        "\"cancel\"",
    ),
    (
        "rustup target add x86_64-unknown-linux-musl",
        "xtask/src/dist.rs",
        "rustup target add",
    ),
    (
        "cargo build --locked --profile dist --package gadgetry-cli --target",
        "xtask/src/dist.rs",
        "\"--target\"",
    ),
    (
        "mkdir image",
        "xtask/src/dist/tried.rs",
        "release-stage/container",
    ),
    (
        "cp packaging/Containerfile",
        "xtask/src/dist/tried.rs",
        "ca-certificates.crt",
    ),
    (
        "podman build --tag gadgetry image",
        "xtask/src/dist/tried.rs",
        "packaging/Containerfile",
    ),
    ("podman run", "xtask/src/dist/tried.rs", "\"run\""),
    (
        "codex",
        "crates/gadgetry-gateway/tests/agents/run.py",
        "codex",
    ),
    (
        "ANTHROPIC_BASE_URL=http://127.0.0.1:8787",
        "crates/gadgetry-gateway/tests/agents/run.py",
        "claude",
    ),
    (
        "gadgetry gadget run Order",
        "crates/gadgetry-cli/tests/cli/gadget_form.rs",
        "order.toml",
    ),
    ("git clone", ".github/workflows/ci.yml", "checkout"),
    ("cargo new clerk", "examples/clerk/Cargo.toml", "clerk"),
    ("cd clerk", "examples/clerk/Cargo.toml", "clerk"),
    ("cargo run", "crates/gadgetry/tests/examples.rs", "clerk"),
    (
        "gadgetry agent --worktree",
        "crates/gadgetry-cli/tests/cli/worktree.rs",
        "--worktree",
    ),
];

#[test]
fn every_command_in_a_block_runs() {
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root().join(page)).collect();
    for folder in ["docs", "bindings", "examples", "packaging"] {
        add_pages(&root().join(folder), &mut pages);
    }
    let (mut count, mut used) = (0, Vec::new());
    for page in pages {
        let page = page.strip_prefix(root()).expect("a page of ours");
        let page = page.to_str().expect("text");
        let commands = commands(page);
        if commands.is_empty() {
            continue;
        }
        let stand = Stand::new(page);
        for command in commands {
            count += 1;
            let elsewhere = ELSEWHERE.iter().find(|it| command.starts_with(it.0));
            if let Some(&(begin, file, word)) = elsewhere {
                used.push(begin);
                let text = fs::read_to_string(root().join(file)).expect("a file");
                assert!(text.contains(word), "{page}: {command}: not in {file}");
            } else {
                stand.run(&command);
            }
        }
    }
    for (begin, ..) in ELSEWHERE {
        assert!(used.contains(&begin), "no page has {begin}");
    }
    assert!(count > 40, "{count}");
}

/// The commands of a page: the lines of its `sh` blocks, and what has a prompt in its transcripts.
///
/// # Panics
///
/// If a block of another language has a command.
fn commands(page: &str) -> Vec<String> {
    let joined = |block: &String| block.replace("\\\n", " ");
    let transcripts = blocks(page, "text");
    for line in transcripts.iter().flat_map(|it| it.lines()) {
        let mut words = line.split(' ').skip_while(|word| word.contains('='));
        let first = words.next().unwrap_or_default();
        let is_command = ["gadgetry", "cargo", "npm", "npx", "pip", "git"].contains(&first);
        assert!(!is_command, "{page}: not in a block of sh: {line}");
    }
    let transcripts: Vec<String> = transcripts.iter().map(joined).collect();
    let pasted: Vec<String> = blocks(page, "sh").iter().map(joined).collect();
    let lines = pasted.iter().flat_map(|it| it.lines()).map(str::to_owned);
    let prompted = transcripts.iter().flat_map(|it| it.lines());
    let prompted = prompted.filter_map(|line| line.strip_prefix("$ ").map(str::to_owned));
    lines.chain(prompted).collect()
}

/// The folder of a page's reader, with what the page supposes.
struct Stand {
    page: String,
    workshop: Workshop,
    /// A server with a model that calls tools as it is asked to.
    upstream: Server,
    messages: Server,
    collector: Server,
}

impl Stand {
    fn new(page: &str) -> Self {
        let models = r#"{"data":[{"id":"smollm2"},{"id":"qwen3"}]}"#.to_owned();
        let upstream = [
            Reply::Gets("/v1/models", "200 OK", models),
            Reply::By(perfect),
        ];
        let stand = Self {
            page: page.to_owned(),
            workshop: Workshop::new(""),
            upstream: Server::start(upstream),
            messages: Server::start([Reply::Messages("Hi.")]),
            collector: Server::start([Reply::Status("200 OK", "{}")]),
        };
        // The session NAME, whose log is `run.jsonl`.
        let hello = "gadgetry agent Hello --model haiku --session NAME --save run.jsonl";
        stand.run(hello);
        let configuration = blocks(page, "toml").into_iter().next();
        let url = "http://10.0.0.5:8000/v1";
        let configuration = configuration.map(|it| it.replace(url, stand.upstream.url()));
        stand
            .workshop
            .write("gateway.toml", &configuration.unwrap_or_default());
        stand
    }

    /// Runs a command to its end, or until it serves; then Ctrl-C ends it.
    fn run(&self, command: &str) {
        let page = &self.page;
        let collector = self.collector.url().trim_end_matches("/v1");
        let here = command
            .replace("http://127.0.0.1:8080/v1", self.upstream.url())
            .replace("http://127.0.0.1:4318", collector)
            .replace("openssl rand", "echo")
            .replace("gadgetry serve", "exec gadgetry serve --listen 127.0.0.1:0")
            .replace("gadgetry inspect", "exec gadgetry inspect");
        let mut shell = self
            .workshop
            .run("sh", &["-c", &format!("exec 2>&1; {here}")]);
        self.set(&mut shell);
        let mut process = shell.spawn().expect("a shell");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let (mut said, mut serves) = (String::new(), false);
        while let Some(Ok(line)) = lines.next() {
            said.extend([&line, "\n"]);
            if !serves && is_served(&here, &line) {
                serves = true;
                signal(&process, "INT");
            }
        }
        let ended = Ended::wait(process);
        assert_eq!(ended.code, Some(0), "{page}: {command}: {said}");
    }

    fn set(&self, shell: &mut Command) {
        let server = self.upstream.url();
        let messages = self.messages.url().trim_end_matches("/v1");
        shell
            .env("PATH", shell_path())
            .env("XDG_CONFIG_HOME", self.workshop.path("config"))
            .env("OLLAMA_BASE_URL", server)
            .env("ANTHROPIC_BASE_URL", messages)
            .env("ANTHROPIC_API_KEY", "key")
            .env("GADGETRY_MODEL", "haiku");
    }
}

/// Whether a command that would not end by itself says by this line that it serves.
fn is_served(command: &str, line: &str) -> bool {
    if command.contains("gadgetry serve") {
        return line.starts_with("serving http://");
    }
    command.contains("gadgetry inspect") && line.contains("http://127.0.0.1:")
}
