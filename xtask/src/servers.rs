//! Servers that others wrote, and a model, for the tests: installed by name from their registries below the target folder.
//!
//! `target/servers/NAME.command` says how to start one, an argument a line; the test `foreign_servers` reads it. Where
//! a server cannot be installed, `NAME.missing` says why, and its tests print that they are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk;
use crate::shell::{answers, capture, command, root};

mod debian;
mod engines;

/// A server, and how it comes here.
struct Server {
    name: &'static str,
    version: &'static str,
    /// Arguments that it is started with to see whether it works; empty for a file of data.
    question: &'static str,
    /// Installs into an empty folder, and returns the command that starts it.
    install: fn(&Path, &str) -> Result<Vec<String>, String>,
}

/// A model for measurements, whose terms one accepts by downloading it.
pub(crate) const GEMMA: &str = "gemma";

/// The variable that says so.
const ACCEPT_GEMMA: &str = "GADGETRY_GEMMA";

/// A library with which the clock of a process jumps.
const FAKETIME: &str = "faketime";

const SERVERS: [Server; 20] = [
    Server {
        name: "aimock",
        version: "1.43.0",
        question: "--help",
        install: aimock,
    },
    Server {
        name: "llmock",
        version: "0.2.2",
        question: "--help",
        install: llmock,
    },
    Server {
        name: "restate",
        version: "1.7.12",
        question: "--help",
        install: restate,
    },
    Server {
        name: "haproxy",
        version: "debian",
        question: "-v",
        install: debian::haproxy,
    },
    Server {
        name: "chromium",
        version: "debian",
        question: "--version",
        install: debian::chromium,
    },
    Server {
        name: "playwright",
        version: "1.65.1",
        question: "-d",
        install: playwright,
    },
    Server {
        name: "sdk-python",
        version: "2026-11",
        question: "--version",
        install: sdk_python,
    },
    Server {
        name: "sdk-node",
        version: "2026-11-23",
        question: "-d",
        install: sdk_node,
    },
    Server {
        name: "agents",
        version: "0.169.0-2.1.330",
        question: "-d",
        install: agents,
    },
    Server {
        name: "bfcl",
        version: "2026.3.23",
        question: "-d",
        install: bfcl,
    },
    Server {
        name: "mcp-node",
        version: "2026.8.31-0.15.0",
        question: "-d",
        install: mcp_node,
    },
    Server {
        name: "mcp-python",
        version: "2.3.0",
        question: "--version",
        install: mcp_python,
    },
    Server {
        name: "acp-node",
        version: "2.4.0",
        question: "-d",
        install: acp_node,
    },
    Server {
        name: "acp-python",
        version: "0.12.1",
        question: "--version",
        install: acp_python,
    },
    Server {
        name: "llama-cpp",
        version: "2026.10.11549",
        question: "--version",
        install: engines::llama_cpp,
    },
    Server {
        name: "smollm2",
        version: "0.1.2",
        question: "",
        install: engines::smollm2,
    },
    Server {
        name: "xgrammar",
        version: "0.1.27",
        question: "-d",
        install: engines::xgrammar,
    },
    Server {
        name: "llguidance",
        version: "1.9.1",
        question: "--version",
        install: engines::llguidance,
    },
    Server {
        name: GEMMA,
        version: "1.0.0",
        question: "",
        install: engines::gemma,
    },
    Server {
        name: FAKETIME,
        version: "debian",
        question: "-d",
        install: debian::faketime,
    },
];

/// Servers and files that the tests and the measurement with a real model need.
const MODELS: [&str; 5] = ["llama-cpp", "smollm2", "xgrammar", "llguidance", "bfcl"];

/// The tests of the gateway, with the clients that they run.
const CLIENTS: &str = "crates/gadgetry-gateway/tests";

/// Installs what is not there yet. What could not be installed, and why, a line each.
pub(crate) fn install() -> Result<Vec<String>, String> {
    install_those(|name| name != FAKETIME)
}

/// The path of libfaketime, for [`crate::soak`] alone.
pub(crate) fn install_faketime() -> Result<String, String> {
    match install_those(|name| name == FAKETIME)?.pop() {
        Some(why) => Err(why),
        None => command_of(FAKETIME)?
            .pop()
            .ok_or_else(|| "no path".to_owned()),
    }
}

/// The same for a real model, its server, and the engines of grammars.
pub(crate) fn install_models() -> Result<Vec<String>, String> {
    install_those(|name| name == GEMMA || MODELS.contains(&name))
}

/// The command of something that is installed.
pub(crate) fn command_of(name: &str) -> Result<Vec<String>, String> {
    let file = target().join("servers").join(format!("{name}.command"));
    Ok(disk::read(&file)?.lines().map(str::to_owned).collect())
}

fn install_those(is_wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let folder = target().join("servers");
    disk::folder(&folder)?;
    let mut missing = Vec::new();
    let is_accepted = std::env::var_os(ACCEPT_GEMMA).is_some();
    let is_wanted = |name: &str| is_wanted(name) && (name != GEMMA || is_accepted);
    for server in SERVERS.iter().filter(|server| is_wanted(server.name)) {
        let done = ready(&folder, server)?;
        missing.extend(done.map(|why| format!("{} {}: {why}", server.name, server.version)));
    }
    Ok(missing)
}

/// Makes a server ready, and returns why it is not to be had, if it is not.
fn ready(folder: &Path, server: &Server) -> Result<Option<String>, String> {
    let Server {
        name,
        version,
        question,
        ..
    } = server;
    let place = folder.join(format!("{name}-{version}"));
    let start = folder.join(format!("{name}.command"));
    let why_not = folder.join(format!("{name}.missing"));
    if let Ok(text) = fs::read_to_string(&start) {
        let words: Vec<String> = text.lines().map(str::to_owned).collect();
        if words.iter().any(|word| Path::new(word).starts_with(&place)) && works(&words, question) {
            eprintln!("{name} {version} is there");
            return Ok(None);
        }
    }
    // Whatever a version before or an attempt that was cut off has left.
    for old in [&start, &why_not] {
        _ = fs::remove_file(old);
    }
    disk::empty_folder(&place)?;
    eprintln!("{name} {version} is installed into {}", place.display());
    let installed = (server.install)(&place, version).and_then(|words| {
        let failed = || format!("it is installed, but `{}` fails", words.join(" "));
        works(&words, question)
            .then(|| words.clone())
            .ok_or_else(failed)
    });
    match installed {
        Ok(words) => {
            disk::write(&start, &words.join("\n"))?;
            Ok(None)
        }
        Err(why) => {
            let why = reason(&why);
            disk::write(&why_not, &why)?;
            Ok(Some(why))
        }
    }
}

/// From the npm registry. Its scripts do not run: it needs none.
fn aimock(place: &Path, version: &str) -> Result<Vec<String>, String> {
    npm_install(place, &format!("@copilotkit/aimock@{version}"))?;
    let program = place.join("node_modules/.bin/llmock");
    Ok(vec!["node".to_owned(), word(&program)])
}

/// From the npm registry: a package that holds one program for this system. Its licence (BSL 1.1) forbids to pass it on.
fn restate(place: &Path, version: &str) -> Result<Vec<String>, String> {
    npm_install(place, &format!("@restatedev/restate-server@{version}"))?;
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let package = format!("@restatedev/restate-server-{system}-{machine}");
    let program = place.join("node_modules").join(package);
    Ok(vec![word(&program.join("bin/restate-server"))])
}

/// Installs a package and what it needs into a folder of its own. No scripts of theirs run.
pub(crate) fn npm_install(place: &Path, package: &str) -> Result<(), String> {
    npm_install_all(place, &[package.to_owned()])
}

/// The same for several at once: one after the other would remove those before.
pub(crate) fn npm_install_all(place: &Path, packages: &[String]) -> Result<(), String> {
    there("node", "--version")?;
    there("npm", "--version")?;
    let mut install = command("npm", &["install", "--prefix"]);
    install.arg(place).args(packages);
    install.args(["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]);
    install.args(["--fetch-retries=1", "--fetch-timeout=60000"]);
    install.env("SCARF_ANALYTICS", "false");
    capture(&mut install)?;
    Ok(())
}

/// From `PyPI`, into an environment of its own; into a plain folder where Python comes without `venv`.
fn llmock(place: &Path, version: &str) -> Result<Vec<String>, String> {
    there("python3", "--version")?;
    let package = format!("llmock=={version}");
    let environment = place.join("venv");
    let made = capture(command("python3", &["-m", "venv"]).arg(&environment));
    if made.is_ok() {
        let bin = environment.join("bin");
        capture(pip(&word(&bin.join("python"))).arg(package))?;
        return Ok(vec![word(&bin.join("llmock"))]);
    }
    let packages = place.join("packages");
    capture(pip("python3").arg("--target").arg(&packages).arg(package))?;
    let path = format!("PYTHONPATH={}", packages.display());
    let program = packages.join("bin/llmock");
    Ok(["env", &path, "python3", &word(&program)]
        .map(str::to_owned)
        .to_vec())
}

/// Playwright and axe, below the folder that the command lists. Playwright brings no browser.
fn playwright(place: &Path, version: &str) -> Result<Vec<String>, String> {
    npm_install_all(
        place,
        &[
            format!("playwright-core@{version}"),
            "axe-core@4.14.1".to_owned(),
        ],
    )?;
    Ok(vec!["ls".to_owned(), word(place)])
}

/// OpenAI's and Anthropic's SDKs for Python. The command is that of the interpreter which has them.
fn sdk_python(place: &Path, _: &str) -> Result<Vec<String>, String> {
    let requirements = root().join(CLIENTS).join("sdk/requirements.txt");
    let python = environment(place)?;
    capture(pip(&python).arg("--requirement").arg(requirements))?;
    Ok(vec![python])
}

/// The SDKs for JavaScript, below the folder that the command lists.
fn sdk_node(place: &Path, _: &str) -> Result<Vec<String>, String> {
    there("node", "--version")?;
    there("npm", "--version")?;
    let manifest = root().join(CLIENTS).join("sdk/package.json");
    fs::copy(&manifest, place.join("package.json"))
        .map_err(|error| format!("{}: {error}", manifest.display()))?;
    let mut install = command("npm", &["install", "--prefix"]);
    install.arg(place);
    install.args(["--ignore-scripts", "--no-audit", "--no-fund"]);
    install.args(["--fetch-retries=1", "--fetch-timeout=60000"]);
    capture(&mut install)?;
    Ok(vec!["ls".to_owned(), word(place)])
}

/// Codex and Claude Code, below the folder that the command lists. Claude Code unpacks its program after it is installed.
fn agents(place: &Path, version: &str) -> Result<Vec<String>, String> {
    there("node", "--version")?;
    there("npm", "--version")?;
    let (codex, claude) = version.split_once('-').ok_or("a version of each")?;
    let mut install = command("npm", &["install", "--prefix"]);
    install.arg(place);
    install.arg(format!("@openai/codex@{codex}"));
    install.arg(format!("@anthropic-ai/claude-code@{claude}"));
    install.args(["--no-audit", "--no-fund", "--no-save"]);
    install.args(["--fetch-retries=1", "--fetch-timeout=120000"]);
    capture(&mut install)?;
    Ok(vec![
        "ls".to_owned(),
        word(&place.join("node_modules/.bin")),
    ])
}

/// The data of the Berkeley Function Calling Leaderboard, which the command lists.
fn bfcl(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let python = environment(place)?;
    let package = format!("bfcl-eval=={version}");
    let data = place.join("data");
    let mut install = pip(&python);
    install
        .args(["--no-deps", "--target"])
        .arg(&data)
        .arg(package);
    capture(&mut install)?;
    Ok(vec!["ls".to_owned(), word(&data.join("bfcl_eval/data"))])
}

/// The reference servers of MCP and its inspector, below the folder that the command lists. Newer inspectors need Node.js 22.
fn mcp_node(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let (servers, inspector) = version.split_once('-').ok_or("a version of each")?;
    let scope = "@modelcontextprotocol";
    let packages = [
        format!("{scope}/server-everything@{servers}"),
        format!("{scope}/server-filesystem@{servers}"),
        format!("{scope}/inspector@{inspector}"),
    ];
    npm_install_all(place, &packages)?;
    Ok(vec!["ls".to_owned(), word(&place.join("node_modules"))])
}

/// The SDK of MCP for Python. The command is that of the interpreter which has it.
fn mcp_python(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let python = environment(place)?;
    capture(pip(&python).arg(format!("mcp=={version}")))?;
    Ok(vec![python])
}

/// The SDK of the Agent Client Protocol for TypeScript, below the folder that the command lists.
fn acp_node(place: &Path, version: &str) -> Result<Vec<String>, String> {
    npm_install_all(
        place,
        &[
            format!("@agentclientprotocol/sdk@{version}"),
            "zod@4.6.7".to_owned(),
        ],
    )?;
    Ok(vec!["ls".to_owned(), word(place)])
}

/// The SDK of the Agent Client Protocol for Python. The command is that of the interpreter which has it.
fn acp_python(place: &Path, version: &str) -> Result<Vec<String>, String> {
    let python = environment(place)?;
    capture(pip(&python).arg(format!("agent-client-protocol=={version}")))?;
    Ok(vec![python])
}

/// An environment of Python in a folder: its interpreter.
pub(crate) fn environment(place: &Path) -> Result<String, String> {
    there("python3", "--version")?;
    let environment = place.join("venv");
    capture(command("python3", &["-m", "venv"]).arg(&environment))?;
    Ok(word(&environment.join("bin/python")))
}

/// `pip install`, without questions.
pub(crate) fn pip(python: &str) -> Command {
    let mut pip = command(python, &["-m", "pip", "install"]);
    pip.args(["--quiet", "--no-input", "--disable-pip-version-check"]);
    pip.args(["--retries", "1", "--timeout", "60"]);
    pip
}

/// Checks that a program is on this machine.
fn there(program: &str, question: &str) -> Result<(), String> {
    let is_there = answers(&mut command(program, &[question]));
    is_there
        .then_some(())
        .ok_or_else(|| format!("{program} is not on this machine"))
}

fn works(words: &[String], question: &str) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    if question.is_empty() {
        return Path::new(program).is_file();
    }
    answers(
        Command::new(program)
            .args(arguments)
            .arg(question)
            .current_dir(root()),
    )
}

/// Returns the reason in the output of a package manager: it begins with that, and ends with advice.
fn reason(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let is_reason = |line: &&str| line.starts_with("npm error") || line.starts_with("ERROR");
    let first = lines.clone().find(is_reason);
    let last = || lines.rfind(|line| !line.is_empty());
    first.or_else(last).unwrap_or("no reason given").to_owned()
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the folder in which cargo builds.
pub(crate) fn target() -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(set.unwrap_or_else(|| PathBuf::from("target")))
}
