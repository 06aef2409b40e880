//! Whether the user has to be notified that the conversation waits.

use std::time::Duration;

use tokio::time::Instant;

/// Time without a key after which the user is away, where the terminal does not say so.
const IDLE: Duration = Duration::from_mins(1);

/// Attention of the user, as far as the terminal reports it.
///
/// Some terminals, and `tmux` by default, do not report the focus. There, the user is notified once no key was pressed for a minute.
#[derive(Debug, Default)]
pub(super) struct Attention {
    /// Whether the terminal has the focus, if it has ever said so.
    has_focus: Option<bool>,
    /// Time of the notification, unless a key is pressed before.
    due: Option<Instant>,
}

impl Attention {
    /// The terminal reports the focus.
    pub(super) fn set_focus(&mut self, has_focus: bool) {
        self.has_focus = Some(has_focus);
        self.due = None;
    }

    /// A key was pressed.
    pub(super) fn key(&mut self) {
        self.due = None;
    }

    /// The conversation waits from now on. Returns whether the user has to be notified at once.
    pub(super) fn wait(&mut self, now: Instant) -> bool {
        self.due = self.has_focus.is_none().then(|| now + IDLE);
        self.has_focus == Some(false)
    }

    /// Time of the next [`is_due`](Self::is_due).
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns whether the user has to be notified now, which happens once.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_is_away_is_notified_once() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let check = |prepare: &[fn(&mut Attention)], at_once: bool, later: bool| {
            let mut attention = Attention::default();
            for step in prepare {
                step(&mut attention);
            }
            assert_eq!(attention.wait(start), at_once);
            assert!(!attention.is_due(after(59)));
            assert_eq!(attention.due().is_some(), later);
            assert_eq!(attention.is_due(after(60)), later);
            assert!(!attention.is_due(after(120)));
        };
        check(&[], false, true);
        check(&[|it| it.set_focus(true)], false, false);
        check(&[|it| it.set_focus(false)], true, false);
        check(
            &[|it| it.set_focus(false), |it| it.set_focus(true)],
            false,
            false,
        );
        check(&[Attention::key], false, true);

        let mut attention = Attention::default();
        attention.wait(start);
        attention.key();
        assert!(!attention.is_due(after(60)));
    }
}
