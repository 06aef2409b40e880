//! Styles of Markdown, in the colours of the terminal.

use ratatui_core::style::{Color, Modifier, Style};
use tui_markdown::StyleSheet;

use crate::chat::text::{BOLD, DIM, NAME};

/// Line that replaces the fences of indented code. No cleaned text has it.
pub(super) const FENCE: &str = "\u{1}";

/// A second `$` next to one of inline math. No cleaned text has it.
pub(super) const DOLLAR: &str = "\u{2}";

#[derive(Clone, Copy, Debug)]
pub(super) struct Styles;

impl StyleSheet for Styles {
    fn heading(&self, level: u8) -> Style {
        if level == 1 {
            BOLD.add_modifier(Modifier::UNDERLINED)
        } else {
            BOLD
        }
    }

    fn heading_marker(&self, _: u8) -> &'static str {
        // The style says it.
        ""
    }

    fn code(&self) -> Style {
        NAME
    }

    fn code_block_fence(&self) -> &str {
        FENCE
    }

    fn link(&self) -> Style {
        Style::new()
            .fg(Color::Blue)
            .add_modifier(Modifier::UNDERLINED)
    }

    fn blockquote(&self) -> Style {
        DIM
    }

    fn metadata_block(&self) -> Style {
        DIM
    }

    fn math_inline(&self) -> Style {
        Style::new().add_modifier(Modifier::ITALIC)
    }

    fn math_display(&self) -> Style {
        Style::new()
    }
}
