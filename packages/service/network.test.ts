import { expect, test } from "vitest";
import { networkOf, proxyMatcher } from "./settings.ts";

test.each([
	["192.0.2.7", "192.0.2.7"],
	["::ffff:192.0.2.7", "192.0.2.7"],
	["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
	["2001:DB8:0001:2::", "2001:db8:1:2::/64"],
	["2001:db8::1", "2001:db8:0:0::/64"],
	["fe80::1%eth0", "fe80:0:0:0::/64"],
	["::1", "0:0:0:0::/64"],
	["unknown", "unknown"],
])("%s belongs to %s", (address, network) => {
	expect(networkOf(address)).toBe(network);
});

test.each([
	["10.0.0.7", "10.0.0.7", true],
	["10.0.0.7", "::ffff:10.0.0.7", true],
	["10.0.0.7", "10.0.0.8", false],
	["10.0.0.0/24", "10.0.0.8", true],
	["10.0.0.0/24", "10.0.1.8", false],
	["10.0.0.0/255.255.255.0", "10.0.0.8", true],
	["10.0.0.0/255.255.255.0", "10.0.1.8", false],
	["2001:db8::/32", "2001:db8:7::1", true],
	["2001:db8::/32", "10.0.0.1", false],
	["loopback", "::1", true],
	["10.0.0.7", "unknown", false],
])("the proxies %s hold %s: %s", (proxies, address, isHeld) => {
	expect(proxyMatcher([proxies])(address)).toBe(isHeld);
});

test.each([
	"proxy.example",
	"10.0.0.0/33",
	"10.0.0.0/255.0.255.0",
	"10.0.0.0/+8",
	"10.0.0.0/",
	"",
])("%j is no proxy", (proxy) => {
	expect(() => proxyMatcher([proxy])).toThrow(RangeError);
});
