use election_sim::explore::{self, lease::*, *};
use std::time::{Instant,Duration};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    #[allow(unused)] let get = |k: &str, d: u64| a.iter().find_map(|x| x.strip_prefix(&format!("{k}=")).map(|v| v.parse().unwrap())).unwrap_or(d);
    let mut s = Scope::small();
    s.nodes = get("nodes",2) as usize;
    s.abandoned = get("ab",1) as usize;
    s.lock_wait = get("lock",0) as u32;
    let r = get("ppm",10000) as i32;
    s.rates = match get("rates",2) { 0=>vec![0], 1=>vec![-r], _ => vec![-r, r] };
    let ttl = get("ttl",100);
    s.timing.ttl = Duration::from_millis(ttl);
    let u = get("unit",10);
    s.unit = Duration::from_millis(u);
    s.timing.interval = Some(Duration::from_millis(get("interval", 30)));
    s.timing.attempt_timeout = Some(Duration::from_millis(get("attempt", 10)));
    s.timing.grace = Some(Duration::from_millis(get("grace", 10)));
    let m = get("margin",0); if m>0 { s.timing.margin = Some(Duration::from_millis(m)); }
    s.timing.drift_ppm = get("drift",10000) as u32;
    s.often = Often{ crashes: get("crashes",0) as u8, resigns: get("resigns",0) as u8, withdrawals: get("wd",0) as u8, illnesses: get("ill",0) as u8, requests: get("req",0) as u8, wakes: get("wakes",0) as u8, failures: get("fail",0) as u8, twice: get("twice",0) as u8, back: get("back",0) as u8, pauses: get("pauses",0) as u8}; s.stuck = get("stuck",1)==1; s.late = get("late",0)==1;
    let mut m = Lease::new(s).unwrap();
    let limits = Limits{ depth: get("depth", 1000000) as usize, states: get("states", 20_000_000), ..Limits::default()};
    let t = Instant::now();
    let out = match get("mode",0) { 0 => breadth_first(&mut m, &limits, &mut |c| { if c.states > 0 && false {eprintln!("{c:?}")} }),
      k => walk(&mut m, &Walks{seed:get("seed",0), walks: get("walks",100000), length: get("length",100) as usize, swarm: k==2}, &limits, &mut |_|{})};
    let e = t.elapsed();
    println!("{:?} {:?} in {:.2?}: {:.2} M states/s {:.2} M moves/s parts {:?}", out.ended, out.count, e, out.count.states as f64/e.as_secs_f64()/1e6, out.count.moves as f64/e.as_secs_f64()/1e6, m.parts());
    if let Some(c) = out.counterexample { for l in c.trace(&mut m) { println!("  {l}"); } }
}
