import { expect, test } from "vitest";
import { publicWords } from "./text.ts";

test.each([
	[
		'failed calling webhook "jobs.example.com": failed to call webhook: Post "https://hook.policy.svc:8443/jobs?timeout=5s": dial tcp 10.96.3.7:8443: connect: connection refused',
		'failed calling webhook "jobs.example.com": failed to call webhook: Post "<address>": dial tcp <address>: connect: connection refused',
	],
	[
		"dial tcp: lookup hook.policy.svc on 10.96.0.10:53: no such host",
		"dial tcp: lookup <address> on <address>: no such host",
	],
	[
		"dial tcp: lookup registry.platform.example on 10.96.0.10:53: no such host",
		"dial tcp: lookup <address> on <address>: no such host",
	],
	["dial tcp [fd00::12]:443: i/o timeout", "dial tcp <address>: i/o timeout"],
	["no route to fd00:10:96::a, giving up", "no route to <address>, giving up"],
	[
		"read tcp 10.0.0.1:43210->10.0.0.2:443: reset",
		"read tcp <address>-><address>: reset",
	],
	["See http://wiki.internal/quota.", "See <address>."],
	["dial tcp minio.storage:9000: refused", "dial tcp <address>: refused"],
	["the network 10.0.0.0/8 is full", "the network <address> is full"],
])("the addresses in %s are left out", (said, shown) => {
	expect(publicWords(said)).toBe(shown);
});

test.each([
	'jobs.batch "load-1" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=10, limited: pods=10',
	'admission webhook "validate.kyverno.svc-fail" denied the request: resource Job/shop/r was blocked',
	"at 2026-03-31T12:00:00Z, version 1.36.3, image tidemill:v1, sha256:12ab34cd, exit code: 12",
])("what is no address stays: %s", (said) => {
	expect(publicWords(said)).toBe(said);
});

test("a long text is cut", () => {
	expect(publicWords("x ".repeat(5_000))).toHaveLength(1_000);
	expect(publicWords("no address", 5)).toBe("no a…");
});
