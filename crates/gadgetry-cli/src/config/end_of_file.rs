//! New tables of a configuration file, after everything that is in it.

use toml_edit::{DocumentMut, Table};

/// The end of a file.
///
/// Comments after the last key are the trailing text of a document, which is written after all tables. They belong before a new
/// table: keys in them would be keys of that table when they are uncommented.
pub(super) struct EndOfFile {
    /// The trailing text, until a table follows it.
    trailing: Option<String>,
}

impl EndOfFile {
    pub(super) fn of(document: &DocumentMut) -> Self {
        let trailing = document.trailing().as_str().unwrap_or_default().trim_end();
        Self {
            trailing: Some(trailing.to_owned()).filter(|it| !it.is_empty()),
        }
    }

    /// Moves a new table, which has a header of its own, to the end.
    pub(super) fn append(&mut self, table: &mut Table) {
        table.set_position(Some(isize::MAX));
        if let Some(trailing) = self.trailing.take() {
            table.decor_mut().set_prefix(format!("{trailing}\n\n"));
        }
    }

    /// The document as text.
    pub(super) fn written(self, mut document: DocumentMut) -> String {
        if self.trailing.is_none() {
            document.set_trailing("");
        }
        document.to_string()
    }
}
