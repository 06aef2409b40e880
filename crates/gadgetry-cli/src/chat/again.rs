//! The command that continues a conversation.

use std::path::{Path, PathBuf};

use gadgetry::proto::visible::visible_line;

use crate::args::{ChatArgs, SessionName};
use crate::config::Config;

/// What such a command repeats of the command line.
pub(super) struct Again {
    /// The data directory, if it was typed. One of the configuration is found again.
    data_dir: Option<PathBuf>,
}

impl Again {
    pub(super) fn new(args: &ChatArgs, config: &Config) -> Self {
        let data_dir = args.options.model.data.data_dir.clone();
        Self {
            data_dir: data_dir.filter(|_| config.typed.contains("data-dir")),
        }
    }

    /// The command for the session of this name.
    pub(super) fn of(&self, name: &SessionName) -> String {
        let data_dir = self.data_dir.as_deref().map(Path::to_string_lossy);
        let data_dir = data_dir.map(|it| format!(" --data-dir {}", shell_words::quote(&it)));
        let data_dir = data_dir.unwrap_or_default();
        visible_line(&format!("gadgetry chat{data_dir} --continue {name}")).into_owned()
    }
}
