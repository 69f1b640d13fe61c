#[allow(missing_docs)]
use election_sim::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let from: u64 = args.next().unwrap().parse().unwrap();
    let to: u64 = args.next().unwrap().parse().unwrap();
    let swarm = Swarm::within_contract();
    if let Some(n) = args.next() {
        let n: usize = n.parse().unwrap();
        let s = swarm.schedule(from);
        println!("{s:#?}");
        let mut w = World::new(s).unwrap();
        w.write_down();
        let v = w.run().cloned();
        let l = w.take_lines();
        for l in &l[l.len().saturating_sub(n)..] { println!("{:?} {:?} {}", l.at, l.node, l.text); }
        println!("{v:?}");
        return;
    }
    let t = std::time::Instant::now();
    let mut found = std::collections::BTreeMap::<String, (u64, Vec<(u64, String)>)>::new();
    let mut events = 0u64;
    for seed in from..to {
        let mut w = World::new(swarm.schedule(seed)).unwrap();
        if let Some(v) = w.run() {
            let e = found.entry(v.check.clone()).or_default();
            e.0 += 1;
            if e.1.len() < 4 { e.1.push((seed, v.to_string())); }
        }
        events += w.events();
    }
    let dt = t.elapsed();
    println!("{} seeds {} events {:?} {:.2} M/s", to - from, events, dt, events as f64 / dt.as_secs_f64() / 1e6);
    for (k, (n, s)) in found { println!("{k}: {n}"); for (seed, v) in s { println!("   {seed}: {v}"); } }
}
