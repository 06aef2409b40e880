//! Tokens in files, which only their owner can read.

use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use gadgetry_files as files;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::time::{Instant, sleep};

/// Maximum number of bytes of a file.
const LIMIT: u64 = 1 << 20;

/// The version of the files.
const VERSION: u32 = 1;

/// Maximum time to wait for another program that refreshes the same tokens, and the time between two looks.
const PATIENCE: Duration = Duration::from_secs(40);
const STEP: Duration = Duration::from_millis(50);

/// The folder with the tokens of servers: a file for each, with mode 0600, replaced at once.
///
/// A file belongs to the URL of a server and to the authorization server that has issued its tokens; they are sent to no other
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    folder: PathBuf,
}

impl Tokens {
    /// The tokens in this folder. It is created, with mode 0700, when there is something to keep.
    pub fn in_dir(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the file of the server at `url`.
    pub(crate) fn of(&self, url: &Url) -> TokenFile {
        let mut resource = url.clone();
        resource.set_fragment(None);
        let resource = String::from(resource);
        let mut name = String::new();
        for byte in Sha256::digest(&resource).iter().take(16) {
            let _ = write!(name, "{byte:02x}");
        }
        TokenFile {
            path: self.folder.join(format!("{name}.json")),
            resource,
        }
    }
}

/// The tokens of one server.
pub(crate) struct TokenFile {
    path: PathBuf,
    resource: String,
}

/// The file as written.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// The URL of the server.
    resource: String,
    credentials: StoredCredentials,
}

impl TokenFile {
    /// Returns whether there are tokens.
    pub(crate) fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// Removes the tokens, once no other program refreshes them. Returns whether there were any.
    pub(crate) async fn remove(&self) -> io::Result<bool> {
        if !self.path.try_exists()? {
            return Ok(false);
        }
        // A refresh in flight would save the tokens again.
        let _lock = self.lock().await?;
        remove(&self.path)
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = match files::text(&self.path, LIMIT) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.problem("read", &error)),
        };
        // What serde says about it may quote a token.
        let kept = serde_json::from_str::<Kept>(&text).ok();
        let kept = kept.filter(|it| it.version == VERSION && it.resource == self.resource);
        let kept = kept.ok_or_else(|| {
            AuthError::CredentialStoreError(format!(
                "{} is damaged; log in again",
                self.path.display()
            ))
        })?;
        Ok(Some(kept.credentials))
    }

    pub(crate) fn write(&self, credentials: StoredCredentials) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        files::create_private_folder(folder)?;
        let kept = Kept {
            version: VERSION,
            resource: self.resource.clone(),
            credentials,
        };
        // Such a file has mode 0600.
        let mut new = NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut new, &kept)?;
        new.flush()?;
        new.as_file().sync_all()?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    fn problem(&self, verb: &str, error: &io::Error) -> AuthError {
        let path = self.path.display();
        AuthError::CredentialStoreError(format!("cannot {verb} the tokens in {path}: {error}"))
    }

    /// Waits until no other program refreshes these tokens.
    pub(crate) async fn lock(&self) -> io::Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        files::create_private_folder(folder)?;
        let file = files::append_private(&self.path.with_extension("lock"))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(STEP).await,
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Future that the methods of [`CredentialStore`] return.
type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl CredentialStore for TokenFile {
    fn load<'a, 'b>(&'a self) -> Stored<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { self.read() })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let written = self.write(credentials);
            written.map_err(|error| self.problem("keep", &error))
        })
    }

    fn clear<'a, 'b>(&'a self) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let removed = remove(&self.path);
            removed
                .map(drop)
                .map_err(|error| self.problem("remove", &error))
        })
    }

    fn acquire_refresh_guard<'a, 'b>(&'a self) -> Stored<'b, Option<CredentialRefreshGuard>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let locked = self.lock().await;
            let locked = locked.map_err(|error| self.problem("lock", &error))?;
            Ok(Some(CredentialRefreshGuard::new(locked)))
        })
    }
}

/// Removes a file. Returns whether it was there.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
