//! All sessions: those of the user's data directory.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use gadgetry_acp::{About, Host, HostError, Login, SessionEntry, Setup};

use super::ground::{Ground, full_name, words};
use super::session::AcpSession;
use crate::catalog;
use crate::cli::{ModelArgs, SessionName};
use crate::error::Error;
use crate::lines::{one_line, short};
use crate::sessions::{Session, Sessions, details, title};

/// Creates the sessions of an ACP client.
pub(super) struct AcpHost {
    ground: Arc<Ground>,
    sessions: Sessions,
    /// Whether the model that the program was started with may read images.
    reads_images: bool,
}

impl AcpHost {
    /// Opens the file of the sessions.
    pub(super) fn new(ground: Ground, reads_images: bool) -> Result<Self, Error> {
        Ok(Self {
            reads_images,
            sessions: Sessions::open(&ground.data)?,
            ground: Arc::new(ground),
        })
    }

    /// Returns the file of the sessions.
    pub(super) fn sessions(&self) -> Sessions {
        Sessions {
            journal: self.sessions.journal.clone(),
        }
    }

    /// Finds a session that is kept.
    async fn stored(&self, id: &str) -> Result<Session, HostError> {
        let unknown = || HostError::UnknownSession(one_line(id));
        let name: SessionName = id.parse().map_err(|_| unknown())?;
        let session = self.sessions.find(&name).await.map_err(words)?;
        session.ok_or_else(unknown)
    }

    fn entry(session: &Session) -> Option<SessionEntry> {
        let (_, last) = session.last().ok()?;
        let mut entry = SessionEntry::new(session.name.to_string(), details(last)?.folder);
        let first = session.runs.values().next()?;
        let title = short(&one_line(&title(first)));
        entry.title = Some(title).filter(|it| !it.is_empty());
        let updated = session.updated().duration_since(UNIX_EPOCH).ok();
        entry.updated = updated.map(|it| it.as_secs());
        Some(entry)
    }
}

/// Returns whether a model is not known to read no images.
pub(super) fn may_read_images(args: &ModelArgs) -> bool {
    let Some(model) = args.model.as_deref() else {
        return true;
    };
    let catalog = catalog::load(&args.data).ok();
    let spec = catalog.as_ref().and_then(|it| it.get(&full_name(model)));
    // Another server may have another model of this name.
    let is_elsewhere = args.server.base_url.is_some();
    is_elsewhere || spec.is_none_or(|it| it.info().reads_images)
}

impl Host for AcpHost {
    type Session = AcpSession;

    fn about(&self) -> About {
        let mut about = About::new("gadgetry", env!("CARGO_PKG_VERSION"));
        about.logins = vec![Login::new(
            "keys",
            "Key of the model's provider",
            "Set the variable with the key, such as ANTHROPIC_API_KEY, in the environment of the editor or of this agent, and choose a \
            model in the configuration: `gadgetry doctor` shows which keys are found, `gadgetry init` writes a configuration",
        )];
        about.keeps_sessions = true;
        about.deletes_sessions = true;
        about.forks_sessions = true;
        about.takes_images = self.reads_images;
        about
    }

    async fn log_in(&self, _: &str) -> Result<(), HostError> {
        self.ground.check_model().await
    }

    async fn create(&self, setup: Setup) -> Result<AcpSession, HostError> {
        AcpSession::create(&self.ground, self.sessions(), setup).await
    }

    async fn open(&self, id: &str, setup: Setup) -> Result<AcpSession, HostError> {
        let session = self.stored(id).await?;
        AcpSession::open(&self.ground, self.sessions(), session, setup).await
    }

    async fn fork(&self, id: &str, setup: Setup) -> Result<AcpSession, HostError> {
        let session = self.stored(id).await?;
        Box::pin(AcpSession::fork(
            &self.ground,
            self.sessions(),
            session,
            setup,
        ))
        .await
    }

    async fn list(
        &self,
        folder: Option<&Path>,
        skip: usize,
        take: usize,
    ) -> Result<Vec<SessionEntry>, HostError> {
        let all = self.sessions.all().await.map_err(words)?;
        let is_there = |session: &&Session| {
            let last = session.last().ok().and_then(|(_, last)| details(last));
            last.is_some_and(|it| folder.is_none_or(|folder| Path::new(&it.folder) == folder))
        };
        let mut entries = Vec::new();
        for session in all.iter().filter(is_there).skip(skip).take(take) {
            entries.extend(Self::entry(session));
        }
        Ok(entries)
    }

    async fn delete(&self, id: &str) -> Result<(), HostError> {
        let Ok(name) = id.parse::<SessionName>() else {
            return Ok(());
        };
        let found = self.sessions.find(&name).await.map_err(words)?;
        match found {
            Some(session) => self.sessions.forget(&session).await.map_err(words),
            None => Ok(()),
        }
    }
}
