//! The register in place of the database: a question is answered by reads and writes, each of which is a
//! statement of its own and meets what statements meet.

use super::{
    client::{Asked, Operation, Version},
    environment::LeaseEnvironment,
    statement::Statement,
};
use crate::simulator::Simulator;
use election_core::{
    Input,
    lease::{self, Failure},
    register::{Next, Reply},
};

impl Simulator<LeaseEnvironment> {
    /// A node asks a question, and drops the one before.
    pub(super) fn ask_register(&mut self, node: usize, asked: Asked) {
        let wall_ms = self.environment.database.clock_ms(self.now);
        let Some(desk) = &mut self.nodes[node].state.desk else { return };
        desk.client.ask(asked.query.clone(), asked.asked, wall_ms);
        desk.asked = Some(asked);
        self.operate(node);
    }

    /// Sends the next operation of a node.
    fn operate(&mut self, node: usize) {
        let nth = self.nodes[node].state.asked + 1;
        let Some(desk) = &mut self.nodes[node].state.desk else { return };
        let operation = desk.client.request().map(|request| Operation::of(&request));
        if let (Some(operation), Some(asked)) = (operation, desk.asked.clone()) {
            desk.nth = nth;
            self.send(node, asked, Some(operation));
        }
    }

    /// The register has done with an operation.
    pub(super) fn operated(
        &mut self,
        statement: &Statement,
        reply: Result<Reply<Version>, Failure>,
    ) {
        let node = statement.node;
        let there = &mut self.nodes[node];
        let local = there.read(self.now);
        if there.life != statement.life || there.machine.is_none() || there.state.replies_cut {
            return;
        }
        let Some(desk) = &mut there.state.desk else { return };
        if desk.asked.is_none() || desk.nth != statement.nth {
            return; // answered already, or dropped
        }
        let answer = match reply.map(|reply| desk.client.advance(reply, local)) {
            Ok(Ok(Next::Ask)) => return self.operate(node),
            Ok(Ok(Next::Answer(answer))) => Ok(answer),
            Ok(Ok(Next::Conflict)) => Err(Failure::Conflict),
            Ok(Err(_)) => Err(Failure::Fatal),
            Err(failure) => Err(failure),
        };
        desk.asked = None;
        if let Some((node, ticket)) = self.receive(statement, &answer) {
            self.input(node, Input::Event(lease::Event::Answer { ticket, result: answer }));
        }
    }
}
