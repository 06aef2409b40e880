//! Files that an editor has open, and its terminals.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
#[cfg(target_os = "linux")]
use std::time::Duration;

use gadgetry::GadgetError;
use gadgetry::terminal::{TerminalCommand, TerminalEnd, TerminalRun};
use gadgetry_builtins::{Builtins, Editor, EditorAnswer, Terminal, Workspace};
use serde_json::json;

use crate::stage::Stage;

/// Longer than anything takes on a machine that is busy.
#[cfg(target_os = "linux")]
const LONG: Duration = Duration::from_mins(2);

/// An editor with files open. It leaves out how lines end, and writes what it has opened.
#[derive(Debug, Default)]
struct Open {
    texts: Mutex<BTreeMap<PathBuf, String>>,
    /// Whether it writes other files, too.
    writes_all: bool,
}

impl Editor for Open {
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>> {
        Box::pin(async move { self.texts.lock().unwrap().get(&path).cloned() })
    }

    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool> {
        Box::pin(async move {
            let mut texts = self.texts.lock().unwrap();
            let is_open = self.writes_all || texts.contains_key(&path);
            if is_open {
                texts.insert(path, text);
            }
            is_open
        })
    }
}

#[tokio::test]
async fn files_are_read_and_written_as_the_editor_has_them() {
    let editor = Arc::new(Open::default());
    let stage = Stage::with(|builtins| {
        let root = builtins.workspace().root().to_owned();
        let workspace = Workspace::open(root).unwrap().with_editor(editor.clone());
        Builtins::of(Arc::new(workspace))
    });
    let root = stage.work().canonicalize().unwrap();
    let open = |path: &str, text: &str| {
        let mut texts = editor.texts.lock().unwrap();
        texts.insert(root.join(path), text.to_owned());
    };
    let in_editor = |path: &str| editor.texts.lock().unwrap().get(&root.join(path)).cloned();
    let check = async |name, parameters, expected| stage.check(name, parameters, expected).await;
    open("a.txt", "one\nunsaved\nthree\n");
    check(
        "ReadFile",
        json!({ "filePath": "a.txt" }),
        Ok("path=a.txt\n\none\nunsaved\nthree\n"),
    )
    .await;
    check(
        "ReadFile",
        json!({ "filePath": "a.txt", "startLine": 2, "endLine": 2 }),
        Ok("path=a.txt lines=2-2\n\nunsaved\n"),
    )
    .await;
    let edit = json!({ "filePath": "a.txt", "search": "unsaved", "replace": "edited" });
    let edited = stage.call("EditFile", edit).await.unwrap();
    assert!(edited.contains("-unsaved\n+edited\n"), "{edited}");
    assert_eq!(in_editor("a.txt").as_deref(), Some("one\nedited\nthree\n"));
    // The editor saves when it likes.
    assert_eq!(stage.content("a.txt"), "one\ntwo\nthree\n");
    let undone = stage.builtins.workspace().undo().unwrap().unwrap();
    assert_eq!(undone.path.to_string(), "a.txt");
    assert_eq!(in_editor("a.txt").as_deref(), Some("one\nunsaved\nthree\n"));
    // Files that it does not have open are on disk.
    let write = json!({ "filePath": "new/b.txt", "content": "b" });
    check(
        "WriteFile",
        write,
        Ok("path=new/b.txt\n\nWrote 1 byte (new file)"),
    )
    .await;
    assert_eq!(stage.content("new/b.txt"), "b");
    fs::write(stage.work().join("crlf.txt"), "a\r\nb\r\n").unwrap();
    open("crlf.txt", "a\nb\n");
    check(
        "ReadFile",
        json!({ "filePath": "crlf.txt" }),
        Ok("path=crlf.txt\n\na\r\nb\r\n"),
    )
    .await;
}

/// What the editor would do, it is not asked for outside of the workspace, nor for the files of Git.
#[tokio::test]
async fn an_editor_leads_nowhere_else() {
    let editor = Arc::new(Open {
        writes_all: true,
        ..Open::default()
    });
    let stage = Stage::with(|builtins| {
        let root = builtins.workspace().root().to_owned();
        let workspace = Workspace::open(root).unwrap().with_editor(editor.clone());
        Builtins::of(Arc::new(workspace))
    });
    let secret = stage.outside().join("secret.txt").canonicalize().unwrap();
    editor
        .texts
        .lock()
        .unwrap()
        .insert(secret, "of the editor".to_owned());
    #[cfg(unix)]
    std::os::unix::fs::symlink(stage.outside(), stage.work().join("link")).unwrap();
    for path in [
        "../outside/secret.txt",
        "link/secret.txt",
        ".git/hooks/pre-commit",
        "nested/.git/config",
    ] {
        let write = json!({ "filePath": path, "content": "x" });
        assert!(stage.call("WriteFile", write).await.is_err(), "{path}");
        let read = stage.call("ReadFile", json!({ "filePath": path })).await;
        assert!(read.is_err(), "{path}: {read:?}");
    }
    assert_eq!(editor.texts.lock().unwrap().len(), 1);
    let write = json!({ "filePath": "in/it.txt", "content": "x" });
    stage.call("WriteFile", write).await.unwrap();
    assert_eq!(editor.texts.lock().unwrap().len(), 2);
}

/// An editor with terminals, which counts the commands.
#[derive(Debug, Default)]
struct WithTerminals {
    commands: AtomicUsize,
    /// What it does before it starts one.
    before: Mutex<Option<fn(&Path)>>,
    /// Whether it starts none, and keeps what it does not start.
    is_refused: Mutex<bool>,
    last: Mutex<Option<TerminalCommand>>,
}

impl Editor for WithTerminals {
    fn read(&self, _: PathBuf) -> EditorAnswer<'_, Option<String>> {
        Box::pin(async { None })
    }

    fn write(&self, _: PathBuf, _: String) -> EditorAnswer<'_, bool> {
        Box::pin(async { false })
    }

    fn terminal(&self) -> Option<&dyn Terminal> {
        Some(self)
    }
}

impl Terminal for WithTerminals {
    fn run(
        &self,
        _: String,
        command: TerminalCommand,
    ) -> EditorAnswer<'_, Result<TerminalRun, GadgetError>> {
        Box::pin(async move {
            self.commands.fetch_add(1, Ordering::Relaxed);
            if let Some(before) = self.before.lock().unwrap().take() {
                before(&command.folder);
            }
            if *self.is_refused.lock().unwrap() {
                *self.last.lock().unwrap() = Some(command);
                return Err("the editor has not started it".into());
            }
            match command.arguments.last().map(String::as_str) {
                Some("refused") => return Err("the editor has not started it".into()),
                Some("long") => {
                    let output = "x".repeat(2 * command.output);
                    let end = TerminalEnd::TimedOut;
                    return Ok(TerminalRun { output, end });
                }
                _ => {}
            }
            let ran = tokio::process::Command::new(command.program)
                .args(command.arguments)
                .current_dir(command.folder)
                .env("TEST_API_KEY", "12345")
                .env("HIDDEN", "6")
                .env("OPEN_API_KEY", "7")
                .output();
            let ran = ran.await.unwrap();
            let mut output = String::from_utf8(ran.stdout).unwrap();
            output += &String::from_utf8(ran.stderr).unwrap();
            let end = match ran.status.code() {
                Some(code) => TerminalEnd::Exited(u32::try_from(code).unwrap()),
                None => TerminalEnd::Killed(ran.status.to_string()),
            };
            Ok(TerminalRun { output, end })
        })
    }
}

fn with_terminals(editor: &Arc<WithTerminals>, is_sandboxed: bool) -> Stage {
    Stage::with(|builtins| {
        let root = builtins.workspace().root().to_owned();
        let workspace = Workspace::open(root).unwrap().with_editor(editor.clone());
        Builtins::of(Arc::new(workspace))
            .sandbox(is_sandboxed)
            .without_env(["HIDDEN"])
            .env(["OPEN_API_KEY"])
    })
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn commands_without_a_sandbox_run_in_terminals() {
    let editor = Arc::new(WithTerminals::default());
    let stage = with_terminals(&editor, false);
    let run = async |line: &str| {
        let parameters = json!({ "command": line, "cwd": "src", "timeout": 7000 });
        stage.call("RunCommand", parameters).await
    };
    let check = async |line: &str, report: &str| {
        assert_eq!(run(line).await.unwrap(), report, "{line}");
    };
    check("exit 3", "status=3\n\n(no output)\n").await;
    let colours = r"printf '10%%\r\033[32mgreen\033[0m\n'";
    check(colours, "status=0\n\n10%\rgreen\n").await;
    check(
        "kill -9 $$",
        "status=killed (signal: 9 (SIGKILL))\n\n(no output)\n",
    )
    .await;
    // The environment of the editor, without secrets.
    let variables = "echo $TEST_API_KEY,$HIDDEN,$OPEN_API_KEY";
    check(variables, "status=0\n\n,,7\n").await;
    // It reads nothing, and what it leaves ends with it: otherwise the end of its output would not come.
    check("cat; setsid sleep 1000 & echo up", "status=0\n\nup\n").await;
    let folder = stage.work().canonicalize().unwrap().join("src");
    check("pwd", &format!("status=0\n\n{}\n", folder.display())).await;
    let refused = run("refused").await.unwrap_err();
    assert_eq!(refused, "the editor has not started it");
    let long = run("long").await.unwrap();
    assert!(long.starts_with("status=timeout (ended after 7000 ms)\n\nxxx"));
    assert!(long.len() < 65 << 10, "{}", long.len());
    // Another folder takes the place of the one that was approved.
    *editor.before.lock().unwrap() = Some(|folder| {
        fs::rename(folder, folder.with_extension("before")).unwrap();
        fs::create_dir(folder).unwrap();
    });
    let words = "the command has not run: its folder is another one than the one that was approved";
    check("touch made", &format!("status=126\n\n{words}\n")).await;
    assert!(!folder.join("made").exists());
}

/// The arguments of the program that an editor would start for this line.
#[cfg(target_os = "linux")]
async fn started(stage: &Stage, editor: &WithTerminals, line: &str) -> TerminalCommand {
    *editor.is_refused.lock().unwrap() = true;
    let ran = stage.call("RunCommand", json!({ "command": line })).await;
    assert!(ran.is_err(), "{ran:?}");
    editor.last.lock().unwrap().take().unwrap()
}

/// A program in a terminal ends everything that it has started, whatever ends it, and does not start for an agent that has ended.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_outlives_a_program_in_a_terminal() {
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
    use tokio::process::{Child, Command};

    let editor = Arc::new(WithTerminals::default());
    let stage = with_terminals(&editor, false);
    let line = "setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & echo up; sleep 1000";
    let command = started(&stage, &editor, line).await;
    let check = async |change: &dyn Fn(&mut Vec<String>), end: &dyn Fn(&mut Child)| {
        let mut arguments = command.arguments.clone();
        change(&mut arguments);
        let mut program = Command::new(&command.program)
            .args(&arguments)
            .current_dir(&command.folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(program.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).await.unwrap();
        assert_eq!(first, "up\n", "{arguments:?}");
        end(&mut program);
        // Its end comes when no process holds it open any more.
        let rest = tokio::time::timeout(LONG, output.read_to_string(&mut first));
        rest.await.expect("all have ended").unwrap();
        program.wait().await.unwrap();
    };
    let signal = |name: &'static str| {
        move |program: &mut Child| {
            let pid = program.id().unwrap().to_string();
            let sent = std::process::Command::new("kill")
                .args([name, &pid])
                .status();
            assert!(sent.unwrap().success());
        }
    };
    for name in ["-TERM", "-HUP", "-INT", "-KILL", "-QUIT", "-USR1"] {
        check(&|_| {}, &signal(name)).await;
    }
    // Nobody ends it in time.
    check(&|arguments| "300".clone_into(&mut arguments[3]), &|_| {}).await;
    // The agent ends.
    let agent = || {
        std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap()
    };
    let named = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19);
        format!("{pid}:{}", start.unwrap())
    };
    let running = Mutex::new(agent());
    let name = named(running.lock().unwrap().id());
    let end = |_: &mut Child| running.lock().unwrap().kill().unwrap();
    check(&|arguments| arguments[2].clone_from(&name), &end).await;
    running.lock().unwrap().wait().unwrap();
    for gone in [&*name, &format!("{}:1", std::process::id()), "1", ""] {
        let mut arguments = command.arguments.clone();
        gone.clone_into(&mut arguments[2]);
        let program = Command::new(&command.program)
            .args(&arguments)
            .current_dir(&command.folder)
            .output();
        let ended = program.await.unwrap();
        assert_eq!(
            (ended.status.code(), &*ended.stdout),
            (Some(126), &[][..]),
            "{gone}"
        );
    }
}

/// In the sandbox, they are processes of ours.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn commands_in_the_sandbox_run_in_no_terminal() {
    let editor = Arc::new(WithTerminals::default());
    let stage = with_terminals(&editor, true);
    let ran = stage
        .call("RunCommand", json!({ "command": "echo hello" }))
        .await;
    assert!(ran.unwrap().contains("hello"));
    assert_eq!(editor.commands.load(Ordering::Relaxed), 0);
}
