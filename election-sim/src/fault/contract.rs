//! Whether the promise of one leader at a time covers a fault.

/// Whether the promise of one leader at a time covers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// The promise covers it.
    Within,
    /// The promise does not cover it; the fencing token still protects.
    Beyond,
    /// No token can tell one leadership from another any more: the database has lost a term and its
    /// clock has gone back, or one incarnation continues as two.
    Void,
}

/// What a fault alone does to the promise. Two faults together can do more damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The promise holds.
    Within,
    /// Two processes may lead at once.
    Beyond,
    /// Two processes may lead at once, and the database may forget an epoch: if its clock goes back
    /// as well, it grants the same epoch again.
    Forgets,
    /// Tokens no longer tell leaderships apart.
    Void,
}

impl Class {
    pub(super) const fn contract(self) -> Contract {
        match self {
            Self::Within => Contract::Within,
            Self::Beyond | Self::Forgets => Contract::Beyond,
            Self::Void => Contract::Void,
        }
    }
}
