//! The current usage, and the rest of the limits.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::limiter::RateLimits;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

/// The current usage.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// When requests of the last minute were admitted.
    requests: VecDeque<Instant>,
    /// When tokens of the last minute became known, and how many.
    tokens: VecDeque<(Instant, u64)>,
    /// The sum of `tokens`.
    minute: u64,
    /// When requests in flight were admitted, and their estimates. After a minute they count no longer: a reply
    /// that is not read must not stop the others forever.
    holds: VecDeque<(Instant, u64)>,
    /// The sum of `holds`.
    held: u64,
    /// When the current day began.
    day_began: Option<Instant>,
    /// Tokens that became known in it.
    day: u64,
}

impl Used {
    /// Admits a request, or returns the time to try again; `None` if only the end of another request can help.
    pub(super) fn admit(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<(), Option<Instant>> {
        let now = Instant::now();
        self.forget(now);
        let day_began = *self.day_began.get_or_insert(now);
        if let Some(limit) = limits.requests_per_minute {
            let limit = usize::try_from(limits.part(limit.into())).unwrap_or(usize::MAX);
            if self.requests.len() >= limit {
                let leaves = self.requests[self.requests.len() - limit];
                return Err(Some(leaves + MINUTE));
            }
        }
        if let Some(limit) = limits.tokens_per_minute {
            let room = limits.part(limit);
            if !fits(self.held, self.minute, tokens, room) {
                return Err(self.sooner(self.minute_wake(tokens, room)));
            }
        }
        if let Some(limit) = limits.tokens_per_day {
            let room = limits.part(limit);
            if !fits(self.held, self.day, tokens, room) {
                let tomorrow = fits(self.held, 0, tokens, room);
                return Err(self.sooner(tomorrow.then_some(day_began + DAY)));
            }
        }
        if limits.requests_per_minute.is_some() {
            self.requests.push_back(now);
        }
        // Sums are kept below overflow, whatever is requested.
        let tokens = tokens.min(u64::MAX - self.held);
        self.holds.push_back((now, tokens));
        self.held += tokens;
        Ok(())
    }

    /// Returns `wake`, or the earlier time at which the first estimate no longer counts.
    fn sooner(&self, wake: Option<Instant>) -> Option<Instant> {
        let hold = self.holds.front().map(|(at, _)| *at + MINUTE);
        wake.into_iter().chain(hold).min()
    }

    /// Returns the time at which enough tokens have left the minute; `None` if reservations prevent that.
    fn minute_wake(&self, tokens: u64, room: u64) -> Option<Instant> {
        let mut left = self.minute;
        let mut entries = self.tokens.iter();
        loop {
            let (at, gone) = entries.next()?;
            left -= gone;
            if fits(self.held, left, tokens, room) {
                return Some(*at + MINUTE);
            }
        }
    }

    pub(super) fn release(&mut self, limits: &RateLimits, held: u64, tokens: u64) {
        let now = Instant::now();
        self.forget(now);
        let mut holds = self.holds.iter();
        if let Some(at) = holds.position(|(_, tokens)| *tokens == held) {
            self.holds.remove(at);
            self.held -= held;
        }
        if limits.tokens_per_minute.is_some() && tokens > 0 {
            // Sums are kept below overflow, whatever a provider claims.
            let tokens = tokens.min(u64::MAX - self.minute);
            self.tokens.push_back((now, tokens));
            self.minute += tokens;
        }
        self.day = self.day.saturating_add(tokens);
    }

    /// Drops what no longer counts at `now`.
    fn forget(&mut self, now: Instant) {
        while self.requests.front().is_some_and(|at| *at + MINUTE <= now) {
            self.requests.pop_front();
        }
        while let Some((at, tokens)) = self.holds.front().copied()
            && at + MINUTE <= now
        {
            self.holds.pop_front();
            self.held -= tokens;
        }
        while let Some((at, tokens)) = self.tokens.front().copied()
            && at + MINUTE <= now
        {
            self.tokens.pop_front();
            self.minute -= tokens;
        }
        if let Some(began) = &mut self.day_began
            && *began + DAY <= now
        {
            let days = now.duration_since(*began).as_secs() / DAY.as_secs();
            *began += Duration::from_secs(days * DAY.as_secs());
            self.day = 0;
        }
    }
}

/// Returns whether `tokens` more fit in addition to what is reserved and used; a request larger than the limit fits alone.
fn fits(held: u64, used: u64, tokens: u64, room: u64) -> bool {
    let before = held.saturating_add(used);
    before == 0 || before.saturating_add(tokens) <= room
}
