//! The requests in flight, whose number is limited for each client.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::sessions::Client;

/// The requests in flight of all clients, with the streams that they read.
pub(super) struct Requests {
    connections: usize,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    of_clients: BTreeMap<Client, usize>,
}

/// A request in flight, until it is dropped.
pub(super) struct InFlight {
    requests: Arc<Requests>,
    client: Client,
}

impl Requests {
    /// Admits requests on this number of connections. Each request in flight has one.
    pub(super) fn new(connections: usize) -> Arc<Self> {
        Arc::new(Self {
            // One of them always remains for an answer that refuses a request.
            connections: connections.max(2),
            counts: Mutex::default(),
        })
    }

    /// Takes a place for a request.
    ///
    /// A client may have as many as are left for others: half of the connections, or half of what another has left. So several
    /// together do not stop another one either, and the limit needs no setting.
    ///
    /// # Errors
    ///
    /// The number of the client's requests in flight, if it may have no more now.
    pub(super) fn place(self: &Arc<Self>, client: Client) -> Result<InFlight, usize> {
        let mut counts = self.counts();
        let own = counts.of_clients.get(&client).map_or(1, |own| own + 1);
        if own >= self.connections.saturating_sub(counts.all) {
            return Err(own - 1);
        }
        counts.all += 1;
        counts.of_clients.insert(client, own);
        Ok(InFlight {
            requests: Arc::clone(self),
            client,
        })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut counts = self.requests.counts();
        counts.all -= 1;
        if let Entry::Occupied(mut own) = counts.of_clients.entry(self.client) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, Requests};

    /// Each client takes as many places as it gets.
    #[test]
    fn clients_leave_places_for_others() {
        let check = |connections: usize, clients: u8, expected: &[usize]| {
            let requests = Requests::new(connections);
            let mut places = Vec::new();
            let mut refused = Vec::new();
            for key in 0..clients {
                loop {
                    match requests.place(Client(Some([key; 32]))) {
                        Ok(place) => places.push(place),
                        Err(own) => break refused.push(own),
                    }
                }
            }
            assert_eq!(refused, expected, "{connections} {clients}");
            drop(places);
            assert!(requests.counts().of_clients.is_empty());
            assert_eq!(requests.counts().all, 0);
        };
        check(1_024, 1, &[512]);
        check(1_024, 5, &[512, 256, 128, 64, 32]);
        check(8, 4, &[4, 2, 1, 0]);
        check(2, 2, &[1, 0]);
        check(0, 1, &[1]);
    }

    #[test]
    fn a_place_is_free_after_its_request() {
        let requests = Requests::new(4);
        let [one, other] = [1, 2].map(|key| Client(Some([key; 32])));
        let mut places: Vec<_> = (0..2).map(|_| requests.place(one)).collect();
        assert!(places.iter().all(Result::is_ok));
        assert!(requests.place(one).is_err());
        assert!(requests.place(other).is_ok());
        places.pop();
        assert!(requests.place(one).is_ok());
    }
}
