//! The number of files and sockets that this process may open.

/// Raises the limit to what the system permits, so that each connection that a service admits has a socket. Shells start
/// programs with 1,024, for the sake of those that use `select`.
pub(crate) fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!("the limit of open files stays as it is: {error}");
        }
    }
}
