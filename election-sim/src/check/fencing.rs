//! The resource never serves a token lower than one it has served, and everything it serves under
//! one token comes from one process. This holds whatever happens to clocks and databases.

use super::{Checker, Verdict};
use crate::{
    app::Write,
    fault::Contract,
    simulator::{Environment, WorldState},
};

#[derive(Debug, Default)]
pub(crate) struct Fencing {
    /// The highest token served, and the process that sent it.
    served: Option<(u64, usize, u32)>,
}

impl<S: Environment> Checker<S> for Fencing {
    const NAME: &'static str = "fencing";
    const HOLDS: Contract = Contract::Beyond;

    fn served(&mut self, _: &WorldState<'_, S>, write: &Write) -> Verdict {
        let Some(token) = write.token else { return Ok(()) };
        let now = (token.get(), write.node, write.life);
        if let Some(before) = self.served.replace(now) {
            if now.0 < before.0 {
                return Err(format!(
                    "the resource served epoch {} after epoch {}",
                    now.0, before.0
                ));
            }
            if now.0 == before.0 && now != before {
                return Err(format!(
                    "node {} and node {} both write under epoch {}",
                    before.1, now.1, now.0
                ));
            }
        }
        Ok(())
    }
}
