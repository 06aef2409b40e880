//! The binary in a terminal: keys in, the screen as text out.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use rustix::process::{Pid, Signal, kill_process};

use super::GADGETRY;
use super::workshop::{Workshop, without_keys_in};

/// The key that leaves.
pub(crate) const CTRL_D: &str = "\x04";

/// Longer than anything here takes; a test that waits so long has failed.
const FOREVER: Duration = Duration::from_mins(3);

/// A terminal with the binary in it.
pub(crate) struct Screen {
    shown: Arc<Shown>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

struct Shown {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    terminal: vt100::Parser,
    /// All bytes that came.
    bytes: Vec<u8>,
    is_closed: bool,
}

impl State {
    /// Returns whether the last frame has begun and not ended, so that some rows are those of the one before.
    fn is_in_frame(&self) -> bool {
        const MARK: &[u8] = b"\x1b[?2026";
        let mut marks = self.bytes.windows(MARK.len() + 1).rev();
        let last = marks.find(|it| it.starts_with(MARK));
        last.is_some_and(|it| it.ends_with(b"h"))
    }
}

impl Screen {
    /// The binary in the folder of the workshop, with these arguments and variables.
    pub(crate) fn start(
        workshop: &Workshop,
        size: (u16, u16),
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::run(GADGETRY, workshop, size, args, variables)
    }

    fn run(
        program: &str,
        workshop: &Workshop,
        (columns, rows): (u16, u16),
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a terminal");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(workshop.path(""));
        without_keys_in(|variable| command.env_remove(variable));
        command.env("HOME", workshop.path("no-home"));
        command.env("XDG_DATA_HOME", workshop.path(""));
        command.env("XDG_CONFIG_HOME", workshop.path("no-config"));
        command.env("TERM", "xterm-256color");
        for variable in ["NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(variable);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair
            .slave
            .spawn_command(command)
            .expect("the binary starts");
        drop(pair.slave);
        let number = |it| NonZeroU16::new(it).expect("a size");
        let shown = Arc::new(Shown {
            state: Mutex::new(State {
                terminal: vt100::Parser::new(number(rows), number(columns), 10_000),
                bytes: Vec::new(),
                is_closed: false,
            }),
            changed: Condvar::new(),
        });
        let mut output = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keyboard");
        let sink = Arc::clone(&shown);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            loop {
                let read = output.read(&mut piece).unwrap_or(0);
                let mut state = sink.state.lock().expect("the state");
                state.terminal.process(&piece[..read]);
                state.bytes.extend_from_slice(&piece[..read]);
                state.is_closed = read == 0;
                sink.changed.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self {
            shown,
            keys,
            master: pair.master,
            child,
        }
    }

    /// A shell in the folder of the workshop, with job control.
    pub(crate) fn shell(workshop: &Workshop) -> Self {
        let variables = [("PS1", "$ "), ("HISTFILE", "/dev/null")];
        let args = ["--norc", "--noprofile", "-i"];
        Self::run("bash", workshop, (80, 40), &args, &variables)
    }

    /// `gadgetry chat` with the script and the gadgets of the workshop.
    pub(crate) fn chat(workshop: &Workshop, columns: u16, args: &[&str]) -> Self {
        let usual = [
            "chat",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
        ];
        Self::start(workshop, (columns, 40), &[&usual, args].concat(), &[])
    }

    /// Types these bytes.
    pub(crate) fn keys(&mut self, bytes: impl AsRef<[u8]>) {
        self.keys.write_all(bytes.as_ref()).expect("keys are read");
        self.keys.flush().expect("keys are read");
    }

    /// Types a message and Enter.
    pub(crate) fn say(&mut self, text: &str) {
        self.keys(format!("{text}\r"));
    }

    /// Waits until the screen is as wanted, at the end of a frame.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut(&str) -> bool) -> String {
        let deadline = Instant::now() + FOREVER;
        let mut state = self.shown.state.lock().expect("the state");
        loop {
            let text = contents(&state);
            if !state.is_in_frame() && is_so(&text) {
                return text;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !state.is_closed,
                "no {what:?} in:\n{text}"
            );
            let waited = self.shown.changed.wait_timeout(state, left);
            state = waited.expect("the state").0;
        }
    }

    /// Waits until the screen has this text, and returns the screen.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen does not have this text.
    #[track_caller]
    pub(crate) fn hides(&self, text: &str) -> String {
        self.until(&format!("end of {text}"), |screen| !screen.contains(text))
    }

    /// Waits until no run is in progress: a message during one is added to it, and commands wait for its end.
    #[track_caller]
    pub(crate) fn rests(&self) -> String {
        self.hides("Esc interrupts")
    }

    /// Makes the window this wide.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut state = self.shown.state.lock().expect("the state");
        let number = |it| NonZeroU16::new(it).expect("a size");
        state
            .terminal
            .screen_mut()
            .set_size(number(rows), number(columns));
        let resized = self.master.resize(size(columns, rows));
        resized.expect("a new size");
    }

    /// Does what closing the window does.
    pub(crate) fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Ends the binary at once.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let id = self
            .child
            .process_id()
            .and_then(|id| i32::try_from(id).ok());
        let process = id.and_then(Pid::from_raw).expect("a process");
        kill_process(process, signal).expect("a signal");
    }

    /// Waits for the end of the binary; returns its exit code and the last screen.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (u32, String) {
        let code = self.child.wait().expect("it ends").exit_code();
        let deadline = Instant::now() + FOREVER;
        let mut state = self.shown.state.lock().expect("the state");
        while !state.is_closed {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the terminal stays open");
            let waited = self.shown.changed.wait_timeout(state, left);
            state = waited.expect("the state").0;
        }
        (code, contents(&state))
    }

    /// Everything that the terminal got.
    pub(crate) fn bytes(&self) -> String {
        let state = self.shown.state.lock().expect("the state");
        String::from_utf8_lossy(&state.bytes).into_owned()
    }

    /// Leaves when no run is in progress, and returns the last screen.
    #[track_caller]
    pub(crate) fn leave(mut self) -> String {
        self.rests();
        self.keys(CTRL_D);
        let (code, text) = self.ends();
        assert_eq!(code, 0, "{text}");
        text
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

/// The rows of the screen, without blanks at their ends.
fn contents(state: &State) -> String {
    let text = state.terminal.screen().contents();
    let rows: Vec<&str> = text.lines().map(str::trim_end).collect();
    rows.join("\n")
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}
