//! The rate limiter under tokio's paused clock, against one that looks at everything at every moment.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::{RateLimiter, RateLimits, RateLimitsError};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// One request: when it asks, what it estimates, how long its reply takes, and what that uses.
#[derive(Clone, Copy, Debug)]
struct Ask {
    at: u64,
    estimate: u64,
    takes: u64,
    uses: u64,
}

fn ask(at: u64, estimate: u64, takes: u64, uses: u64) -> Ask {
    Ask {
        at,
        estimate,
        takes,
        uses,
    }
}

/// When each request is let through, in milliseconds from the start.
async fn grants(limits: RateLimits, asks: &[Ask]) -> Vec<u64> {
    let limiter = RateLimiter::new(limits).unwrap();
    let began = Instant::now();
    let granted = Arc::new(Mutex::new(vec![0; asks.len()]));
    let mut tasks = tokio::task::JoinSet::new();
    for (index, ask) in asks.iter().copied().enumerate() {
        let (limiter, granted) = (limiter.clone(), Arc::clone(&granted));
        tasks.spawn(async move {
            sleep_until(began + Duration::from_millis(ask.at)).await;
            let permit = limiter.acquire(ask.estimate).await;
            let now = u64::try_from(began.elapsed().as_millis()).unwrap();
            assert_eq!(permit.waited().as_millis(), u128::from(now - ask.at));
            granted.lock().unwrap()[index] = now;
            sleep(Duration::from_millis(ask.takes)).await;
            permit.record(ask.uses);
        });
    }
    tasks.join_all().await;
    granted.lock().unwrap().clone()
}

/// The same, by going through every moment at which anything can change, and adding everything up each time.
fn naive(limits: RateLimits, asks: &[Ask]) -> Vec<u64> {
    const MINUTE: u64 = 60_000;
    const DAY: u64 = 24 * 60 * MINUTE;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small numbers"
    )]
    let part = |limit: u64| ((limit as f64 * limits.safety_margin) as u64).max(1);
    let mut granted: Vec<u64> = Vec::new();
    let mut now = asks[0].at;
    let day_began = now;
    while let Some(next) = asks.get(granted.len()) {
        let before = || asks.iter().zip(granted.iter().copied());
        let under_way: u64 = before()
            .filter(|(ask, at)| at + ask.takes > now)
            .map(|(ask, _)| ask.estimate)
            .sum();
        let settled = |since: u64| -> u64 {
            before()
                .map(|(ask, at)| (at + ask.takes, ask.uses))
                .filter(|(at, _)| *at <= now && *at + since > now)
                .map(|(_, uses)| uses)
                .sum()
        };
        let day = (now.saturating_sub(day_began)) / DAY;
        let today: u64 = before()
            .map(|(ask, at)| (at + ask.takes, ask.uses))
            .filter(|(at, _)| *at <= now && (at - day_began) / DAY == day)
            .map(|(_, uses)| uses)
            .sum();
        let requests = granted.iter().filter(|at| **at + MINUTE > now).count();
        let fits = |used: u64, limit: Option<u64>| {
            let used = used + under_way;
            limit.is_none_or(|limit| used == 0 || used + next.estimate <= part(limit))
        };
        let free = limits
            .requests_per_minute
            .is_none_or(|limit| requests < usize::try_from(part(limit.into())).unwrap());
        let minute = settled(MINUTE);
        if next.at <= now
            && free
            && fits(minute, limits.tokens_per_minute)
            && fits(today, limits.tokens_per_day)
        {
            granted.push(now);
            continue;
        }
        let mut moments = vec![next.at, day_began + (day + 1) * DAY];
        for (ask, at) in before() {
            let end = at + ask.takes;
            moments.extend([at + MINUTE, end, end + MINUTE]);
        }
        now = moments.into_iter().filter(|at| *at > now).min().unwrap();
    }
    granted
}

async fn check(limits: RateLimits, asks: &[Ask], expected: &[u64]) {
    assert_eq!(naive(limits, asks), expected, "the oracle: {asks:?}");
    assert_eq!(grants(limits, asks).await, expected, "{asks:?}");
}

const NONE: RateLimits = RateLimits {
    requests_per_minute: None,
    tokens_per_minute: None,
    tokens_per_day: None,
    safety_margin: 1.0,
};

#[tokio::test(start_paused = true)]
async fn requests_in_any_minute() {
    let two = RateLimits {
        requests_per_minute: Some(2),
        ..NONE
    };
    let free = |at| ask(at, 0, 1, 0);
    check(NONE, &[free(0), free(1), free(2)], &[0, 1, 2]).await;
    check(
        two,
        &[free(0), free(30_000), free(30_001), free(30_002)],
        &[0, 30_000, 60_000, 90_000],
    )
    .await;
    // 0.9 of 2 is 1.
    let margin = RateLimits {
        safety_margin: 0.9,
        ..two
    };
    check(margin, &[free(0), free(1)], &[0, 60_000]).await;
}

#[tokio::test(start_paused = true)]
async fn tokens_in_any_minute() {
    let hundred = RateLimits {
        tokens_per_minute: Some(100),
        ..NONE
    };
    // They count from the moment at which they are known.
    check(
        hundred,
        &[ask(0, 60, 1_000, 60), ask(10, 60, 10, 60)],
        &[0, 61_000],
    )
    .await;
    // A reply that used less than was held for it lets the next one through at once.
    check(
        hundred,
        &[ask(0, 60, 1_000, 40), ask(10, 60, 10, 60)],
        &[0, 1_000],
    )
    .await;
    // One that is larger than the limit goes alone.
    check(
        hundred,
        &[ask(0, 1, 5, 1), ask(10, 500, 10, 500), ask(20, 1, 5, 1)],
        &[0, 60_005, 120_015],
    )
    .await;
    // In order: the small one does not overtake the large one.
    check(
        hundred,
        &[ask(0, 60, 1, 60), ask(10, 60, 1, 60), ask(20, 10, 1, 10)],
        &[0, 60_001, 60_001],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn tokens_in_a_day() {
    let hundred = RateLimits {
        tokens_per_day: Some(100),
        ..NONE
    };
    let day = 24 * 60 * 60 * 1_000;
    check(
        hundred,
        &[
            ask(5_000, 60, 10, 60),
            ask(6_000, 60, 10, 60),
            ask(6_001, 50, 10, 50),
        ],
        // The day began with the first request.
        &[5_000, day + 5_000, 2 * day + 5_000],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn like_the_naive_one() {
    let mut seed = 7_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for round in 0..300 {
        let limits = RateLimits {
            requests_per_minute: (round % 2 == 0).then(|| 2 + u32::try_from(random(4)).unwrap()),
            tokens_per_minute: (round % 3 > 0).then(|| 100 + random(200)),
            tokens_per_day: (round % 5 == 0).then(|| 800 + random(500)),
            safety_margin: 0.9,
        };
        let mut at = 0;
        let asks: Vec<Ask> = (0..20)
            .map(|_| {
                at += 1 + random(20_000);
                ask(at, random(120), 1 + random(30_000), random(150))
            })
            .collect();
        let expected = naive(limits, &asks);
        assert_eq!(grants(limits, &asks).await, expected, "{limits:?} {asks:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn giving_up_costs_nothing_but_a_dropped_permit_does() {
    let limits = RateLimits {
        tokens_per_minute: Some(100),
        ..NONE
    };
    let limiter = RateLimiter::new(limits).unwrap();
    let began = Instant::now();
    let first = limiter.acquire(100).await;
    let short = Duration::from_secs(1);
    timeout(short, limiter.acquire(100)).await.unwrap_err();
    // The reply was cut off after a second: the estimate counts as used.
    drop(first);
    let next = limiter.acquire(1).await;
    assert_eq!(began.elapsed(), Duration::from_secs(61));
    next.record(0);
    limiter.acquire(100).await.record(0);
    assert_eq!(began.elapsed(), Duration::from_secs(61));
}

#[test]
fn limits_that_make_no_sense() {
    let check = |limits, error: &str| {
        let refused: RateLimitsError = RateLimiter::new(limits).unwrap_err();
        assert_eq!(refused.to_string(), error);
    };
    let zero = RateLimits {
        tokens_per_day: Some(0),
        ..NONE
    };
    check(
        zero,
        "tokens_per_day is 0, which would block every request; omit it for no limit",
    );
    for (safety_margin, words) in [(0.0, "0"), (1.5, "1.5"), (f64::NAN, "NaN")] {
        let limits = RateLimits {
            safety_margin,
            ..NONE
        };
        let error = format!("the safety margin must be above 0 and at most 1, got {words}");
        check(limits, &error);
    }
}
