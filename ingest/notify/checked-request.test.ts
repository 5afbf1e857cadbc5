import { expect, test } from "vitest";
import { networkList } from "../../packages/service/address.ts";
import { mayCall } from "./checked-request.ts";

test.each<[string, string[], boolean]>([
	["192.0.2.1", [], false],
	["8.8.8.8", [], true],
	["10.0.0.7", [], false],
	["10.0.0.7", ["10.0.0.0/8"], true],
	["fe80::1%eth0", [], false],
	["fe80::1%eth0", ["fe80::/10"], true],
	["::ffff:127.0.0.1%eth0", [], false],
	["2606:4700::1%eth0", [], true],
	["fd00::1%2606:4700::1", [], false],
])("an https call to %s, with %j allowed: %s", (address, networks, may) => {
	expect(mayCall(address, networkList(networks), false)).toBe(may);
});

test("http is for the allowed networks alone", () => {
	expect(mayCall("8.8.8.8", networkList([]), true)).toBe(false);
	expect(mayCall("8.8.8.8", networkList(["8.8.8.0/24"]), true)).toBe(true);
});
