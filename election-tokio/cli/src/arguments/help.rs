//! What the help says beyond the flags.

pub(super) const EXIT_CODES: &str = "\
Exit codes: the job's own, or 128+N if signal N ended it; 120 leadership lost (run --on-lost stop, \
and hold); 124 (or --conflict-exit-code) not elected in time (--wait, --try), also if the database \
was never reached (--wait); 125 the command, its database or its cluster failed, or a usage error; \
126 the job cannot be executed; 127 the job was not found.

Options can also be set in a TOML file (--config) under the flag's name (with hyphens or \
underscores), except those for a single start or question; relative paths there start from that \
file's directory. The command line wins, then the environment. An empty value is an error, never a \
default: unset a variable that you do not mean to set.";

pub(super) const STATUS: &str = "\
Exit codes: 0 answered; with --exit-code, 1 nobody leads; 125 no answer (with --exit-code also \
from a replica of the database, whose answer may be out of date), or a usage error.

In `NODE leads at TEXT`, TEXT is what the leader publishes with --label, usually its address.";

pub(super) const LIST: &str = "\
Exit codes: 0 answered, even if the list is empty; 125 no answer, or a usage error.

LISTING LEFT and LEASE LEFT are the time left without another heartbeat or renewal. LABEL is what \
a node publishes while it leads (--label).";

pub(super) const OBSERVE: &str = "\
Exit codes: 0 interrupted (SIGINT); 125 cannot start (no such database or tables, no member of the \
cluster answers), or a usage error.

It keeps running while the database does not answer. In a cluster it asks a member on this \
machine, and another one when that exits; while none answers, it says so once and waits. With \
--node it asks only that member.";

pub(super) const MAINTENANCE: &str = "\
Exit codes: 0 a majority of the members has recorded it, or there was nothing to change; 125 not \
recorded, no answer from the member, or a usage error.";

pub(super) const RESIGN: &str = "\
Exit codes: 0 the leader was asked: it resigns once its job has ended, and others can lead; 1 \
nothing will change: nobody leads, or the leader was already asked, or is no longer listed as a \
candidate (a process that has exited, whose lease is kept); 125 nobody could be asked, the member \
is not the leader or cannot hand over, or a usage error.

A leader that is the only candidate is immediately elected again.";

pub(super) const CHECK: &str = "\
Exit codes: 0 yes; 1 no: nobody leads, or another node, or under another epoch; 125 no answer, \
also from a replica, whose answer may be out of date; or a usage error.

A job asks about its own leadership: its environment says which election, node and epoch it runs \
for, and which database or cluster (ELECTION_STORE or ELECTION_STORE_FILE, ELECTION_CLUSTER). That \
URL has no password: if the database needs one, keep its URL in a file (--store-file). The answer \
is as old as the question: protect whatever must not happen twice with the epoch, as a fencing \
token.";

pub(super) const JOB: &str = "\
The job: SIGTERM and SIGINT go to all processes that the job has started, other signals to its \
first process and that one's process group. When the first process exits by itself, the rest are \
killed, so start daemons in the foreground; after SIGTERM, the rest have until the grace is over. \
The job reads this process's standard input, unless that is a terminal: then its input is empty. \
Processes that others start for the job (docker run, systemd-run, at) are not contained. If this \
process and its guard are killed at the same time (pkill -9), the job's processes live on, unless \
--isolate gives the job a PID namespace.";

pub(super) const HOLD: &str = "\
Once it leads, it prints one line on standard output: who leads, and under which epoch; with \
--json an object. It leads until SIGTERM or SIGINT (exit 128+N), or until its standard input ends \
(exit 0), and then immediately releases leadership: all work under it must be over by then. So a \
script that holds the other end of a pipe, as bash's coproc does, cannot forget to release. Input \
is ignored. If standard input is a file or /dev/null, only a signal ends it. If the input ends \
before it leads, the exit code is 124 (or --conflict-exit-code). If leadership is lost, or \
`election resign` asks for it, it immediately exits with 120 without releasing: whatever works \
under it sees it exit, and has --grace until another can lead.";

pub(super) const HOOKS: &str = "\
Hooks: --on-lead, --on-lose and --on-change run beside the job and delay neither renewals nor the \
end of the job. Their environment is a job's, with ELECTION_EVENT (lead, lose or change), \
ELECTION_LEADER (who leads; empty if no leader is known) and ELECTION_EPOCH (of that leadership, \
or of the one that has ended; unset if nobody leads). They run one at a time, in the order of \
events: `lead` before `lose` before the next `lead`, and `change` after them. Their output goes to \
the log. A failing hook is logged with its exit code; nothing else happens. When its first process \
exits, or after --hook-timeout, the rest of it is killed. When leadership ends, an --on-lead hook \
that is still running gets SIGTERM, and SIGKILL, with all its processes, when the job would; \
leadership is not released before that. An elector that ends waits for its last hooks for one \
--hook-timeout, unless it gets another signal; `election hold` that has lost leadership does not \
wait, and they go on without it. If the elector is killed, it runs no hook.";

pub(super) const HTTP: &str = "\
HTTP: with --http IP:PORT the elector answers GET and HEAD. /leader: who leads, as JSON: name (the \
leader's --node; empty if nobody leads), epoch, label, is_leader (whether this node may believe \
now that it leads), trusted_ms (for how long, unless renewed or released), node, election; 503 if \
this node cannot know, because it does not reach the database or a majority, or another member \
supports one that this one does not hear. /livez: 200 while the elector takes its steps in time; \
500 means that only a restart helps. /readyz: 200 while this node, leader or not, can know who \
leads and is in contact with the database, or could vote and hears a majority of members that hear \
it and have the same list; otherwise 503 with what is missing; a leader may keep leading for a \
moment without that, and /leader says so. /metrics: for Prometheus. Use /readyz as readiness, \
never is_leader: a rollout waits until every node is ready, but only one leads. The address is on \
the loopback interface unless --http-exposed allows another. Without it, a request for any host \
but localhost or a loopback address gets 421. The port is read-only, without password or \
encryption. It keeps at most 64 connections, and closes the oldest for a new one.";

pub(super) const SYSTEMD: &str = "\
systemd: in a unit of Type=notify, READY=1 means that this process stands for election, or waits \
for its database as it would later; it never means that it leads. STATUS= says who leads, \
STOPPING=1 that it is about to exit. With WatchdogSec= it sends WATCHDOG=1 twice as often, but not \
while the elector is stuck. NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID are hidden from jobs and \
hooks, which cannot vouch for the elector. To let a job notify systemd anyway, pass it the socket \
by name, in a unit with NotifyAccess=all: -- env NOTIFY_SOCKET=/run/systemd/notify CMD...";

pub(super) const WITHOUT_JOB: &str = "\
Work that another program does for the leader: it may continue for one --grace from the moment of \
asking /leader, if the answer is \"is_leader\":true, so ask more often than that; no answer means \
no. Nobody else leads before that time is over. Protect whatever must not happen twice with the \
epoch, as a fencing token. SIGTERM and SIGINT resign (exit 128+N); leadership is released one \
--grace later, or immediately on another signal a second or more later.";

pub(super) const DATABASE: &str = "\
If the database cannot be reached, at the start or later, an elector waits for it: it says so \
once, stops its job in time, and continues when the database is back. If somebody has to fix \
something first (a password, a right, a schema), the start fails with an error. On SIGTERM and \
SIGINT the job gets SIGTERM. When all its processes are gone, leadership is released; the database \
has --leave-timeout to confirm that. Another signal a second or more later makes the elector exit \
without releasing. While the job is still ending, such a signal changes nothing, since the job is \
killed when its grace is over.";

pub(super) const CLUSTER: &str = "\
Cluster: with --cluster FILE --node NAME the job runs on the member that a majority has elected, \
without a database. The first time, start all of them. The file is the same on all members: \
election = \"billing\", down-after = \"5s\", for each member [[member]] with id = \"n1\", address \
= \"10.0.0.1:7400\" and optionally announce (the address of its service) or witness = true (it \
votes and never leads); and optionally preferred, fail-back, min-epoch and shards. Beyond the \
loopback interface members authenticate each other: `election cluster init` writes the file with a \
section [tls] and the certificates that it names. Or set insecure = true, and let only members \
reach the ports. A member keeps its promises in its ballot (--ballot), and its running process \
answers `election status, list, observe, resign, pause, resume --cluster FILE --node NAME` for the \
same user and for root. All members count as equally good: the job's data must not differ between \
them.";

pub(super) const LOG: &str = "\
Log: on standard error, one line per event, with --json an object. The field `event` names the \
event; every line also names the election and the node, once they are known (until then, they are \
null in an object). The events: elected, lost, resigning, released, release_deferred, \
not_released, cannot_lead, following, vacant, promoted, outage, outage_lasts, outage_over, \
unlisted, unlisted_lasts, listed, notifications_lost, notifications_restored, alert; database, \
http, waiting, waiting_lasts, waiting_over, not_elected, stop_requested, job_ended, job_stopped, \
job_killed, job_left_behind, job_unstoppable, job_slow, job_survives, hook, hook_failed, left, \
warning, failed; with --cluster also leader_unknown, unready, ready, first_epoch, joined, control, \
ballot, save_failed, save_hangs, saved, relocated, members_proposed, members, address_unknown, \
unreachable, reachable, refused, duplicate_id, accept_failed, certificates, certificates_refused, certificate_expires, certificate_expired. \
RUST_LOG (debug, election_driver=debug, ...) and NO_COLOR are respected.";

pub(super) const SECRETS: &str = "\
Passwords: `ps` shows the text after --store to everybody on this machine, and no program can hide \
it. --store-file keeps the URL in a file, which only its user should be able to read. The job's \
environment contains the database's URL without its password; PGPASSWORD, PGPASSFILE and MYSQL_PWD \
are passed on. Connections to a server on another machine use TLS, and the server has to prove its \
name, unless the URL says otherwise (sslmode=..., ssl-mode=...). The URL can also name a private \
authority (sslrootcert=FILE, ssl-ca=FILE).";

/// In manual pages they have a section of their own, by their first line.
pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  A job on one of all machines, by a row in a database:
    election run --store-file /etc/election/url --name report -- ./report
  From cron on many machines: one runs it, the others exit with 0:
    election run --store-file /etc/election/url --name nightly --try \\
      --at-least-for 5m --conflict-exit-code 0 -- ./nightly
  On one of three machines, without a database:
    election run --cluster /etc/election/cluster.toml --node n1 -- ./report";

pub(super) const HOLD_EXAMPLES: &str = "\
Examples:
  Lead for as long as a script holds the pipe open:
    ./deploy | election hold --store sqlite:e.db --name deploy
  Give up if somebody else leads:
    election hold --store sqlite:e.db --name deploy --try";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  In a job, which knows where to ask:
    election check --quiet || exit
  Elsewhere, whether n1 leads:
    election check --store sqlite:e.db --name report --node n1";

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  For a program on this machine that asks /leader at 127.0.0.1:4040:
    election serve --store sqlite:e.db --name report
  For probes from other machines too, as a member of a cluster:
    election serve --cluster /etc/election/cluster.toml --node n1 \\
      --http 0.0.0.0:4040 --http-exposed";

pub(super) const SCHEMA: &str = "\
Exit codes: 0 the definition was printed; with --apply, the tables exist; 125 the tables could not \
be created, or a usage error.

The first line of the script says which database it is for: SQLite, unless --store names another.";

pub(super) const SCHEMA_EXAMPLES: &str = "\
Examples:
  Create the tables, as a user who may:
    election schema --store postgres://admin@db.example/app --apply
  A script for another tool, without connecting to the database:
    election schema --store postgres://db.example/app";

pub(super) const DEMO: &str = "\
Exit codes: 0 finished or interrupted; 125 failed, or a usage error.";

pub(super) const DEMO_EXAMPLES: &str = "\
Examples:
  Three candidates on a temporary SQLite file, until Ctrl-C:
    election demo
  Five members that elect by votes, and three kills:
    election demo --quorum --candidates 5 --kills 3";

pub(super) const COMPLETIONS: &str = "\
Exit codes: 0 the script was printed; 125 a usage error.";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  For bash, for all users of a Debian machine; write the output to:
  /usr/share/bash-completion/completions/election:
    election completions bash";

pub(super) const MAN: &str = "\
Exit codes: 0 the pages were written; 125 they could not be written, or a usage error.";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  For all users of this machine:
    election man /usr/local/share/man/man1";

pub(super) const INIT: &str = "\
Exit codes: 0 the files were written; 125 they could not be written, some already exist, or a \
usage error.";

pub(super) const KEY: &str = "\
Exit codes: 0 the key and the certificate were written; 125 they could not be written, they \
already exist (--force replaces them), or a usage error.";

pub(super) const KEY_EXAMPLES: &str = "\
Examples:
  A new certificate for n2, where the authority's key is:
    election cluster add-key n2 --cluster n2/cluster.toml --out renewed";

pub(super) const CHANGE: &str = "\
Exit codes: 0 the file was written; 125 it was not, the last change is not complete, or a usage \
error.\n\nMembers change one at a time: copy the file to every member, wait until `election status` \
says that a majority has recorded the new list, and only then make the next change. If a member runs \
on this machine, it is asked whether the last change is complete.";

pub(super) const ADD_EXAMPLES: &str = "\
Examples:
  A fourth member, where the authority's key is:
    election cluster add n4=10.0.0.4:7400 --cluster n1/cluster.toml";

pub(super) const REMOVE_EXAMPLES: &str = "\
Examples:
  Three members again:
    election cluster remove n1 --cluster n2/cluster.toml";

pub(super) const MOVE: &str = "\
Exit codes: 0 the file was written; 125 it was not, or a usage error.";

pub(super) const MOVE_EXAMPLES: &str = "\
Examples:
  n2 is about to move; copy the file to every member, then restart n2 there:
    election cluster move n2=10.0.0.9:7400 --cluster n1/cluster.toml";

pub(super) const FILE_CHECK: &str = "\
Exit codes: 0 the member could start with these files, perhaps with warnings; 125 it could not, or \
a usage error.";

pub(super) const FILE_CHECK_EXAMPLES: &str = "\
Examples:
  Before a member starts:
    election cluster check /etc/election/cluster.toml";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  Who leads, and 1 if nobody does:
    election status --store sqlite:e.db --name report --exit-code
  Why a running member of a cluster on this machine does not lead:
    election status --cluster /etc/election/cluster.toml --node n1";

pub(super) const LIST_EXAMPLES: &str = "\
Examples:
  Who stands for election, and who leads:
    election list --store sqlite:e.db --name report
  Every election in a database, and who leads it:
    election list --store sqlite:e.db --elections";

pub(super) const OBSERVE_EXAMPLES: &str = "\
Examples:
  Each change as an object, for another program:
    election observe --store sqlite:e.db --name report --json
  As the members on this machine see it:
    election observe --cluster /etc/election/cluster.toml";

pub(super) const PAUSE_EXAMPLES: &str = "\
Examples:
  No failover for an hour, while machines are restarted:
    election pause --cluster /etc/election/cluster.toml --for 1h";

pub(super) const RESUME_EXAMPLES: &str = "\
Examples:
  Replace a silent primary automatically again:
    election resume --cluster /etc/election/cluster.toml";

pub(super) const RESIGN_EXAMPLES: &str = "\
Examples:
  Ask the leader to stop, so that another takes over:
    election resign --store sqlite:e.db --name report
  On the primary's machine, hand over to n2:
    election resign --cluster /etc/election/cluster.toml --node n1 --to n2";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  Three members with certificates, each with its directory below members/:
    election cluster init n1=10.0.0.1:7400 n2=10.0.0.2:7400 \\
      n3=10.0.0.3:7400 --election billing --out members
  For a trial on one machine:
    election cluster init --insecure a=127.0.0.1:7401 b=127.0.0.1:7402 \\
      c=127.0.0.1:7403";

#[cfg(test)]
mod tests {
    use crate::arguments::Arguments;
    use clap::CommandFactory as _;

    /// Every command that does something, by its words.
    fn commands(command: &clap::Command, words: &str) -> Vec<(String, String)> {
        let seen = command.get_subcommands().filter(|each| !each.is_hide_set());
        let below: Vec<_> =
            seen.flat_map(|each| commands(each, &format!("{words} {}", each.get_name()))).collect();
        if !below.is_empty() {
            return below;
        }
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        vec![(words.to_owned(), help)]
    }

    #[test]
    fn every_command_tells_its_exit_codes_and_examples() {
        let all = commands(&Arguments::command(), "election");
        assert!(all.len() > 15, "{all:?}");
        for (words, help) in all {
            assert!(help.starts_with("Exit codes: "), "{words}: {help}");
            let (_, examples) =
                help.split_once("\n\nExamples:\n").unwrap_or_else(|| panic!("{words}"));
            let own = format!("{words} ");
            assert!(
                format!("{examples} ").replace('\n', " ").contains(&own),
                "{words}: {examples}"
            );
            assert!(examples.lines().all(|line| line.len() < 80), "{examples}");
            let text = examples.replace("\\\n", " ");
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with("    ")).collect();
            assert!(!lines.is_empty(), "{words}: {examples}");
            for line in lines {
                let at = line.find("election ").expect("the command");
                let words = line[at..].split_whitespace().take_while(|word| *word != "||");
                let parsed = Arguments::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{line}: {parsed:?}");
            }
        }
    }
}
