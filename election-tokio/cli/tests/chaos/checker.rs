//! Judges a history by the guarantees of the README, and knows nothing else about elections.

use crate::{
    cast,
    journal::{History, Kind, Stop, Waives, Weight, Window, signs},
};
use std::{collections::BTreeMap, fmt, time::Duration};

/// How long after the lease another node may need, on a busy machine. With a long ttl it may also have a whole
/// interval to wait: a late renewal can have reached the row without its knowledge.
pub(crate) const SLACK: Duration = Duration::from_secs(2);
/// How much more memory than before a process may take, in bytes.
const MEMORY: u64 = 8 << 20;
/// And how many more descriptors.
const DESCRIPTORS: usize = 16;
/// How many times a process must have been measured before its growth means anything.
const LOOKS: usize = 12;

/// A broken guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    /// Nanoseconds since boot.
    pub(crate) at: u64,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ms: {}", self.rule, self.at / 1_000_000, self.what)
    }
}

/// Every broken guarantee.
pub(crate) fn violations(history: &History) -> Vec<Violation> {
    let elections = history.apart();
    let each =
        elections.iter().enumerate().map(|(election, own)| of_one(own, election, elections.len()));
    let rules = [
        each.flatten().collect(),
        told_to_end(history),
        nobody_ends_unasked(history),
        nothing_is_left(history),
        nothing_grows(history),
    ];
    let mut violations: Vec<Violation> = rules.into_iter().flatten().collect();
    violations.sort_by_key(|violation| violation.at);
    violations
}

/// What is broken in one election of so many.
fn of_one(history: &History, election: usize, elections: usize) -> Vec<Violation> {
    let tenures = tenures(history);
    let mut rules = vec![
        one_leader_per_epoch(history, &tenures),
        one_job(history, &tenures),
        no_stale_write(history, &tenures),
        somebody_leads(history),
    ];
    if election != cast::locked(elections) {
        rules.push(no_other_row_matters(history, &tenures));
    }
    let named = |broken: Violation| {
        let what = format!("{}: {}", cast::name(election), broken.what);
        Violation { what, ..broken }
    };
    rules.into_iter().flatten().map(named).collect()
}

/// One leadership, from its first line to its last.
#[derive(Clone, Debug)]
pub(crate) struct Tenure {
    pub(crate) epoch: u64,
    pub(crate) node: usize,
    life: usize,
    from: u64,
    to: u64,
    /// Its first and last line in the order of the file.
    place: (usize, usize),
    library: bool,
    starts: usize,
}

/// Those of one election, by epoch.
pub(crate) fn tenures(history: &History) -> Vec<Tenure> {
    let mut tenures: BTreeMap<(u64, usize), Tenure> = BTreeMap::new();
    for (place, line) in history.lines.iter().enumerate() {
        let tenure = tenures.entry((line.epoch, line.life)).or_insert_with(|| Tenure {
            epoch: line.epoch,
            node: line.node,
            life: line.life,
            from: line.at,
            to: line.at,
            place: (place, place),
            library: line.kind == Kind::Lead,
            starts: 0,
        });
        tenure.from = tenure.from.min(line.at);
        tenure.to = tenure.to.max(line.at);
        tenure.place.1 = place;
        tenure.starts += usize::from(line.kind == Kind::Start);
    }
    tenures.into_values().collect()
}

fn one_leader_per_epoch(history: &History, tenures: &[Tenure]) -> Vec<Violation> {
    let rule = "an epoch twice";
    let twice = tenures.windows(2).filter(|pair| pair[0].epoch == pair[1].epoch);
    let twice = twice.map(|pair| (pair[0].from.max(pair[1].from), &pair[0], &pair[1]));
    let twice = twice.filter(|(at, ..)| !waived(history, &Waives::Order, *at));
    let twice = twice.map(|(at, one, other)| Violation {
        rule,
        at,
        what: format!("{}, {}", names(one), names(other)),
    });
    let started = tenures.iter().filter(|tenure| tenure.starts > 1);
    let started = started.map(|tenure| Violation { rule, at: tenure.from, what: names(tenure) });
    twice.chain(started).collect()
}

/// By the clock, by the order of the file, and by the epochs.
fn one_job(history: &History, tenures: &[Tenure]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (place, higher) in tenures.iter().enumerate() {
        for lower in &tenures[..place] {
            let grows = lower.from <= higher.from;
            let twice = lower.epoch == higher.epoch; // another rule's
            // Where two may lead at once, either may be the first to say so.
            let at_once = higher.to >= lower.from;
            let excused = waived(history, &Waives::Order, lower.from)
                || at_once && waived(history, &Waives::Exclusion, lower.from);
            if !grows && !twice && !excused {
                let what = format!("{}, and then {}", names(higher), names(lower));
                let rule = "epochs that do not grow";
                violations.push(Violation { rule, at: lower.from, what });
            }
            let (earlier, later) = if grows { (lower, higher) } else { (higher, lower) };
            violations.extend(overlap(history, earlier, later));
        }
    }
    violations
}

fn overlap(history: &History, earlier: &Tenure, later: &Tenure) -> Option<Violation> {
    let by_clock = earlier.to > later.from;
    // An elector of the library may be held up between its look and its line; a job is killed
    // before anybody else begins, and writes no more.
    let by_order = !earlier.library && earlier.place.1 > later.place.0;
    let excused = waived(history, &Waives::Exclusion, later.from)
        || waived(history, &Waives::Life(earlier.life), earlier.to);
    if !by_clock && !by_order || excused {
        return None;
    }
    let what = match by_clock {
        true => format!("for {} us", (earlier.to - later.from) / 1000),
        false => "by the order of their lines".to_owned(),
    };
    let what = format!("{what}: {}, {}", names(earlier), names(later));
    Some(Violation { rule: "two at once", at: later.from, what })
}

fn names(tenure: &Tenure) -> String {
    format!("node {} under epoch {}", tenure.node, tenure.epoch)
}

fn waived(history: &History, waives: &Waives, at: u64) -> bool {
    let own = history.excuses.iter().filter(|excuse| excuse.waives == *waives);
    own.clone().any(|excuse| (excuse.from..=excuse.to).contains(&at))
}

/// Neither under the fence nor at a resource that compares epochs.
fn no_stale_write(history: &History, tenures: &[Tenure]) -> Vec<Violation> {
    let began = |epoch: u64| {
        tenures.binary_search_by_key(&epoch, |tenure| tenure.epoch).map_or(0, |at| tenures[at].from)
    };
    let pairs = history.writes.iter().flat_map(|writes| writes.windows(2));
    let pairs = pairs.map(|pair| (pair[0].epoch, pair[1].epoch));
    let seen = history.writes.iter().flatten().map(|write| (write.seen, write.epoch));
    let stale = pairs.chain(seen).filter(|(higher, lower)| {
        higher > lower && !waived(history, &Waives::Order, began(*lower))
    });
    let stale = stale.map(|(higher, lower)| Violation {
        rule: "a stale fenced write",
        at: began(higher),
        what: format!("under epoch {lower} after one under epoch {higher}"),
    });
    let refused = history.lines.iter().filter(|line| {
        let waives = [Waives::Exclusion, Waives::Order, Waives::Life(line.life)];
        // A leadership that began out of order stays so, however long it lasts.
        let excused = waives.iter().any(|waives| waived(history, waives, line.at))
            || waived(history, &Waives::Order, began(line.epoch));
        line.kind == Kind::Refused && !excused
    });
    let refused = refused.map(|line| Violation {
        rule: "a job that was succeeded writes",
        at: line.at,
        what: format!("node {} under epoch {}", line.node, line.epoch),
    });
    stale.chain(refused).collect()
}

/// Wherever no fault is active, some node leads within a lease and the slack.
fn somebody_leads(history: &History) -> Vec<Violation> {
    let limit = nanos(history.ttl + SLACK.max(history.ttl * 2 / 5 + SLACK / 2));
    let mut alive = signs(&history.lines, &history.excuses);
    alive.retain(|at| *at < history.end);
    alive.push(history.end);
    let gaps = alive.windows(2).filter(|pair| pair[1] - pair[0] > limit);
    let calm = gaps.flat_map(|pair| undisturbed(history, pair[0], pair[1]));
    calm.filter(|(from, to)| to - from > limit)
        .map(|(from, to)| Violation {
            rule: "nobody leads",
            at: from,
            what: format!("for {} ms in which nothing was wrong", (to - from) / 1_000_000),
        })
        .collect()
}

/// While somebody has locked the row of another election, and nothing else is wrong or has been for a lease,
/// who leads this one goes on. (A clock that is set right again ends leases at their next renewals.)
fn no_other_row_matters(history: &History, tenures: &[Tenure]) -> Vec<Violation> {
    let ttl = nanos(history.ttl);
    let meets =
        |lock: &Window, other: &Window| lock.from <= other.to + ttl && other.from <= lock.to;
    let locks = history.windows.iter().filter(|lock| {
        let met = history.windows.iter().filter(|other| meets(lock, other)).count();
        lock.fault == "row-locked" && met == 1
    });
    let margin = nanos(history.ttl / 10); // a leader's lines are not as far apart as that
    let ends = |tenure: &Tenure, lock: &Window| {
        tenure.from < lock.from && (lock.from..lock.to.saturating_sub(margin)).contains(&tenure.to)
    };
    locks
        .flat_map(|lock| tenures.iter().filter(move |tenure| ends(tenure, lock)))
        .map(|tenure| Violation {
            rule: "another's locked row",
            at: tenure.to,
            what: format!("{} leads no more", names(tenure)),
        })
        .collect()
}

/// The parts of a span without an active fault.
fn undisturbed(history: &History, from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut windows: Vec<(u64, u64)> =
        history.windows.iter().map(|window| (window.from, window.to)).collect();
    windows.sort_unstable();
    let (mut calm, mut at) = (Vec::new(), from);
    for (begin, end) in windows.into_iter().filter(|(begin, _)| *begin < to) {
        if begin > at {
            calm.push((at, begin));
        }
        at = at.max(end);
    }
    if at < to {
        calm.push((at, to));
    }
    calm
}

fn told_to_end(history: &History) -> Vec<Violation> {
    let violation = |stop: &Stop, what: String| Violation {
        rule: "SIGTERM",
        at: stop.at,
        what: format!("node {} {what}", stop.node),
    };
    let late = history.stops.iter().filter(|stop| stop.took > stop.limit);
    let late = late.map(|stop| {
        violation(stop, format!("took {:?}, and may take {:?}", stop.took, stop.limit))
    });
    let left = history.stops.iter().filter(|stop| !stop.left.is_empty());
    let left = left.map(|stop| violation(stop, format!("left processes {:?}", stop.left)));
    late.chain(left).collect()
}

fn nobody_ends_unasked(history: &History) -> Vec<Violation> {
    let odd = history.exits.iter().filter(|exit| !exit.meant && !exit.refused_to_begin);
    odd.map(|exit| Violation {
        rule: "an elector ends unasked",
        at: exit.at,
        what: format!("node {}: {}", exit.node, exit.status),
    })
    .collect()
}

fn nothing_is_left(history: &History) -> Vec<Violation> {
    let violation =
        |what: &String| Violation { rule: "left behind", at: history.end, what: what.clone() };
    history.remains.iter().map(violation).collect()
}

/// The last third of a process's life beside the first.
fn nothing_grows(history: &History) -> Vec<Violation> {
    let long = history.weights.iter().filter(|weights| weights.len() >= LOOKS);
    long.filter_map(|weights| {
        let third = weights.len() / 3;
        let most = |part: &[Weight]| {
            let memory = part.iter().map(|weight| weight.memory).max().unwrap_or(0);
            let descriptors = part.iter().map(|weight| weight.descriptors).max().unwrap_or(0);
            (memory, descriptors)
        };
        let (before, after) = (most(&weights[..third]), most(&weights[weights.len() - third..]));
        let grown = after.0 > before.0 + before.0 / 2 + MEMORY || after.1 > before.1 + DESCRIPTORS;
        grown.then(|| Violation {
            rule: "growth",
            at: weights[weights.len() - 1].at,
            what: format!("from {before:?} to {after:?} bytes and descriptors"),
        })
    })
    .collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
