//! The command that continues a conversation.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gadgetry::proto::visible::visible_line;

use crate::cli::SessionName;
use crate::options::{DATA_DIR, Settings, Source};

/// Part of the command line that such a command repeats.
pub(super) struct Again {
    /// The data directory, if it was typed. One of the configuration is found again.
    data_dir: Option<PathBuf>,
}

impl Again {
    pub(super) fn new(settings: &Settings) -> Self {
        let typed = settings.get(DATA_DIR);
        let typed = typed.filter(|it| it.source == Source::Flag);
        let folder = typed.and_then(|it| it.value.texts().first());
        Self {
            data_dir: folder.map(PathBuf::from),
        }
    }

    /// The words of the command for the session of this name.
    pub(super) fn words(&self, name: &SessionName) -> Vec<OsString> {
        let mut words = vec![OsString::from("gadgetry"), "chat".into()];
        if let Some(folder) = &self.data_dir {
            words.extend(["--data-dir".into(), folder.clone().into_os_string()]);
        }
        words.extend(["--continue".into(), name.to_string().into()]);
        words
    }

    /// The command for the session of this name.
    pub(super) fn of(&self, name: &SessionName) -> String {
        let data_dir = self.data_dir.as_deref().map(Path::to_string_lossy);
        let data_dir = data_dir.map(|it| format!(" --data-dir {}", shell_words::quote(&it)));
        let data_dir = data_dir.unwrap_or_default();
        visible_line(&format!("gadgetry chat{data_dir} --continue {name}")).into_owned()
    }
}
