//! How the connection to a server is protected.
//!
//! sqlx's default (`prefer`, `PREFERRED`) encrypts if the other end says that it can, and sends the
//! password in clear text to any server that claims it cannot. Here a URL of a server across a
//! network means TLS with a verified server, unless the URL says otherwise, in sqlx's own
//! parameters. Connections within this machine keep sqlx's default. Options that a caller has made
//! are not touched at all.
//!
//! Whether a host is this machine is judged by its spelling. A name that resolves to a loopback
//! address today may lead elsewhere tomorrow, at the will of the name service.

mod named;

use crate::StoreError;
use election_core::lease::Failure;
#[cfg(feature = "mysql")]
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::{fmt, net::IpAddr, path::Path, str::FromStr as _};
use url::{ParseError, Url};

/// A server, and how the connection to it is protected, according to the options. Displayed, it is
/// a phrase for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transport {
    /// Kind and address of the server. It holds no secret.
    pub server: String,
    /// The route to the server.
    pub route: Route,
    /// How it is protected on that route.
    pub protection: Protection,
}

/// The route by which a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// A unix socket.
    Socket,
    /// This machine, by `localhost`, 127.0.0.0/8 or `::1`.
    Loopback,
    /// Any other address or name.
    Network,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protection {
    /// No protection.
    ClearText,
    /// TLS if the other end offers it, no protection otherwise.
    IfOffered,
    /// TLS with any server.
    Unverified,
    /// TLS with a server that a known authority vouches for, under any name.
    Authority,
    /// TLS with a server that a known authority vouches for under the requested name.
    Verified,
}

impl Transport {
    /// Whether somebody between here and the server could read the password.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        use Protection::{ClearText, IfOffered, Unverified};
        self.route == Route::Network
            && matches!(self.protection, ClearText | IfOffered | Unverified)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protection = match self.protection {
            _ if self.route == Route::Socket => "unix socket",
            Protection::ClearText => "in plain text",
            Protection::IfOffered => "TLS if the server offers it, otherwise in plain text",
            Protection::Unverified => "TLS, the server not verified",
            Protection::Authority => "TLS verified but for the host name",
            Protection::Verified => "TLS verified",
        };
        let loopback = if self.route == Route::Loopback { " (loopback)" } else { "" };
        write!(f, "{}, {protection}{loopback}", self.server)
    }
}

impl Route {
    fn of(host: &str, socket: Option<&Path>) -> Self {
        let this_machine = host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        match socket {
            Some(_) => Self::Socket,
            None if this_machine => Self::Loopback,
            None => Self::Network,
        }
    }
}

const AT: &str = " at ";

fn server(kind: &str, host: &str, port: u16, socket: Option<&Path>) -> String {
    match socket {
        Some(socket) => format!("{kind}{AT}{}", socket.display()),
        None if host.contains(':') => format!("{kind}{AT}[{host}]:{port}"),
        None => format!("{kind}{AT}{host}:{port}"),
    }
}

/// Whether this program can encrypt. Another crate may have enabled TLS in sqlx, which this crate
/// cannot see; then the URL has to name the mode.
const TLS: bool = cfg!(feature = "tls");

/// How to choose a mode that was not given.
enum Choice {
    /// sqlx's own default.
    Default,
    Verified,
}

/// What a URL says about protection, besides what sqlx reads from it.
struct Said {
    mode: bool,
    authority: bool,
}

impl Said {
    fn by(url: &Url) -> Self {
        let said = |keys: &[&str]| url.query_pairs().any(|(key, _)| keys.contains(&&*key));
        let mode = said(&["sslmode", "ssl-mode"]);
        Self { mode, authority: said(&["sslrootcert", "ssl-root-cert", "sslca", "ssl-ca"]) }
    }

    /// A URL asks for clear text with `off`. What sqlx was told already counts if it was given.
    fn choose(&self, told: &Transport, tls: bool, off: &str) -> Result<Choice, StoreError> {
        let network = told.route == Route::Network;
        let wanted = network || self.authority && told.route != Route::Socket;
        // A URL that only prefers TLS would get clear text without asking for it.
        let silent = !self.mode || network && told.protection == Protection::IfOffered;
        match (self.mode, tls) {
            (false, true) if wanted => Ok(Choice::Verified),
            (_, false) if wanted && silent => Err(cannot_encrypt(off)),
            _ => Ok(Choice::Default),
        }
    }
}

fn cannot_encrypt(off: &str) -> StoreError {
    let context = format!(
        "the server is reached over a network, but this program was built without encryption; \
         build it with the feature `tls`, or add `{off}` to the URL to send everything, including \
         the password, in plain text"
    );
    StoreError::new(Failure::Fatal, context)
}

/// Warns of the parameters of a URL that are left out. All hosts of a list have the same.
fn warn_of_unknown(url: &str, names: &[&str]) {
    let Ok(url) = Url::parse(url) else { return };
    for (key, _) in url.query_pairs().filter(|(key, _)| !is_known(key, names)) {
        tracing::warn!(parameter = ?key, "the URL has an unknown parameter, which is ignored");
    }
}

fn is_known(key: &str, names: &[&str]) -> bool {
    names.iter().any(|name| *name == key || name.ends_with('[') && key.starts_with(name))
}

/// Parses a URL, and refuses what sqlx would read in a way that nobody meant.
///
/// Parameters that sqlx does not know are left out: sqlx would write their values into the log, and
/// a password may be among them. A known name that ends with `[` is any that begins so.
fn checked(url: &str, names: &[&str]) -> Result<Url, StoreError> {
    let known = |key: &str| is_known(key, names);
    // A special character in a password ends it there, and the rest passes for a port or a path.
    let special = url.rsplit_once('@').is_some_and(|(user, _)| {
        user.split_once("://").is_some_and(|(_, user)| user.contains(['#', '/', '?', '@']))
    });
    let mut url = Url::parse(url).map_err(|error| {
        let why = if special { UNENCODED.to_owned() } else { not_a_url(error) };
        StoreError::new(Failure::Fatal, why)
    })?;
    let mut parameters: Vec<_> = url.query_pairs().into_owned().collect();
    // The value of a known one may hold it. What else stands before it is a part of a password.
    let astray =
        |(key, value): &(String, String)| key.contains('@') || !known(key) && value.contains('@');
    let astray = parameters.iter().any(astray);
    if astray || url.fragment().is_some() || url.path().contains('@') {
        return Err(StoreError::new(Failure::Fatal, UNENCODED));
    }
    // A mistyped name would silently weaken the protection.
    let mistyped = |key: &str| key.to_ascii_lowercase().starts_with("ssl") && !known(key);
    if let Some((key, _)) = parameters.iter().find(|(key, _)| mistyped(key)) {
        let of_tls: Vec<_> = names.iter().filter(|name| name.starts_with("ssl")).copied().collect();
        let context = format!(
            "the URL has an unknown parameter {key:?}; correct it: the TLS parameters are {}",
            of_tls.join(", ")
        );
        return Err(StoreError::new(Failure::Fatal, context));
    }
    parameters.retain(|(key, _)| known(key));
    let query = url.query().is_some_and(|query| !query.is_empty());
    if query {
        url.query_pairs_mut().clear().extend_pairs(parameters);
    }
    Ok(url)
}

const UNENCODED: &str = "the URL is not valid; percent-encode special characters in user, password \
                         and database (@ as %40, # as %23, / as %2F, ? as %3F)";

/// What to write, in words for those who do not know the parser.
fn not_a_url(error: ParseError) -> String {
    let why = match error {
        ParseError::EmptyHost => {
            "it names no host; write one, as in SCHEME://USER@HOST/DATABASE, or localhost for this \
             machine (for a socket of PostgreSQL, SCHEME://USER@localhost/DATABASE?host=DIRECTORY)"
        }
        ParseError::InvalidPort => {
            "its port, after the host and a colon, is not a number from 0 to 65535"
        }
        ParseError::IdnaError
        | ParseError::InvalidIpv4Address
        | ParseError::InvalidIpv6Address
        | ParseError::InvalidDomainCharacter => {
            "the host is neither a name nor an address; an IPv6 address needs brackets, like \
             [2001:db8::1]"
        }
        _ => "it is not of the form SCHEME://USER:PASSWORD@HOST:PORT/DATABASE",
    };
    format!("the URL is not valid: {why}")
}

/// sqlx wraps its own error in another of the same kind.
fn not_understood(error: sqlx::Error) -> StoreError {
    let context = "the URL has an invalid parameter";
    let mut cause: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    loop {
        cause = match cause.downcast::<sqlx::Error>() {
            Ok(error) => match *error {
                sqlx::Error::Configuration(inner) => inner,
                other => return StoreError::new(Failure::Fatal, context).with_source(other),
            },
            Err(other) => return StoreError::new(Failure::Fatal, context).with_source(other),
        }
    }
}

/// sqlx leaves the brackets on, and looks up the whole as a name.
fn without_brackets(host: &str) -> Option<String> {
    host.strip_prefix('[')?.strip_suffix(']').map(str::to_owned)
}

/// How several hosts are reached: as the one that others can listen to best.
pub(super) fn of_all(mut each: impl Iterator<Item = Transport>, names: &str) -> Option<Transport> {
    let first = each.next()?;
    let Some(second) = each.next() else { return Some(first) };
    let rank =
        |it: &Transport| (it.is_exposed(), it.route != Route::Loopback, it.route != Route::Socket);
    let worst = each
        .chain([second])
        .fold(first, |worst, other| if rank(&other) > rank(&worst) { other } else { worst });
    let kind = worst.server.split_once(AT).map_or("", |(kind, _)| kind);
    Some(Transport { server: format!("{kind}{AT}{names}"), ..worst })
}

/// The address of a server, without its kind.
pub(super) fn address(transport: Transport) -> String {
    match transport.server.split_once(AT) {
        Some((_, address)) => address.to_owned(),
        None => transport.server,
    }
}

#[cfg(feature = "postgres")]
const OF_POSTGRES: [&str; 19] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
    "options[",
];
#[cfg(feature = "mysql")]
const OF_MYSQL: [&str; 14] = [
    "sslmode",
    "ssl-mode",
    "sslca",
    "ssl-ca",
    "charset",
    "collation",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "socket",
    "timezone",
    "time-zone",
];

/// The settings of `postgres://` URLs, one for each host of a list.
#[cfg(feature = "postgres")]
pub(super) fn postgres_of_all(urls: &[String]) -> Result<Vec<PgConnectOptions>, StoreError> {
    let options = urls.iter().map(|url| postgres(url)).collect::<Result<Vec<_>, _>>()?;
    urls.iter().take(1).for_each(|url| warn_of_unknown(url, &OF_POSTGRES));
    Ok(options)
}

/// The settings of `mysql://` URLs, one for each host of a list.
#[cfg(feature = "mysql")]
pub(super) fn mysql_of_all(urls: &[String]) -> Result<Vec<MySqlConnectOptions>, StoreError> {
    let options = urls.iter().map(|url| mysql(url)).collect::<Result<Vec<_>, _>>()?;
    urls.iter().take(1).for_each(|url| warn_of_unknown(url, &OF_MYSQL));
    Ok(options)
}

/// The settings of a `postgres://` URL of one host, and of the environment (`PGHOST`, `PGSSLMODE` and
/// the like).
#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<PgConnectOptions, StoreError> {
    let url = checked(url, &OF_POSTGRES)?;
    let mut said = Said::by(&url);
    said.mode |= mode_in_environment()?;
    named::mode(&url, &named::POSTGRES, |mode| PgSslMode::from_str(mode).is_ok())?;
    let mut options = PgConnectOptions::from_str(url.as_str()).map_err(not_understood)?;
    if let Some(host) = without_brackets(options.get_host()) {
        options = options.host(&host);
    }
    // Not in the URL, whose lists have been taken apart.
    if options.get_socket().is_none() && options.get_host().contains(',') {
        let context = "several hosts in PGHOST are not supported; list them in the URL";
        return Err(StoreError::new(Failure::Fatal, context));
    }
    let told = of_postgres(&options);
    named::files(&url, told.protection)?;
    match said.choose(&told, TLS, "sslmode=disable")? {
        Choice::Default => Ok(options),
        Choice::Verified => Ok(options.ssl_mode(PgSslMode::VerifyFull)),
    }
}

/// Whether the environment names a mode. sqlx silently ignores one that it does not know.
#[cfg(feature = "postgres")]
fn mode_in_environment() -> Result<bool, StoreError> {
    match std::env::var("PGSSLMODE") {
        Ok(mode) if mode.is_empty() => Ok(false),
        Ok(mode) => PgSslMode::from_str(&mode).map(|_| true).map_err(|error| {
            StoreError::new(Failure::Fatal, "PGSSLMODE is invalid").with_source(error)
        }),
        Err(_) => Ok(false),
    }
}

#[cfg(feature = "postgres")]
pub(super) fn of_postgres(options: &PgConnectOptions) -> Transport {
    let (host, port) = (options.get_host(), options.get_port());
    let in_host = host.starts_with('/').then_some(Path::new(host));
    let socket = options.get_socket().map(std::path::PathBuf::as_path).or(in_host);
    let protection = match options.get_ssl_mode() {
        // sqlx does not do what `allow` means elsewhere.
        PgSslMode::Disable | PgSslMode::Allow => Protection::ClearText,
        PgSslMode::Prefer => Protection::IfOffered,
        PgSslMode::Require => Protection::Unverified,
        PgSslMode::VerifyCa => Protection::Authority,
        PgSslMode::VerifyFull => Protection::Verified,
    };
    let server = server("PostgreSQL", host, port, socket);
    Transport { server, route: Route::of(host, socket), protection }
}

/// The settings of a `mysql://` or `mariadb://` URL of one host.
#[cfg(feature = "mysql")]
fn mysql(url: &str) -> Result<MySqlConnectOptions, StoreError> {
    let url = checked(url, &OF_MYSQL)?;
    named::mode(&url, &named::MYSQL, |mode| MySqlSslMode::from_str(mode).is_ok())?;
    let mut options = MySqlConnectOptions::from_str(url.as_str()).map_err(not_understood)?;
    if let Some(host) = without_brackets(options.get_host()) {
        options = options.host(&host);
    }
    let told = of_mysql(&options);
    named::files(&url, told.protection)?;
    match Said::by(&url).choose(&told, TLS, "ssl-mode=DISABLED")? {
        Choice::Default => Ok(options),
        Choice::Verified => Ok(options.ssl_mode(MySqlSslMode::VerifyIdentity)),
    }
}

#[cfg(feature = "mysql")]
pub(super) fn of_mysql(options: &MySqlConnectOptions) -> Transport {
    let (host, port) = (options.get_host(), options.get_port());
    let socket = options.get_socket().map(std::path::PathBuf::as_path);
    let protection = match options.get_ssl_mode() {
        MySqlSslMode::Disabled => Protection::ClearText,
        MySqlSslMode::Preferred => Protection::IfOffered,
        MySqlSslMode::Required => Protection::Unverified,
        MySqlSslMode::VerifyCa => Protection::Authority,
        MySqlSslMode::VerifyIdentity => Protection::Verified,
    };
    let server = server("MySQL", host, port, socket);
    Transport { server, route: Route::of(host, socket), protection }
}

#[cfg(all(test, feature = "postgres", feature = "mysql", feature = "tls"))]
mod tests;
