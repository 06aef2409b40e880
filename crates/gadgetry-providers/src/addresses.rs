//! Loopback hosts, public addresses, and name resolution that yields only public ones.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The address that is the host of a URL; `None` if the host is a name.
#[must_use]
pub fn address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    // Only addresses of IPv6 have brackets.
    host.trim_matches(['[', ']']).parse().ok()
}

/// Returns whether the server of a URL is on this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    url.host_str() == Some("localhost") || address(url).is_some_and(|it| it.is_loopback())
}

/// The refusal of an address.
fn refusal(what: &dyn Display) -> String {
    format!("{what} is an address of a private network or of this machine, which is not fetched")
}

/// The addresses that may be used: public ones, and these.
///
/// As a resolver, it yields no others. The connection is made to one that it has yielded, so a second answer of the name
/// server cannot lead elsewhere.
#[derive(Clone, Debug)]
pub struct PublicAddresses(Arc<[IpAddr]>);

impl PublicAddresses {
    /// Public addresses, and those in `others`.
    pub fn and(others: impl IntoIterator<Item = IpAddr>) -> Self {
        Self(others.into_iter().collect())
    }

    /// Returns whether an address may be used.
    pub fn allow(&self, address: IpAddr) -> bool {
        is_public(address) || self.0.contains(&address)
    }

    /// Fails with the reason if the host of a URL is an address that may not be used. A name is checked when it is
    /// resolved.
    pub fn check(&self, url: &Url) -> Result<(), String> {
        match address(url) {
            Some(address) if !self.allow(address) => Err(refusal(&address)),
            Some(_) | None => Ok(()),
        }
    }
}

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let all: Vec<SocketAddr> = found.collect();
            let usable = all.iter().copied().filter(|it| addresses.allow(it.ip()));
            let usable: Vec<SocketAddr> = usable.collect();
            if usable.is_empty() && !all.is_empty() {
                let words = refusal(&name.as_str());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, words).into());
            }
            let usable: Addrs = Box::new(usable.into_iter());
            Ok(usable)
        })
    }
}

/// Returns whether an address is reachable from everywhere, by the registries of special-purpose addresses (RFC 6890). An address
/// that carries an IPv4 address within it is as public as that one.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)      // this network, private, loopback, multicast, reserved
            | (100, 64..=127, _)            // shared by a provider's customers
            | (169, 254, _)                 // link-local, metadata services
            | (172, 16..=31, _)             // private
            | (192, 0, 0 | 2)               // protocol assignments, documentation
            | (192, 88, 99)                 // relays of 6to4
            | (192, 168, _)                 // private
            | (198, 18..=19, _)             // benchmarks
            | (198, 51, 100)                // documentation
            | (203, 0, 113) // documentation
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Mapped and compatible addresses, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        // 6to4
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo and other protocol assignments, documentation
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast is all that is left.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("https://LOCALHOST/", true),
            ("http://127.0.0.2/", true),
            ("http://2130706433/", true), // 127.0.0.1 in decimal digits
            ("http://[::1]:1/", true),
            ("http://localhost.example/", false),
            ("http://10.0.0.1/", false),
            ("http://[2606:4700::1111]/", false),
            ("data:,localhost", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn only_public_addresses_are_public() {
        let check = |text: &str, expected: bool| {
            assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
        };
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            check(public, true);
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            check(private, false);
        }
    }
}
