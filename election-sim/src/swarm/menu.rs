//! A menu of faults: each fault appears as often as its weight in the table says.

use crate::{
    draw::Dice,
    fault::{Contract, FaultName, Weight, Weights},
};

/// One entry of a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) fault: FaultName,
    /// The fault is drawn only beyond the contract.
    pub(super) beyond: bool,
    /// Which of this fault's entries this is, from zero: some faults are drawn in several ways.
    pub(super) nth: u64,
}

/// The faults that a swarm draws from.
#[derive(Debug)]
pub(super) struct Menu {
    /// The faults that the contract covers come first.
    places: Vec<Place>,
    within: usize,
}

impl Menu {
    /// The menu that the table's weights give.
    pub(super) fn of(weight: fn(Weights) -> Weight) -> Self {
        let mut places = Vec::new();
        let mut within = 0;
        for beyond in [false, true] {
            for fault in FaultName::ALL {
                let weight = weight(fault.weights());
                let times = if beyond { weight.beyond } else { weight.within };
                places.extend((0..times).map(|nth| Place { fault: *fault, beyond, nth }));
            }
            if !beyond {
                within = places.len();
            }
        }
        Self { places, within }
    }

    /// The same menu, the rarest faults first.
    pub(super) fn rarest_first(mut self, weight: fn(Weights) -> Weight) -> Self {
        self.places.sort_by_key(|place| (place.beyond, weight(place.fault.weights()).within));
        self
    }

    /// One of the faults that may hit a run within this contract.
    pub(super) fn draw(&self, dice: &mut Dice, contract: Contract) -> Place {
        let last = if contract == Contract::Within { self.within } else { self.places.len() };
        self.place(dice, 0, last)
    }

    /// One of the faults that only hit runs beyond the contract.
    pub(super) fn draw_beyond(&self, dice: &mut Dice) -> Place {
        self.place(dice, self.within, self.places.len())
    }

    fn place(&self, dice: &mut Dice, from: usize, to: usize) -> Place {
        let drawn = dice.between(from as u64, to as u64 - 1);
        self.places[usize::try_from(drawn).unwrap_or(from)]
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Swarm,
        fault::{Contract, Fault, FaultKind, FaultName, Weights},
    };
    use std::collections::BTreeSet;

    /// The faults in the schedules of many seeds.
    fn drawn(swarm: &Swarm) -> BTreeSet<FaultName> {
        let schedules = (0..3_000).map(|seed| swarm.schedule(seed));
        schedules.flat_map(|it| it.faults).map(|fault| fault.kind.fault_name()).collect()
    }

    fn weighted(weight: impl Fn(Weights) -> u64) -> BTreeSet<FaultName> {
        FaultName::ALL.iter().copied().filter(|fault| weight(fault.weights()) > 0).collect()
    }

    #[test]
    fn every_fault_that_has_a_weight_is_drawn_and_no_other() {
        let (within, beyond) = (Swarm::within_contract(), Swarm::beyond_contract());
        // Steps for which the leases allow are drawn apart, and so are promotions.
        let with_steps = |weight: fn(Weights) -> u64| {
            weighted(weight)
                .into_iter()
                .chain([FaultName::Step, FaultName::Promote])
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(drawn(&within), with_steps(|weights| weights.lease.within));
        assert_eq!(
            drawn(&beyond),
            with_steps(|weights| weights.lease.within + weights.lease.beyond)
        );
        let with_an_app = Swarm { network: true, ..within.clone() };
        let network = |weights: Weights| weights.lease.within + weights.network.within;
        assert_eq!(drawn(&with_an_app), with_steps(network));
        // What operators do is drawn apart.
        let orders = [FaultName::PauseFailover, FaultName::ResumeFailover, FaultName::WrongFile];
        let with_orders = |weight: fn(Weights) -> u64| {
            weighted(weight).into_iter().chain(orders).collect::<BTreeSet<_>>()
        };
        assert_eq!(drawn(&within.of_quorum()), with_orders(|weights| weights.quorum.within));
        let all = |weights: Weights| weights.quorum.within + weights.quorum.beyond;
        assert_eq!(drawn(&beyond.clone().of_quorum()), with_orders(all));
        let mut with_lists = with_orders(all);
        with_lists.extend([FaultName::AddMember, FaultName::RemoveMember]);
        assert_eq!(drawn(&beyond.of_quorum().with_lists()), with_lists);
    }

    #[test]
    fn nothing_beyond_the_contract_is_drawn_within_it() {
        for swarm in [Swarm::within_contract(), Swarm::within_contract().of_quorum()] {
            for seed in 0..1_000 {
                let schedule = swarm.schedule(seed);
                // All steps together are what the leases allow for.
                let step = |fault: &Fault| match fault.kind {
                    FaultKind::Step(by) => Some(u128::from(by.unsigned_abs())),
                    _ => None,
                };
                let steps: u128 = schedule.faults.iter().filter_map(step).sum();
                let allowed = schedule.timing.clock_step.unwrap_or_default().as_millis();
                assert!(steps <= allowed, "seed {seed}: {steps} of {allowed} ms");
                for fault in schedule.faults.iter().filter(|fault| step(fault).is_none()) {
                    let contract = fault.kind.contract(schedule.timing.drift_ppm);
                    assert_eq!(contract, Contract::Within, "seed {seed}: {}", fault.kind);
                }
            }
        }
    }
}
