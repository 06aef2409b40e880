//! The colour of the terminal's background. The answer to the query comes as keys, so it is picked from them, whenever it comes:
//! nothing waits for it, no key is lost, and it is never typed.

use std::mem;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Asks the terminal for the colour of its background (OSC 11).
pub(super) const QUERY: &str = "\x1b]11;?\x1b\\";
/// The beginnings of answers, after the escape.
const BEGINNINGS: [&str; 2] = ["]11;rgb:", "]11;rgba:"];
/// Keys of an answer at most.
const LONGEST: usize = 40;

/// Picks the answer from the keys.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// Keys that may belong to it.
    held: Vec<Event>,
    text: String,
}

/// Meaning of an event.
#[derive(Debug, PartialEq)]
pub(super) enum Decoded {
    /// A part of an answer, perhaps.
    Held,
    /// Events for the conversation.
    Events(Vec<Event>),
    /// The end of the answer: whether the background is light, if it can be read.
    Background(Option<bool>),
}

impl Listener {
    /// Takes the next event.
    pub(super) fn decode(&mut self, event: Event) -> Decoded {
        let Event::Key(key) = event else {
            return Decoded::Events(vec![event]);
        };
        if key.kind != KeyEventKind::Press {
            return Decoded::Events(vec![event]);
        }
        if ends(key) && BEGINNINGS.iter().any(|it| self.text.starts_with(it)) {
            let text = mem::take(&mut self.text);
            self.held.clear();
            return Decoded::Background(is_light(&text));
        }
        self.held.push(event);
        if let KeyCode::Char(c) = key.code {
            self.text.push(c);
            if self.held.len() < LONGEST && may_be(&self.text) {
                return Decoded::Held;
            }
        }
        self.text.clear();
        Decoded::Events(mem::take(&mut self.held))
    }
}

/// ESC \ or BEL.
fn ends(key: KeyEvent) -> bool {
    let has = |modifier| key.modifiers.contains(modifier);
    let is_escape = key.code == KeyCode::Char('\\') && has(KeyModifiers::ALT);
    is_escape || key.code == KeyCode::Char('g') && has(KeyModifiers::CONTROL)
}

fn may_be(text: &str) -> bool {
    let is_color = |rest: &str| rest.chars().all(|c| c.is_ascii_hexdigit() || c == '/');
    BEGINNINGS.iter().any(|it| {
        let rest = text.strip_prefix(it);
        it.starts_with(text) || rest.is_some_and(is_color)
    })
}

/// Reads `]11;rgb:ffff/ffff/ffff`.
fn is_light(text: &str) -> Option<bool> {
    let (_, color) = text.rsplit_once(':')?;
    let mut parts = color.split('/').map(|part| {
        let value = u64::from(u32::from_str_radix(part, 16).ok()?);
        let largest = (1_u64 << (4 * part.len().min(8))) - 1;
        // In thousandths.
        (value * 1000).checked_div(largest)
    });
    let mut part = || parts.next().flatten();
    let (red, green, blue) = (part()?, part()?, part()?);
    Some(3 * red + 6 * green + blue > 5000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that come to the conversation when these bytes come from the terminal, and whether the background is light.
    #[track_caller]
    fn check(keys: &str, passed: &str, expected: &str) {
        let mut listener = Listener::default();
        let (mut events, mut found) = (Vec::new(), "");
        let (mut modifiers, mut all) = (KeyModifiers::NONE, Vec::new());
        for c in keys.chars() {
            let (code, own) = match c {
                '\u{1b}' => {
                    modifiers = KeyModifiers::ALT;
                    continue;
                }
                '\u{7}' => ('g', KeyModifiers::CONTROL),
                c => (c, mem::replace(&mut modifiers, KeyModifiers::NONE)),
            };
            all.push(Event::Key(KeyEvent::new(KeyCode::Char(code), own)));
        }
        for event in all {
            match listener.decode(event) {
                Decoded::Held => {}
                Decoded::Events(more) => events.extend(more),
                Decoded::Background(Some(true)) => found = "light",
                Decoded::Background(Some(false)) => found = "dark",
                Decoded::Background(None) => found = "unknown",
            }
        }
        let keys_of = |event: &Event| event.as_key_event().and_then(|key| key.code.as_char());
        let texts = events.iter().filter_map(keys_of);
        assert_eq!(texts.collect::<String>(), passed, "{keys:?}");
        assert_eq!(found, expected, "{keys:?}");
    }

    #[test]
    fn the_answer_is_picked_from_the_keys() {
        check("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "", "light");
        check("\x1b]11;rgb:ff/ff/ff\x07", "", "light");
        check("\x1b]11;rgba:fdfd/f6f6/e3e3/ffff\x1b\\", "", "light");
        check("\x1b]11;rgb:0000/2b2b/3636\x1b\\", "", "dark");
        check("hi\x1b]11;rgb:0/0/0\x07 you", "hi you", "dark");
        // The escape may have come before the rest.
        check("]11;rgb:0/0/0\x07", "", "dark");
        // Text that only looks like it.
        check("]x", "]x", "");
        check("]11;rgb:q", "]11;rgb:q", "");
        check("\x1b]1]11;", "]1]11;", "");
        check("a\\", "a\\", "");
        check("]11;rgb:0/0\x07!", "!", "unknown");
        check("]11;rgb:g\x07", "]11;rgb:gg", "");
        let long = format!("]11;rgb:{}", "f".repeat(100));
        check(&long, &long, "");
        check("]11;rgb:ffffffffffffffff/0/0\x07", "", "unknown");
    }
}
