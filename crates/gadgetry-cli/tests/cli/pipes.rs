//! `gadgetry` between two programs: it answers while its input pauses, and goes quietly when its reader goes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::GADGETRY;

/// A running child: what it writes arrives line by line.
struct Live {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

fn live(args: &[&str]) -> Live {
    let mut child = Command::new(GADGETRY)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    thread::spawn(move || {
        stdout
            .lines()
            .map_while(Result::ok)
            .try_for_each(|l| sender.send(l))
    });
    let stdin = child.stdin.take().expect("a pipe");
    Live {
        child,
        stdin,
        lines,
    }
}

impl Live {
    fn say(&mut self, bytes: &[u8]) {
        self.stdin
            .write_all(bytes)
            .and_then(|()| self.stdin.flush())
            .expect("it listens");
    }

    fn hear(&self) -> Value {
        let line = self
            .lines
            .recv_timeout(Duration::from_mins(5))
            .expect("an answer in time");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Text until it is at least as long as this.
    fn hear_text(&self, expected: &str) {
        let mut text = String::new();
        while text.len() < expected.len() {
            text.push_str(self.hear()["text"].as_str().expect("text"));
        }
        assert_eq!(text, expected);
    }

    fn end(mut self) {
        drop(self.stdin);
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
        assert_eq!(self.lines.recv().ok(), None);
    }
}

#[test]
fn events_come_while_the_input_pauses() {
    let mut live = live(&["parse"]);
    live.say(b"Hello");
    live.hear_text("Hello");
    live.say(b" there.\n!!!GADGET_START:A:a\n");
    live.hear_text(" there.\n");
    assert_eq!(live.hear()["type"], "gadget_call_start");
    live.say(b"!!!GADGET_END");
    assert_eq!(live.hear()["type"], "gadget_call");
    live.end();
}

#[test]
fn characters_may_be_cut_by_reads() {
    let mut live = live(&["parse"]);
    live.say(b"caf\xc3");
    live.hear_text("caf");
    live.say(b"\xa9.");
    live.hear_text("é.");
    live.say(b"x\xf0\x9f\x98");
    live.hear_text("x");
    live.say(b"y\xff\xe2\x82");
    live.hear_text("\u{FFFD}y\u{FFFD}");
    live.say(b"\xac");
    live.hear_text("€");
    live.end();
}

#[test]
fn a_batch_answers_line_by_line() {
    let mut live = live(&["parse", "--batch"]);
    live.say(b"{\"id\":1,\"chunks\":[\"a\"]}\n{\"id\":2,");
    assert_eq!(live.hear()["id"], 1);
    live.say(b"\"chunks\":[]}\n");
    assert_eq!(live.hear()["id"], 2);
    live.end();
}

#[test]
fn blocks_are_written_line_by_line() {
    let mut live = live(&["write", "--jsonl"]);
    live.say(b"{\"gadgetName\":\"A\",\"parameters\":{}}\n");
    assert_eq!(live.hear()["text"], "!!!GADGET_START:A\n!!!GADGET_END\n");
    live.end();
}

#[test]
fn a_broken_pipe_is_no_error() {
    let text = "some text without end\n".repeat(400_000);
    let record = format!("{{\"chunks\":[\"{}\"]}}\n", "a".repeat(1 << 20)).repeat(8);
    let call = "{\"gadgetName\":\"A\",\"parameters\":{\"x\":[1,2,3]}}\n".repeat(100_000);
    let rows: [(&[&str], &str); 5] = [
        (&["parse"], &text),
        (&["parse", "--chunk-size", "3"], &text),
        (&["parse", "--batch"], &record),
        (&["write"], &call),
        (&["--help"], ""),
    ];
    for (args, input) in rows {
        let mut child = Command::new(GADGETRY)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = child.stdout.take().expect("a pipe");
        let output = thread::scope(|scope| {
            scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
            stdout.read_exact(&mut [0; 10]).expect("some output");
            drop(stdout);
            child.wait_with_output().expect("the binary ends")
        });
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_with_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    // A limit stands for a disk that is full: not a byte can be written to a file.
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" --help > file";
    let output = Command::new("sh")
        .args(["-c", limited, GADGETRY])
        .current_dir(&folder)
        .output()
        .expect("the binary ends");
    let stderr = "error: cannot write: File too large (os error 27)\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
    assert_eq!(output.status.code(), Some(1));
}
