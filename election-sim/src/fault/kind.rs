//! What can go wrong: the types generated from the table, and what follows from its columns.

use super::{
    contract::{Class, Contract},
    parameters::{CutDirection, DiskFault, FrameFault, SaveFault, StatementFault},
    table::fault_table,
};
use std::time::Duration;

/// Where a fault takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // the table's spelling
enum Applied {
    simulator,
    network,
    database,
    member,
}

/// Which protocols have the thing that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every run.
    Both,
    /// Only a lease has a database.
    Lease,
    /// Only a quorum has disks and connections.
    Quorum,
}

/// What a fault hits.
enum Target<'a> {
    Node(usize),
    /// The way from the first node to the second.
    Link(usize, usize),
    /// These nodes, as the others see them.
    Group(&'a [usize]),
    /// The whole network or the whole database.
    All,
}
use Target::{All, Group, Link, Node};

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// It happens at one instant.
    Instant,
    /// It is in force for some time.
    Lasting,
    /// It is in force for some time, and hits single statements or frames by chance.
    Chance,
}

/// How often a swarm draws a fault, relative to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    /// In every run.
    pub(crate) within: u64,
    /// Added in runs beyond the contract.
    pub(crate) beyond: u64,
}

/// The weights of a fault in the menus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weights {
    pub(crate) lease: Weight,
    pub(crate) quorum: Weight,
    /// Among the network faults, in runs of a lease with a user's app.
    pub(crate) network: Weight,
}

/// The nodes that a parameter names.
trait Nodes {
    fn nodes(&mut self) -> &mut [usize] {
        &mut []
    }
}

impl Nodes for usize {
    fn nodes(&mut self) -> &mut [usize] {
        std::slice::from_mut(self)
    }
}

impl Nodes for Vec<usize> {
    fn nodes(&mut self) -> &mut [usize] {
        self
    }
}

impl Nodes for u32 {}
impl Nodes for u64 {}
impl Nodes for i32 {}
impl Nodes for i64 {}
impl Nodes for Duration {}
impl Nodes for CutDirection {}
impl Nodes for DiskFault {}
impl Nodes for FrameFault {}
impl Nodes for SaveFault {}
impl Nodes for StatementFault {}

macro_rules! kinds {
    (|$drift_ppm:ident| $(
        $(#[doc = $doc:literal])+
        $variant:ident $(( $($field:ident: $type:ty),+ ))?
            = $name:literal [ $($word:ident: $codec:ident),* ]
        {
            applied: $applied:ident, target: $target:expr, contract: $contract:expr,
            extent: $extent:ident,
            lease: ($lease:literal, $lease_beyond:literal),
            quorum: ($quorum:literal, $quorum_beyond:literal),
            network: $network:literal,
        }
    )*) => {
        /// What can go wrong. A `usize` is the index of a node.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum FaultKind {
            $($(#[doc = $doc])+ $variant $(($($type),+))?,)*
        }

        /// A fault without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum FaultName {
            $($variant,)*
        }

        impl FaultName {
            /// Every fault, in the table's order.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),*];

            /// What it does, in sentences.
            pub(crate) const fn explained(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+),)*
                }
            }

            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            const fn applied(self) -> Applied {
                match self {
                    $(Self::$variant => Applied::$applied,)*
                }
            }

            const fn extent(self) -> Extent {
                match self {
                    $(Self::$variant => Extent::$extent,)*
                }
            }

            pub(crate) const fn weights(self) -> Weights {
                match self {
                    $(Self::$variant => Weights {
                        lease: Weight { within: $lease, beyond: $lease_beyond },
                        quorum: Weight { within: $quorum, beyond: $quorum_beyond },
                        network: Weight { within: $network, beyond: 0 },
                    },)*
                }
            }
        }

        #[allow(unused_variables)] // most columns look at few of a fault's parameters
        impl FaultKind {
            pub(crate) const fn fault_name(&self) -> FaultName {
                match self {
                    $(Self::$variant { .. } => FaultName::$variant,)*
                }
            }

            fn target(&self) -> Target<'_> {
                match self {
                    $(Self::$variant $(($($field),+))? => $target,)*
                }
            }

            fn class(&self, $drift_ppm: u32) -> Class {
                match self {
                    $(Self::$variant $(($($field),+))? => $contract,)*
                }
            }

            /// The one list of the nodes that each fault names.
            fn named_mut(&mut self) -> Vec<&mut usize> {
                match self {
                    $(Self::$variant $(($($field),+))? => {
                        #[allow(unused_mut)] // most faults name no node
                        let mut named = Vec::new();
                        $($(named.extend($field.nodes());)+)?
                        named
                    })*
                }
            }
        }
    };
}
fault_table!(kinds);

impl FaultKind {
    /// The names of all faults, as `.scn` files have them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FaultName::ALL.iter().map(|name| name.as_str())
    }

    /// The name of this fault.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.fault_name().as_str()
    }

    /// Which protocols have the thing that it hits.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        match self.fault_name().applied() {
            Applied::simulator | Applied::network => Scope::Both,
            Applied::database => Scope::Lease,
            Applied::member => Scope::Quorum,
        }
    }

    /// Whether the promise covers it, for nodes whose clocks are trusted to within `drift_ppm`.
    #[must_use]
    pub fn contract(&self, drift_ppm: u32) -> Contract {
        self.class(drift_ppm).contract()
    }

    /// Whether it can make the database forget a term.
    pub(crate) fn forgets(&self) -> bool {
        self.class(u32::MAX) == Class::Forgets
    }

    /// Whether it lasts for some time, rather than happening at one instant.
    #[must_use]
    pub const fn lasts(&self) -> bool {
        match self.fault_name().extent() {
            Extent::Instant => false,
            Extent::Lasting | Extent::Chance => true,
        }
    }

    /// Whether it hits, by chance, something that a run records: single statements, and single
    /// frames of a quorum. (A run does not record what hits the frames of a user's app.)
    #[must_use]
    pub(crate) fn is_written_down(&self, quorum: bool) -> bool {
        self.fault_name().extent() == Extent::Chance
            && (quorum || self.fault_name().applied() != Applied::network)
    }

    /// Whether it can disturb a core of nodes that are to be well from now on.
    #[must_use]
    pub fn befalls(&self, core: &[usize]) -> bool {
        match self.target() {
            Node(node) => core.contains(&node),
            Link(from, to) => core.contains(&from) && core.contains(&to),
            Group(group) => {
                let inside = core.iter().filter(|node| group.contains(node)).count();
                inside > 0 && inside < core.len()
            }
            All => true,
        }
    }

    /// The node that it hits, if there is exactly one; faults between nodes hit the network.
    #[must_use]
    pub fn node(&self) -> Option<usize> {
        match self.target() {
            Node(node) => Some(node),
            Link(..) | Group(_) | All => None,
        }
    }

    /// The same fault in a world from which the node `gone` was removed, so that the numbers of
    /// later nodes fall by one. `None` if the fault was about that node.
    #[must_use]
    pub fn without(mut self, gone: usize) -> Option<Self> {
        if let Self::Part(group) = &mut self {
            group.retain(|node| *node != gone);
            if group.is_empty() {
                return None;
            }
        }
        if self.named().contains(&gone) {
            return None;
        }
        for node in self.named_mut() {
            *node -= usize::from(*node > gone);
        }
        Some(self)
    }

    /// Every node that it names.
    #[must_use]
    pub fn named(&self) -> Vec<usize> {
        self.clone().named_mut().into_iter().map(|node| *node).collect()
    }
}
