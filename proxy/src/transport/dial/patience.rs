//! When the next attempt is due.

use std::time::Duration;

use tokio::time::Instant;

/// The back-off after the first failure.
const FIRST: Duration = Duration::from_millis(20);
/// The longest back-off between attempts that are refused.
const REFUSED: Duration = Duration::from_secs(1);
/// The longest back-off when connections are made and end at once.
const SHORT_LIVED: Duration = Duration::from_secs(5);
/// A connection that lived this long was a healthy one: the back-off begins anew.
pub const HEALTH: Duration = Duration::from_mins(1);

/// How patient we are with one producer, across its sessions.
///
/// Every failure doubles the back-off: an attempt that came to nothing, and a connection that the producer ended
/// before it had lived for [`HEALTH`]. One that lived longer resets it. So neither a producer that is away nor
/// one that dies at each connection is hammered, and one that is well is dialled at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    /// Nothing: the last thing known is good.
    back_off: Duration,
    failed_at: Option<Instant>,
    connected_at: Option<Instant>,
}

impl Patience {
    /// When to try next: half of the back-off after the last failure, and a random part of the other half.
    pub fn next_attempt(&self) -> Instant {
        let now = Instant::now();
        let Some(failed_at) = self.failed_at else { return now };
        let half = self.back_off / 2;
        now.max(failed_at + half + half.mul_f64(fastrand::f64()))
    }

    /// An attempt came to nothing.
    pub fn failed(&mut self) {
        self.grow(REFUSED);
    }

    /// An attempt was a success.
    pub fn connected(&mut self) {
        self.connected_at = Some(Instant::now());
    }

    /// The connection is over.
    pub fn ended(&mut self, by_producer: bool) {
        let Some(since) = self.connected_at.take() else { return };
        if since.elapsed() >= HEALTH {
            *self = Self::default();
        } else if by_producer {
            self.grow(SHORT_LIVED);
        }
    }

    fn grow(&mut self, most: Duration) {
        let most = most.max(self.back_off);
        self.back_off = (self.back_off * 2).clamp(FIRST, most);
        self.failed_at = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(patience: &Patience) -> Duration {
        patience.next_attempt() - Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn a_producer_that_is_well_is_dialled_at_once() {
        let mut patience = Patience::default();
        assert_eq!(wait(&patience), Duration::ZERO);
        for _ in 0..20 {
            patience.connected();
            patience.ended(false);
            assert_eq!(wait(&patience), Duration::ZERO, "the host left");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_back_off_doubles_to_its_bound_with_jitter() {
        let mut patience = Patience::default();
        let mut expected = FIRST;
        for _ in 0..20 {
            patience.failed();
            let waits: Vec<Duration> = (0..50).map(|_| wait(&patience)).collect();
            assert!(waits.iter().all(|wait| *wait >= expected / 2 && *wait <= expected), "{expected:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]), "there is no jitter");
            expected = (expected * 2).min(REFUSED);
        }
        tokio::time::advance(REFUSED).await;
        assert_eq!(wait(&patience), Duration::ZERO, "the time that passed counts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_resets_it_only_when_it_lived_for_a_minute() {
        let mut patience = Patience::default();
        for _ in 0..20 {
            patience.connected();
            tokio::time::advance(HEALTH.checked_sub(Duration::from_millis(1)).unwrap()).await;
            patience.ended(true);
        }
        assert!(wait(&patience) >= SHORT_LIVED / 2, "{:?}", wait(&patience));
        patience.connected();
        patience.failed();
        patience.connected();
        tokio::time::advance(HEALTH).await;
        patience.ended(true);
        assert_eq!(wait(&patience), Duration::ZERO);
        patience.failed();
        assert!(wait(&patience) <= FIRST);
    }
}
