//! The terminal: keys in, frames out. Raw mode ends however the program ends.

use std::collections::VecDeque;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
    EventStream, KeyCode, KeyEvent, KeyModifiers, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::{event, execute, terminal};
use futures_util::StreamExt as _;
use gadgetry::proto::visible::{visible, visible_line};
use ratatui_core::text::Line;
use tokio::time::Instant;

use super::background::{self, Decoded, Listener};
use super::screen::{Colors, Region, View};
use crate::cli::Theme;

/// The size that is assumed if the terminal has none.
const USUAL: (u16, u16) = (80, 24);

/// Time to wait for what was typed at once. Without any, crossterm reads nothing.
const AT_ONCE: Duration = Duration::from_millis(1);
/// Bytes of one [`Input::Text`], about.
const LONGEST_TEXT: usize = 16 << 10;
/// Maximum time to read it, in which nothing else happens.
const LONGEST_BURST: Duration = Duration::from_millis(50);

/// The words of a panic, until raw mode has ended.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Returns whether there is a terminal that can repaint rows.
pub(super) fn is_capable() -> bool {
    let is_dumb = env::var_os("TERM").is_some_and(|it| it == "dumb" || it.is_empty())
        || cfg!(unix) && env::var_os("TERM").is_none();
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// Returns the colours that the environment names, if it names some.
pub(super) fn colors() -> Option<Colors> {
    let variable = |name| env::var(name).ok();
    let (no_color, background) = (variable("NO_COLOR"), variable("COLORFGBG"));
    let colors = Colors::of(no_color.as_deref(), background.as_deref());
    (background.is_some() || colors == Colors::None).then_some(colors)
}

/// Input from the terminal.
pub(super) enum Input {
    /// Characters, as many as were typed at once, and when the first one came: text of many keys is laid out once, and not after each.
    Text(String, Instant),
    /// Another key, a paste, or a change of the size.
    Event(Event),
}

/// The terminal in raw mode. Dropping it erases the live rows and leaves raw mode.
pub(super) struct Terminal {
    region: Region,
    events: EventStream,
    /// Events that were read, and not taken yet.
    read: VecDeque<io::Result<Event>>,
    /// Picks the colour of the background from the keys, until it is known.
    listener: Option<Listener>,
}

impl Terminal {
    /// Enters raw mode.
    pub(super) fn enter(theme: Theme) -> io::Result<Self> {
        raw_mode()?;
        let read = typed_before();
        // Printed in raw mode, the words of a panic would be all over the screen.
        panic::set_hook(Box::new(|info| {
            let mut words = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
            *words = Some(info.to_string());
        }));
        // Of the terminals in use, only these cut rows that are too wide.
        let is_console = env::var_os("TERM").is_some_and(|it| it == "linux");
        let colors = match theme {
            Theme::Auto => colors().unwrap_or(Colors::Dark),
            Theme::Light => Colors::Light,
            Theme::Dark => Colors::Dark,
            Theme::None => Colors::None,
        };
        let is_asked = theme == Theme::Auto && colors != Colors::None && !is_console;
        if is_asked {
            write(background::QUERY)?;
        }
        let reflows = env::var_os("XTERM_VERSION").is_none() && !is_console;
        Ok(Self {
            region: Region::new(colors, reflows),
            events: EventStream::new(),
            read,
            listener: is_asked.then(Listener::default),
        })
    }

    /// Columns and rows.
    pub(super) fn size() -> (u16, u16) {
        let size = terminal::size().ok();
        size.filter(|(columns, rows)| *columns > 0 && *rows > 0)
            .unwrap_or(USUAL)
    }

    /// Waits for input; `None` at its end.
    ///
    /// Cancel safe: nothing that was read is lost.
    pub(super) async fn next(&mut self) -> Option<io::Result<Input>> {
        while self.read.is_empty() {
            let event = self.events.next().await?;
            self.receive(event);
        }
        let event = self.read.pop_front()?;
        let Some(first) = event.as_ref().ok().and_then(character) else {
            return Some(event.map(Input::Event));
        };
        let (mut text, since) = (String::from(first), Instant::now());
        while text.len() < LONGEST_TEXT
            && since.elapsed() < LONGEST_BURST
            && let Some(event) = self.read_at_once()
        {
            if let Some(c) = event.as_ref().ok().and_then(character) {
                text.push(c);
            } else {
                self.read.push_front(event);
                break;
            }
        }
        Some(Ok(Input::Text(text, since)))
    }

    /// Returns the next event, if it is there.
    fn read_at_once(&mut self) -> Option<io::Result<Event>> {
        while self.read.is_empty() && matches!(event::poll(AT_ONCE), Ok(true)) {
            self.receive(event::read());
        }
        self.read.pop_front()
    }

    /// Adds an event to those that were read, unless it belongs to the answer about the background.
    fn receive(&mut self, event: io::Result<Event>) {
        let (event, listener) = match (event, &mut self.listener) {
            (Ok(event), Some(listener)) => (event, listener),
            (event, _) => return self.read.push_back(event),
        };
        match listener.decode(event) {
            Decoded::Held => {}
            Decoded::Events(events) => self.read.extend(events.into_iter().map(Ok)),
            Decoded::Background(is_light) => {
                self.listener = None;
                if let Some(is_light) = is_light {
                    self.region.use_background(is_light);
                    // Everything is painted again.
                    let (columns, rows) = Self::size();
                    self.read.push_back(Ok(Event::Resize(columns, rows)));
                }
            }
        }
    }

    /// Prints the settled lines, and the live rows below.
    pub(super) fn paint(&mut self, settled: &[Line<'_>], view: View) -> io::Result<()> {
        let (columns, _) = Self::size();
        let uncovered = self.region.uncover();
        let frame = self.region.paint(columns, settled, view);
        write(&format!("{uncovered}{frame}"))
    }

    /// Covers the screen with these rows, until something is painted.
    pub(super) fn overlay(&mut self, view: View) -> io::Result<()> {
        write(&self.region.overlay(view))
    }

    /// Gives a text to the clipboard, if the terminal allows it (OSC 52).
    pub(super) fn copy(text: &str) -> io::Result<()> {
        let text = BASE64_STANDARD.encode(text);
        write(&format!("\x1b]52;c;{text}\x1b\\"))
    }

    /// Says that the conversation waits for the user: a notification (OSC 9), and the bell.
    pub(super) fn notify(words: &str) -> io::Result<()> {
        write(&format!(
            "\x1b]9;gadgetry: {}\x1b\\\x07",
            visible_line(words)
        ))
    }

    /// Stops the process until the user continues it.
    #[cfg(unix)]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        use rustix::process::{Signal, kill_current_process_group};

        self.erase()?;
        cooked_mode()?;
        kill_current_process_group(Signal::TSTP)?;
        raw_mode()
    }

    /// There is nothing to suspend to.
    #[cfg(not(unix))]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn erase(&mut self) -> io::Result<()> {
        let (columns, _) = Self::size();
        let uncovered = self.region.uncover();
        let frame = self.region.erase(columns);
        write(&format!("{uncovered}{frame}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = self.erase();
        let _ = cooked_mode();
        let _ = panic::take_hook();
        if thread::panicking() {
            let words = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            let words = words.unwrap_or_default();
            let _ = writeln!(io::stderr(), "{}", visible(&words));
        }
    }
}

fn write(frame: &str) -> io::Result<()> {
    if frame.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(frame.as_bytes())?;
    stdout.flush()
}

/// Reads what was typed before raw mode. The terminal has made Ctrl-J of each Enter.
fn typed_before() -> VecDeque<io::Result<Event>> {
    const LINE_BREAK: KeyEvent = KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL);
    let mut read = VecDeque::new();
    while let Ok(true) = event::poll(10 * AT_ONCE)
        && let Ok(event) = event::read()
    {
        let is_enter = event == Event::Key(LINE_BREAK);
        let enter = Event::Key(KeyCode::Enter.into());
        read.push_back(Ok(if is_enter { enter } else { event }));
    }
    read
}

/// The character that the event types.
fn character(event: &Event) -> Option<char> {
    let key = event.as_key_press_event()?;
    let is_command = !(key.modifiers - KeyModifiers::SHIFT).is_empty();
    key.code.as_char().filter(|_| !is_command)
}

fn raw_mode() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    // Terminals that do not know the flags ignore them.
    let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        io::stdout(),
        EnableBracketedPaste,
        EnableFocusChange,
        PushKeyboardEnhancementFlags(flags)
    )
}

fn cooked_mode() -> io::Result<()> {
    let left = execute!(
        io::stdout(),
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste
    );
    terminal::disable_raw_mode().and(left)
}
