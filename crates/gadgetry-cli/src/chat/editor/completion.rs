//! Completions of the word before the cursor: slash commands with their arguments, and files after `@`.

use std::cmp::Reverse;

use ratatui_core::text::{Line, Span};

use super::names::Names;
use crate::chat::commands::COMMANDS;
use crate::chat::text::{BOLD, DIM, clean, width};

/// Completions that are offered.
const MOST: usize = 50;
/// Completions that are looked for: one more, which shows whether there are more.
pub(super) const SOUGHT: usize = MOST + 1;
/// Columns of their names, so that notes are in one column.
const WIDEST: usize = 24;

/// The word before the cursor, if it can be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// The beginning of a slash command, with the slash.
    Command(&'a str),
    /// A slash command, and the beginning of its argument.
    Argument(&'a str, &'a str),
    /// Text that follows an `@`.
    File(&'a str),
}

impl<'a> Word<'a> {
    /// The word at the end of `before`, the line up to the cursor.
    pub(super) fn of(before: &'a str, is_first_line: bool) -> Option<Self> {
        let word = before.rsplit([' ', '\t']).next()?;
        if let Some(path) = word.strip_prefix('@') {
            return Some(Self::File(path));
        }
        if !is_first_line || !before.starts_with('/') {
            return None;
        }
        match before.split_once([' ', '\t']) {
            None => Some(Self::Command(before)),
            Some((command, argument)) if argument.trim_start() == word => {
                Some(Self::Argument(command, word))
            }
            // Words of a title.
            Some((command @ "/resume", argument)) => {
                Some(Self::Argument(command, argument.trim_start()))
            }
            Some(_) => None,
        }
    }
}

/// The completions, and which one is selected.
#[derive(Debug)]
pub(super) struct Menu {
    word: String,
    entries: Vec<Entry>,
    /// Whether more would match.
    is_cut: bool,
    selected: usize,
    /// Whether Enter completes the word although no completion was chosen: what names one of many things may be complete.
    is_strict: bool,
    /// Whether the user has moved to a completion.
    is_chosen: bool,
}

#[derive(Debug)]
struct Entry {
    text: String,
    note: String,
}

impl Menu {
    pub(super) fn of_commands(word: &str, names: &Names) -> Option<Self> {
        let own = COMMANDS.iter().map(|it| (it.name, it.summary));
        let named = names.named.iter().map(|(name, what)| (&**name, &**what));
        let matching = own.chain(named).filter(|(name, _)| name.starts_with(word));
        let entries = matching.map(|(name, what)| Entry {
            text: name.to_owned(),
            note: what.to_owned(),
        });
        Self::of(word, entries.take(SOUGHT).collect())
    }

    /// The names that a command takes.
    pub(super) fn of_argument(command: &str, word: &str, names: &Names) -> Option<Self> {
        let noted = |names: &[String], note: &str| -> Vec<(String, String)> {
            let named = names.iter().map(|name| (name.clone(), note.to_owned()));
            named.collect()
        };
        let mut entries = match command {
            "/model" => ranked(word, &noted(&names.models, ""), true),
            "/profile" => ranked(word, &names.profiles, true),
            "/skill" => ranked(word, &names.skills, true),
            // In the order of time.
            "/resume" => {
                let mut entries = ranked(word, &names.sessions, false);
                let wanted = word.to_lowercase();
                let by_title = names.sessions.iter().filter(|(name, title)| {
                    let is_new = entries.iter().all(|it| it.text != *name);
                    is_new && title.to_lowercase().contains(&wanted)
                });
                let by_title: Vec<Entry> = by_title
                    .map(|(name, title)| Entry {
                        text: name.clone(),
                        note: title.clone(),
                    })
                    .collect();
                entries.extend(by_title);
                entries
            }
            _ => return None,
        };
        if command == "/model" && !word.is_empty() {
            let others = noted(&names.other_models, "no key is set");
            entries.extend(ranked(word, &others, true));
        }
        let mut menu = Self::of(word, entries)?;
        menu.is_strict = false;
        Some(menu)
    }

    /// The files that match the word, the best ones first.
    pub(super) fn of_files<'f>(word: &str, files: impl Iterator<Item = &'f str>) -> Option<Self> {
        let entries = files.map(|file| Entry {
            text: file.to_owned(),
            note: String::new(),
        });
        Self::of(word, entries.collect())
    }

    fn of(word: &str, mut entries: Vec<Entry>) -> Option<Self> {
        let is_cut = entries.len() > MOST;
        entries.truncate(MOST);
        (!entries.is_empty()).then(|| Self {
            word: word.to_owned(),
            entries,
            is_cut,
            selected: 0,
            is_strict: true,
            is_chosen: false,
        })
    }

    /// The word that is completed.
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// The selected completion.
    pub(super) fn selected(&self) -> &str {
        self.entries.get(self.selected).map_or("", |it| &it.text)
    }

    /// Returns whether the user has moved to a completion, so that the others must not move any more.
    pub(super) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// Returns whether Enter completes the word, and does not send the text: not if it is written in full.
    pub(super) fn completes_on_enter(&self) -> bool {
        (self.is_strict || self.is_chosen) && self.selected() != self.word
    }

    /// Lets Enter complete the word.
    pub(super) fn be_strict(&mut self) {
        self.is_strict = true;
    }

    pub(super) fn select_next(&mut self) {
        self.is_chosen = true;
        self.selected = (self.selected + 1) % self.entries.len();
    }

    pub(super) fn select_previous(&mut self) {
        self.is_chosen = true;
        self.selected = self
            .selected
            .checked_sub(1)
            .unwrap_or(self.entries.len() - 1);
    }

    /// The entries around the selected one, with their notes in a column, and how many more there are.
    pub(super) fn rows(&self, height: usize) -> Vec<Line<'static>> {
        let count = self.entries.len();
        let shown = if count > height && height > 1 {
            height - 1
        } else {
            height
        };
        let first = (self.selected + 1).saturating_sub(shown);
        let entries = self.entries.iter().enumerate().skip(first).take(shown);
        let widths = entries.clone().map(|(_, entry)| width(&clean(&entry.text)));
        let widest = widths.max().unwrap_or_default().min(WIDEST);
        let row = |(index, entry): (usize, &Entry)| {
            let style = if index == self.selected { BOLD } else { DIM };
            let mark = if index == self.selected { "› " } else { "  " };
            let name = clean(&entry.text);
            let pad = " ".repeat(widest.saturating_sub(width(&name)));
            Line::from(vec![
                Span::styled(format!("{mark}{name}"), style),
                Span::styled(format!("{pad}  {}", clean(&entry.note)), DIM),
            ])
        };
        let mut rows: Vec<_> = entries.map(row).collect();
        if shown < height {
            let best = if self.is_cut { "the best " } else { "" };
            let more = format!(
                "  {} of {best}{count}; Up and Down select",
                self.selected + 1
            );
            rows.push(Line::styled(more, DIM));
        }
        rows
    }
}

/// Returns the matching names, the best ones first. Those that match as well are in order of length, or stay as they are.
fn ranked(word: &str, all: &[(String, String)], by_length: bool) -> Vec<Entry> {
    let (wanted, mut lowercase) = (word.to_lowercase(), String::new());
    let ranked = all
        .iter()
        .filter_map(|(name, note)| Some((rank(&wanted, name, &mut lowercase)?, name, note)));
    let mut ranked: Vec<_> = ranked.collect();
    if by_length {
        ranked.sort_by_key(|(_, name, _)| (name.len(), *name));
    }
    ranked.sort_by_key(|(rank, ..)| Reverse(*rank));
    let entries = ranked
        .into_iter()
        .take(SOUGHT)
        .map(|(_, name, note)| Entry {
            text: name.clone(),
            note: note.clone(),
        });
    entries.collect()
}

/// Ranks the match of a file: by the beginning of its name, by a part of its path, or by letters in order. `lowercase` is memory that
/// calls share.
pub(super) fn rank(wanted: &str, file: &str, lowercase: &mut String) -> Option<u8> {
    lowercase.clear();
    if file.is_ascii() {
        lowercase.push_str(file);
        lowercase.make_ascii_lowercase();
    } else {
        lowercase.push_str(&file.to_lowercase());
    }
    let file = &**lowercase;
    let path = file.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with(wanted) || path.starts_with(wanted) {
        Some(2)
    } else if file.contains(wanted) {
        Some(1)
    } else {
        let mut letters = file.chars();
        wanted
            .chars()
            .all(|c| letters.any(|it| it == c))
            .then_some(0)
    }
}
