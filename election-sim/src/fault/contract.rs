//! Whether the promise of one leader at a time covers a fault.

/// Whether the promise of one leader at a time covers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// It does.
    Within,
    /// It does not; the fencing token does.
    Beyond,
    /// Nothing is left that could tell one leadership from another by its token: the database has
    /// lost a term and its clock has gone back, or one incarnation goes on as two.
    Void,
}

/// What a fault alone does to the promise. Two faults together can do more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The promise holds.
    Within,
    /// Two may lead at once.
    Beyond,
    /// Two may lead at once, and the database may forget an epoch: if its clock goes back as well,
    /// it grants the same epoch again.
    Forgets,
    /// The tokens tell nothing any more.
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
