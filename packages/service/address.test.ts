import { expect, test } from "vitest";
import {
	addressKind,
	isInNetworks,
	isPublicAddress,
	networkList,
} from "./address.ts";

test.each([
	"8.8.8.8",
	"100.63.255.255",
	"100.128.0.0",
	"172.15.255.255",
	"172.32.0.0",
	"192.0.1.0",
	"223.255.255.255",
	"2606:4700:4700::1111",
	"2a00:1450::1",
	"::ffff:8.8.8.8",
	"::ffff:808:808",
	"64:ff9b::808:808",
	"64:ff9b::8.8.8.8",
])("%s is of the internet", (address) => {
	expect(isPublicAddress(address)).toBe(true);
});

test.each([
	"0.0.0.0",
	"10.1.2.3",
	"100.64.0.1",
	"100.100.100.200",
	"127.0.0.1",
	"127.255.255.255",
	"169.254.169.254",
	"168.63.129.16",
	"172.16.0.1",
	"172.31.255.255",
	"192.0.0.192",
	"192.168.1.1",
	"198.18.0.1",
	"203.0.113.9",
	"224.0.0.1",
	"255.255.255.255",
	"::",
	"::1",
	"::127.0.0.1",
	"::ffff:127.0.0.1",
	"::ffff:7f00:1",
	"::ffff:a00:1",
	"0:0:0:0:0:ffff:a9fe:a9fe",
	"64:ff9b::7f00:1",
	"64:ff9b::",
	"64:ff9b::10.0.0.1",
	"64:ff9b:1::808:808",
	"::ffff:0:8.8.8.8",
	"::8.8.8.8",
	"2002:808:808::1",
	"2600::5efe:a00:1",
	"2600::200:5efe:10.0.0.1",
	"100::1",
	"4000::1",
	"::ffff:0:0:1",
	"2001:0:808:808::1",
	"2001:db8::1",
	"2002:7f00:1::",
	"3fff::1",
	"fc00::1",
	"fd00:ec2::254",
	"fe80::1",
	"fe80::1%eth0",
	"fec0::1",
	"ff02::1",
	"5f00::1",
	"localhost",
	"",
])("%s is not", (address) => {
	expect(isPublicAddress(address)).toBe(false);
});

test.each([
	["127.8.9.1", "loopback"],
	["::ffff:127.0.0.1", "loopback"],
	["64:ff9b::127.0.0.1", "loopback"],
	["64:ff9b::a9fe:a9fe", "metadata"],
	["fd00:ec2::254", "metadata"],
	["168.63.129.16", "metadata"],
	["169.254.1.1", "link-local"],
	["fe80::1%eth0", "link-local"],
	["fe80::5efe:a00:1", "translated"],
	["10.0.0.7", "private"],
	["::ffff:10.0.0.7", "private"],
	["64:ff9b::10.0.0.7", "private"],
	["fd12::1", "private"],
	["2001:db8::1", "private"],
	["::127.0.0.1", "translated"],
	["::ffff:0:127.0.0.1", "translated"],
	["::ffff:0:0a00:7", "translated"],
	["64:ff9b:1::a00:7", "translated"],
	["64:ff9b:1:ffff::1", "translated"],
	["2002:a00:7::1", "translated"],
	["2001:0:a00:7::1", "translated"],
	["2600::5efe:a00:7", "translated"],
	["255.255.255.255", "nowhere"],
	["ff02::1", "nowhere"],
	["db.example.com", "nowhere"],
	["8.8.8.8", "public"],
	["2600::5eff:a00:7", "public"],
])("%s is %s", (address, kind) => {
	expect(addressKind(address)).toBe(kind);
});

test.each([
	["10.0.0.7", true],
	["::ffff:10.0.0.7", true],
	["64:ff9b::10.0.0.7", true],
	["::ffff:a00:7%eth0", true],
	["11.0.0.7", false],
	["fd00::1", true],
	["fd00:1::1", false],
	["10.0.0.7.example.com", false],
])("%s is in the networks: %s", (address, isIn) => {
	const networks = networkList(["10.0.0.0/8", "fd00::/32"]);
	expect(isInNetworks(networks, address)).toBe(isIn);
});
