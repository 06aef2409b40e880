//! The input line: several lines of text, pastes, history and completion.

mod completion;
mod files;
mod history;
mod names;
mod pastes;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use gadgetry::proto::visible::without_invisible;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget as _;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use crate::chat::text::{DIM, NAME, cut, width};

use completion::{Menu, Word};
use files::Files;
use history::Search;
pub(crate) use history::{History, is_kept};
pub(crate) use names::Names;
use pastes::Pastes;
pub(crate) use pastes::Typed;

/// Before the first row of the text; rows after it are indented as much.
const PROMPT: &str = "> ";
/// Bytes of the text, pastes included.
pub(crate) const LONGEST: usize = 4 << 20;
/// Characters of the visible text, in which a paste counts as its label.
const LONGEST_VISIBLE: usize = 64 << 10;

/// The input line.
#[derive(Debug)]
pub(crate) struct Editor {
    area: TextArea<'static>,
    pastes: Pastes,
    history: History,
    menu: Option<Menu>,
    search: Option<Search>,
    /// The files that `@` completes; `None` until they were requested.
    files: Option<Files>,
    /// Whether files that arrive may open the completions.
    awaits_files: bool,
    /// Names that complete the arguments of commands.
    names: Names,
    /// The command whose names were requested last, while its argument is typed.
    named: String,
    /// Whether names that arrive may open the completions.
    awaits_names: bool,
    /// The command that a picker began with, which the user has not typed.
    picker: Option<String>,
}

/// Result of a key on the input line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// Nothing that concerns others.
    Nothing,
    /// The text is to be sent.
    Submit,
    /// The files of the working directory are needed.
    NeedsFiles,
    /// The files in [`Editor::folder`] are needed first.
    NeedsFolder,
    /// The models that can be used are needed.
    NeedsModels,
    /// The sessions of this folder are needed.
    NeedsSessions,
    /// The text is too long for more.
    Full,
}

impl Editor {
    /// Empty, with the texts that were sent before.
    pub(crate) fn new(history: History) -> Self {
        Self {
            area: area(""),
            pastes: Pastes::default(),
            history,
            menu: None,
            search: None,
            files: None,
            awaits_files: false,
            names: Names::default(),
            named: String::new(),
            awaits_names: false,
            picker: None,
        }
    }

    /// Returns whether there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns whether there is nothing to send.
    pub(crate) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Returns whether completions or a search are open, which Esc closes.
    pub(crate) fn has_popup(&self) -> bool {
        self.menu.is_some() || self.search.is_some()
    }

    /// Takes the text, and adds it to the history.
    pub(crate) fn take(&mut self) -> Typed {
        let text = self.typed();
        self.clear();
        self.history.add(&text);
        text
    }

    /// Takes the text, with pastes in full, without adding it to the history.
    pub(crate) fn take_answer(&mut self) -> String {
        let text = self.typed().full();
        self.clear();
        text
    }

    /// Removes the text.
    pub(crate) fn clear(&mut self) {
        self.set(Typed::default());
        self.history.leave();
    }

    /// Shows a text to change and to send, unless there is one. For a slash command, its completions are open as a picker, which Esc
    /// closes with the command.
    pub(crate) fn propose(&mut self, text: &str) {
        if self.is_empty() {
            self.set(self.history.typed(&without_invisible(text)));
            if text.starts_with('/') {
                let is_command = text.find(char::is_whitespace) == Some(text.len() - 1);
                self.picker = is_command.then(|| text.to_owned());
                self.complete();
            }
        }
    }

    /// Puts a message that was taken back before the text, which is a later one.
    pub(crate) fn take_back(&mut self, message: &str) {
        if self.is_empty() {
            self.propose(message);
        } else {
            let both = format!("{message}\n{}", self.typed().full());
            self.set(self.history.typed(&without_invisible(&both)));
        }
    }

    /// Adds pasted text: as it is, or as a label if it is long. Fails if it is too long.
    pub(crate) fn paste(&mut self, text: &str) -> Edited {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = without_invisible(&text);
        if self.pastes.bytes() + text.len() > LONGEST {
            return Edited::Full;
        }
        self.search = None;
        let inserted = self.pastes.label(&text);
        if self.length() + inserted.len() > LONGEST_VISIBLE {
            return Edited::Full;
        }
        self.area.insert_str(&inserted);
        self.complete()
    }

    /// Gives what completes the arguments of commands.
    pub(crate) fn set_names(&mut self, names: Names) {
        self.names = names;
        let is_chosen = self.menu.as_ref().is_some_and(Menu::is_chosen);
        if self.awaits_names && !is_chosen {
            self.complete();
        }
    }

    /// Gives more files of the working directory.
    pub(crate) fn add_files(&mut self, names: Vec<String>) {
        let Some(files) = &mut self.files else {
            return;
        };
        files.add(names);
        let is_chosen = self.menu.as_ref().is_some_and(Menu::is_chosen);
        if self.awaits_files && !is_chosen {
            self.complete();
        }
    }

    /// Returns the folder that the word before the cursor names; empty for the working directory itself.
    pub(crate) fn folder(&self) -> &str {
        match Word::of(self.before_cursor(), self.is_on_row(0)) {
            Some(Word::File(word)) => files::folder(word),
            Some(Word::Command(_) | Word::Argument(..)) | None => "",
        }
    }

    /// Adds typed characters, as many as there is room for.
    pub(crate) fn text(&mut self, text: &str) -> Edited {
        if let Some(search) = &mut self.search {
            text.chars().for_each(|c| search.add(c));
            return Edited::Nothing;
        }
        let room = LONGEST_VISIBLE.saturating_sub(self.length());
        let fits = text.floor_char_boundary(room);
        self.area.insert_str(&text[..fits]);
        let edited = self.complete();
        if fits < text.len() {
            Edited::Full
        } else {
            edited
        }
    }

    /// Handles a key.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    pub(crate) fn key(&mut self, key: KeyEvent) -> Edited {
        if self.search.is_some() {
            return self.search_key(key);
        }
        // In a picker, Enter is the choice, and not only its words.
        let picks = key.code == KeyCode::Enter && key.modifiers.is_empty() && self.is_picker();
        if self.menu.is_some() && self.menu_key(key) {
            return if picks {
                Edited::Submit
            } else {
                Edited::Nothing
            };
        }
        let has = |modifier| key.modifiers.contains(modifier);
        match key.code {
            KeyCode::Enter if has(KeyModifiers::ALT) || has(KeyModifiers::SHIFT) => {
                self.line_break();
            }
            KeyCode::Char('j') if has(KeyModifiers::CONTROL) => self.line_break(),
            KeyCode::Enter if self.before_cursor().ends_with('\\') => {
                self.area.delete_char();
                self.line_break();
            }
            KeyCode::Enter => {
                self.menu = None;
                return Edited::Submit;
            }
            KeyCode::Char('r') if has(KeyModifiers::CONTROL) => {
                self.menu = None;
                self.search = Some(Search::default());
                return Edited::Nothing;
            }
            KeyCode::Up if self.is_on_row(0) => {
                self.recall(History::older);
                return Edited::Nothing;
            }
            KeyCode::Down if self.is_on_row(self.area.lines().len() - 1) => {
                self.recall(History::newer);
                return Edited::Nothing;
            }
            KeyCode::Backspace if key.modifiers.is_empty() => {
                // The label of a paste goes as a whole: a part of it would stand for nothing.
                let label = self.pastes.label_before(self.before_cursor());
                for _ in 0..label.map_or(1, |it| it.chars().count()) {
                    self.area.delete_char();
                }
            }
            KeyCode::Char('u') if has(KeyModifiers::CONTROL) => {
                self.area.delete_line_by_head();
            }
            // Without a completion it would insert blanks.
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Esc => return Edited::Nothing,
            KeyCode::Char(_) if self.length() >= LONGEST_VISIBLE => return Edited::Full,
            _ => {
                self.area.input(key);
            }
        }
        self.complete()
    }

    /// Returns the rows of the text, at most `height`, and the cursor in them.
    pub(crate) fn rows(&self, columns: u16, height: u16) -> (Vec<Line<'static>>, (usize, u16)) {
        if let Some(search) = &self.search {
            return search.row(&self.history, columns);
        }
        // A screen of a few columns has no room for the mark.
        let mark = if columns > 4 { PROMPT } else { "" };
        let prompt = u16::try_from(mark.len()).unwrap_or_default();
        let rect = Rect::new(0, 0, columns.saturating_sub(prompt).max(1), height.max(1));
        let mut buffer = Buffer::empty(rect);
        self.area.render(rect, &mut buffer);
        let cursor = self.area.screen_cursor();
        let (first, _) = self.area.scroll_offset();
        let row = cursor.row.saturating_sub(usize::from(first));
        let column = u16::try_from(cursor.col)
            .unwrap_or_default()
            .min(rect.width - 1);
        let mut rows = text_rows(&buffer);
        let last = rows.iter().rposition(|row| !row.trim_end().is_empty());
        rows.truncate(last.unwrap_or_default().max(row) + 1);
        // What it says while nothing is typed.
        let style = if self.is_empty() { DIM } else { Style::new() };
        let rows = rows.into_iter().enumerate().map(|(index, text)| {
            let is_first = index == 0 && first == 0;
            let mark = if is_first || mark.is_empty() {
                mark
            } else {
                "  "
            };
            Line::from(vec![
                Span::styled(mark, NAME),
                Span::styled(text.trim_end().to_owned(), style),
            ])
        });
        (rows.collect(), (row, prompt + column))
    }

    /// The completions, at most `height` rows.
    pub(crate) fn menu_rows(&self, columns: u16, height: u16) -> Vec<Line<'static>> {
        let rows = self
            .menu
            .as_ref()
            .map(|menu| menu.rows(usize::from(height)));
        let rows = rows.unwrap_or_default();
        rows.iter().map(|row| cut(row, columns)).collect()
    }

    fn line_break(&mut self) {
        self.area.insert_newline();
    }

    fn visible(&self) -> String {
        self.area.lines().join("\n")
    }

    fn length(&self) -> usize {
        self.area.lines().iter().map(|line| line.len() + 1).sum()
    }

    /// Returns whether the cursor is on this line of the text.
    pub(crate) fn is_on_row(&self, row: usize) -> bool {
        self.area.cursor().0 == row
    }

    /// The line of the cursor up to it.
    fn before_cursor(&self) -> &str {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0).map_or("", String::as_str);
        let end = line
            .char_indices()
            .nth(cursor.1)
            .map_or(line.len(), |(at, _)| at);
        &line[..end]
    }

    fn typed(&self) -> Typed {
        Typed::new(self.visible(), self.pastes.clone())
    }

    fn set(&mut self, typed: Typed) {
        self.area = area(&typed.text);
        self.pastes = typed.pastes;
        self.close_menu();
        self.search = None;
        self.picker = None;
        self.named.clear();
    }

    fn recall(&mut self, find: impl FnOnce(&mut History, Typed) -> Option<Typed>) {
        let now = self.typed();
        if let Some(text) = find(&mut self.history, now) {
            self.set(text);
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    fn search_key(&mut self, key: KeyEvent) -> Edited {
        let Some(search) = &mut self.search else {
            return Edited::Nothing;
        };
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if has_control => search.older(&self.history),
            KeyCode::Char('g') if has_control => self.search = None,
            KeyCode::Esc => self.search = None,
            KeyCode::Backspace => search.remove(),
            KeyCode::Char(c) if !has_control => search.add(c),
            _ => {
                let found = search.found(&self.history).cloned();
                self.search = None;
                if let Some(text) = found {
                    self.set(text);
                }
                // Any other key also does what it does: Enter sends, arrows move.
                if key.code != KeyCode::Enter && key.code != KeyCode::Tab {
                    return self.key(key);
                }
            }
        }
        Edited::Nothing
    }

    /// Handles a key for the completions, and returns whether it was for them.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    fn menu_key(&mut self, key: KeyEvent) -> bool {
        let Some(menu) = &mut self.menu else {
            return false;
        };
        match key.code {
            KeyCode::Up => menu.select_previous(),
            KeyCode::Down => menu.select_next(),
            KeyCode::Esc => self.leave_menu(),
            KeyCode::Tab => self.accept(),
            KeyCode::Enter if key.modifiers.is_empty() && menu.completes_on_enter() => {
                self.accept();
            }
            _ => return false,
        }
        true
    }

    fn accept(&mut self) {
        if let Some(menu) = self.menu.take() {
            let word = menu.word();
            for _ in 0..word.chars().count() {
                self.area.delete_char();
            }
            self.area.insert_str(menu.selected());
        }
        self.close_menu();
    }

    /// Closes the completions. A picker is left with its command.
    fn leave_menu(&mut self) {
        self.close_menu();
        if self.is_picker() {
            self.clear();
        }
    }

    /// Returns whether the text is a command that the user has not typed, and the beginning of its argument.
    fn is_picker(&self) -> bool {
        let command = self.picker.as_ref();
        command.is_some_and(|it| self.visible().starts_with(it.as_str()))
    }

    fn close_menu(&mut self) {
        self.menu = None;
        (self.awaits_files, self.awaits_names) = (false, false);
    }

    /// Looks for completions of the word before the cursor.
    fn complete(&mut self) -> Edited {
        self.close_menu();
        if !self.is_picker() {
            self.picker = None;
        }
        let is_first_line = self.is_on_row(0);
        match Word::of(self.before_cursor(), is_first_line) {
            Some(Word::Command(word)) => self.menu = Menu::of_commands(word, &self.names),
            Some(Word::Argument(command, word)) => {
                let command = command.to_owned();
                self.menu = Menu::of_argument(&command, word, &self.names);
                if self.is_picker()
                    && let Some(menu) = &mut self.menu
                {
                    menu.be_strict();
                }
                return self.complete_argument(command);
            }
            Some(Word::File(word)) => {
                let word = word.to_owned();
                self.awaits_files = true;
                return self.complete_file(&word);
            }
            // The next mention reads the files again, and the next command its names.
            None => {
                self.files = None;
                self.named.clear();
            }
        }
        Edited::Nothing
    }

    fn complete_argument(&mut self, command: String) -> Edited {
        let is_first = self.named != command;
        let needed = match &*command {
            "/model" => Edited::NeedsModels,
            "/resume" => Edited::NeedsSessions,
            _ => Edited::Nothing,
        };
        self.named = command;
        self.awaits_names = true;
        if is_first { needed } else { Edited::Nothing }
    }

    fn complete_file(&mut self, word: &str) -> Edited {
        let is_first = self.files.is_none();
        let files = self.files.get_or_insert_default();
        let enters = files.enters(word);
        self.menu = Menu::of_files(word, files.best(word));
        if is_first {
            Edited::NeedsFiles
        } else if enters {
            Edited::NeedsFolder
        } else {
            Edited::Nothing
        }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area: TextArea<'static> = text.split('\n').map(str::to_owned).collect();
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    // The terminal's own cursor shows the place.
    area.set_cursor_style(Style::default());
    area.set_cursor_line_style(Style::default());
    area.set_placeholder_text("Message, /help for commands, @ for files");
    area.set_placeholder_style(DIM);
    area.set_max_histories(100);
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

/// The text of each row of a buffer.
fn text_rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y| {
        let (mut text, mut x) = (String::new(), area.left());
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            // The cells that a wide character covers hold blanks.
            x += u16::try_from(width(symbol)).unwrap_or(1).max(1);
        }
        text
    };
    (area.top()..area.bottom()).map(row).collect()
}

#[cfg(test)]
mod tests;
