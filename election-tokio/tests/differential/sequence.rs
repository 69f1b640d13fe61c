//! Random operations, drawn without knowledge of the state they will meet.
//!
//! A step names its operands by their part in the play ("the holder", "the term before", "one
//! millisecond before the lease ends"), and only the play gives them a value. Otherwise nearly
//! every renewal would be of a term that never was, and no clock would ever stop at a boundary.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

/// A cast, and what it does.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    /// The elections.
    pub(crate) namespaces: Vec<&'static str>,
    /// The names of the participants; each has [`LIVES`] lives.
    pub(crate) names: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
    /// The server was promoted from a replica.
    pub(crate) promoted: bool,
}

/// How many lives of each name there are.
pub(crate) const LIVES: usize = 2;

/// Names that one collation or another takes for the same, and some that are syntax elsewhere.
const NAMES: &[&str] = &[
    "billing",
    "Billing",
    "billing ",
    "bi\u{301}lling",
    "bílling",
    "b%",
    "b_lling",
    "'; DROP TABLE election_leader; --",
    "back\\slash \"quoted\" ?1 $1 {now}",
    "🦀",
    "null",
    "line\nbreak",
    LONG,
];

/// As long as names get: 255 bytes.
const LONG: &str = concat!(
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
);

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The database's clock moves.
    Clock(Move),
    /// Somebody asks something.
    Ask { namespace: usize, who: Who, ask: Ask },
    /// Somebody looks at the list of candidates.
    List { namespace: usize },
    /// Somebody fences a transaction.
    Fence { namespace: usize, who: Who, term: Which },
    /// Somebody outside asks a term to resign.
    RequestResign { namespace: usize, term: Which },
    /// A promoted server begins anew, with the rows as they are: nobody knows its history.
    Forget,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// By so many milliseconds, back if negative.
    By(i64),
    /// To where the lease ends, and so much further.
    LeaseEnds { namespace: usize, and: i64 },
    /// To where a promoted server has been known for the lease, and so much further.
    Outlasts { namespace: usize, and: i64 },
    /// To where the first entry on the list ends, and so much further.
    EntryEnds { namespace: usize, and: i64 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    /// This one of the cast, in this life.
    Cast { name: usize, life: usize },
    /// The holder of the lease, expired or not.
    Holder,
    /// The holder's name in another life.
    Namesake,
    /// Another name with the holder's incarnation.
    Changeling { name: usize },
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Observe,
    Attempt { seen: Seen, ttl: u64, label: Option<&'static str> },
    TakeOver { seen: Seen, ttl: u64, twist: Option<Twist> },
    Renew { term: Which, ordinal: i64, ttl: u64 },
    Resign { term: Which },
    Register { ttl: u64, sweep: bool, label: Option<&'static str> },
    Unregister,
    Others,
}

impl Ask {
    /// What the candidate publishes about itself as it asks.
    pub(crate) fn label(&self) -> Option<&'static str> {
        match self {
            Self::Attempt { label, .. } | Self::Register { label, .. } => *label,
            _ => None,
        }
    }
}

/// The highest epoch that a candidate has seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    Nothing,
    /// So much above what stands in the row.
    Above(u64),
    /// Farther than any clock will get.
    Far,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// The one in the row.
    Current,
    /// One so much above or below it.
    Near(i64),
    /// The one that was won before it.
    Earlier,
}

/// How a takeover differs from the row as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Twist {
    Term,
    Name,
    Life,
    Renewals,
    History,
    Since,
}

/// Milliseconds; the longest is a day.
const TTLS: &[u64] = &[1, 100, 15_000, 15_000, 86_400_000];

const LABELS: &[Option<&str>] = &[None, Some("10.0.0.1:80"), Some("it's \"here\" ✓")];

pub(crate) fn sequences(promoted: bool) -> impl Strategy<Value = Sequence> {
    let cast = (
        subsequence(NAMES, 2).prop_shuffle(),
        subsequence(NAMES, 3).prop_shuffle(),
        vec(scenes(promoted), 1..40),
    );
    cast.prop_map(move |(namespaces, names, scenes)| Sequence {
        namespaces,
        names,
        steps: scenes.concat(),
        promoted,
    })
}

/// Mostly single steps. On a promoted server nearly nobody would win a term, let alone lose it.
fn scenes(promoted: bool) -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        20 => steps().prop_map(|step| vec![step]),
        u32::from(promoted) => (namespaces(), vec(attempts(), 4)).prop_map(failover),
    ]
}

/// Somebody wins, the next server does not know its history, and others come, near the end of the
/// wait.
fn failover((namespace, attempts): (usize, Vec<(Who, Ask, i64)>)) -> Vec<Step> {
    let attempt = |(who, ask, and)| {
        [Step::Clock(Move::Outlasts { namespace, and }), Step::Ask { namespace, who, ask }]
    };
    let mut steps: Vec<_> = attempts.into_iter().flat_map(attempt).collect();
    steps.splice(4..4, [Step::Clock(Move::By(1)), Step::Forget]);
    steps
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => moves().prop_map(Step::Clock),
        12 => (namespaces(), whos(), asks())
            .prop_map(|(namespace, who, ask)| Step::Ask { namespace, who, ask }),
        1 => namespaces().prop_map(|namespace| Step::List { namespace }),
        2 => (namespaces(), whos(), terms())
            .prop_map(|(namespace, who, term)| Step::Fence { namespace, who, term }),
        1 => (namespaces(), terms())
            .prop_map(|(namespace, term)| Step::RequestResign { namespace, term }),
        1 => Just(Step::Forget),
    ]
}

/// Mostly the first, so that something happens there.
fn namespaces() -> impl Strategy<Value = usize> {
    select(&[0, 0, 0, 1][..])
}

fn moves() -> impl Strategy<Value = Move> {
    let hour = 3_600_000;
    let day = 24 * hour;
    prop_oneof![
        4 => select(&[1, 40, 5_000, 15_000, -1, -15_000][..]).prop_map(Move::By),
        1 => select(vec![hour, -hour, 2 * day, -365 * day]).prop_map(Move::By),
        4 => (namespaces(), -1..=1i64)
            .prop_map(|(namespace, and)| Move::LeaseEnds { namespace, and }),
        2 => (namespaces(), -1..=1i64).prop_map(|(namespace, and)| Move::Outlasts { namespace, and }),
        2 => (namespaces(), -1..=1i64, select(vec![0, day]))
            .prop_map(|(namespace, and, long)| Move::EntryEnds { namespace, and: and + long }),
    ]
}

fn whos() -> impl Strategy<Value = Who> {
    prop_oneof![
        5 => (0..3usize, 0..LIVES).prop_map(|(name, life)| Who::Cast { name, life }),
        5 => Just(Who::Holder),
        1 => Just(Who::Namesake),
        1 => (0..3usize).prop_map(|name| Who::Changeling { name }),
    ]
}

/// Each with how much after the wait it comes, in milliseconds.
fn attempts() -> impl Strategy<Value = (Who, Ask, i64)> {
    let ask = (seen(), select(TTLS));
    let ask = ask.prop_map(|(seen, ttl)| Ask::Attempt { seen, ttl, label: None });
    (whos(), ask, -1..=1i64)
}

fn asks() -> impl Strategy<Value = Ask> {
    let labels = || select(LABELS);
    prop_oneof![
        1 => Just(Ask::Observe),
        5 => (seen(), select(TTLS), labels())
            .prop_map(|(seen, ttl, label)| Ask::Attempt { seen, ttl, label }),
        2 => (seen(), select(TTLS), twists())
            .prop_map(|(seen, ttl, twist)| Ask::TakeOver { seen, ttl, twist }),
        4 => (terms(), -1..=2i64, select(TTLS))
            .prop_map(|(term, ordinal, ttl)| Ask::Renew { term, ordinal, ttl }),
        2 => terms().prop_map(|term| Ask::Resign { term }),
        2 => (select(TTLS), any::<bool>(), labels())
            .prop_map(|(ttl, sweep, label)| Ask::Register { ttl, sweep, label }),
        1 => Just(Ask::Unregister),
        2 => Just(Ask::Others),
    ]
}

fn terms() -> impl Strategy<Value = Which> {
    prop_oneof![
        5 => Just(Which::Current),
        1 => select(&[-1, 1][..]).prop_map(Which::Near),
        1 => Just(Which::Earlier),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        3 => Just(Seen::Nothing),
        3 => (0..3u64).prop_map(Seen::Above),
        1 => Just(Seen::Far),
    ]
}

fn twists() -> impl Strategy<Value = Option<Twist>> {
    use Twist::{History, Life, Name, Renewals, Since, Term};
    let twist = select(&[Term, Name, Life, Renewals, History, Since][..]);
    proptest::option::of(twist)
}
