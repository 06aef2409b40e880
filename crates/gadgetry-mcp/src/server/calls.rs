//! The calls in flight, whose number is limited for each client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::sessions::Client;

/// Calls of one key that may be in flight at once, or without keys of all clients.
const CALLS: u16 = 256;

/// The limits of the clients that have called. There are no more than keys.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<Client, Arc<Semaphore>>>);

impl Calls {
    /// Takes a place for a call; `None` if too many of this client are in flight, also of those that wait for its user.
    pub(super) fn place(&self, client: Client) -> Option<OwnedSemaphorePermit> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Semaphore::new(CALLS.into()));
        let of_client = Arc::clone(all.entry(client).or_insert_with(new));
        of_client.try_acquire_owned().ok()
    }

    /// Waits until no call is in flight.
    pub(super) async fn drain(&self) {
        let all: Vec<Arc<Semaphore>> = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.values().cloned().collect()
        };
        for of_client in all {
            // It is never closed.
            let _ = of_client.acquire_many(CALLS.into()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLS, Calls, Client};

    #[test]
    fn the_calls_of_one_key_do_not_stop_those_of_others() {
        let calls = Calls::default();
        let [one, other] = [1, 2].map(|key| Client(Some([key; 32])));
        let mut places: Vec<_> = (0..CALLS).map(|_| calls.place(one)).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(calls.place(one).is_none());
        assert!(calls.place(other).is_some());
        places.pop();
        assert!(calls.place(one).is_some());
    }
}
