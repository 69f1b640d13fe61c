//! Runs the examples as their readers do.

#[cfg(all(feature = "async-std", feature = "sqlite"))]
#[test]
fn service_on_async_std() {
    election_testing::a_service_is_handed_over("service_async_std");
}

#[cfg(all(feature = "smol", feature = "sqlite"))]
#[test]
fn service_on_smol() {
    election_testing::a_service_is_handed_over("service_smol");
}

/// Up to what the runtime has its own words for, only the first `use` differs.
#[test]
fn the_services_differ_in_one_use() {
    let of_tokio = include_str!("../../election-tokio/examples/service.rs");
    let services = [
        include_str!("../examples/service_async_std.rs"),
        include_str!("../examples/service_smol.rs"),
    ];
    let common = |text: &'static str| {
        let (service, own) = text.split_once("fn main()").expect("an entry");
        assert!(own.lines().count() < 40, "the runtime's own part is small");
        let (_, service) = service.split_once("\nuse ").expect("the adapter's names");
        let (_, service) = service.split_once(";\n").expect("more than that");
        service
    };
    for service in services {
        assert_eq!(common(service), common(of_tokio));
    }
}
