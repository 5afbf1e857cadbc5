import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { NamespacePermissions } from "./namespace-permissions.ts";
import { namespaceRules } from "./permission-rules.ts";

const log = pino({ level: "silent" });

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
	vi.useRealTimers();
});

/** An apiserver that answers by these facts, and counts what it was asked. */
function apiserver(facts: { exists: boolean; isBound: boolean }) {
	const asked = { requests: 0 };
	const client = {
		get: async () => {
			asked.requests++;
			return facts.exists ? { metadata: { name: "shop" } } : undefined;
		},
		raw: async (_: string, path: string) => {
			asked.requests++;
			if (path.includes("selfsubjectreviews"))
				return { status: { userInfo: { username: "tide" } } };
			const resourceRules = facts.isBound ? namespaceRules : [];
			return { status: { resourceRules, incomplete: false } };
		},
	} as unknown as KubeClient;
	return { client, asked };
}

function follow(facts: { exists: boolean; isBound: boolean }) {
	const { client, asked } = apiserver(facts);
	const permissions = new NamespacePermissions(client, {
		namespaces: ["shop", "other"],
		role: "tidemill-operator-in-namespace",
		log,
	});
	const stop = new AbortController();
	void permissions.run(stop.signal);
	return { permissions, asked, stop };
}

test("a namespace counts as served until the apiserver has said otherwise", () => {
	const { permissions } = follow({ exists: true, isBound: false });
	expect(permissions.standingIn("shop")).toEqual({ type: "served" });
});

test.each([
	["a namespace without its binding", { exists: true, isBound: false }],
	["a namespace that doesn't exist", { exists: false, isBound: false }],
	["a namespace with its binding", { exists: true, isBound: true }],
])(
	"%s costs less than one request in ten seconds after the first minute",
	async (_, facts) => {
		const { asked } = follow(facts);
		await vi.advanceTimersByTimeAsync(60_000);
		const before = asked.requests;
		await vi.advanceTimersByTimeAsync(3_600_000);
		// Two namespaces.
		expect((asked.requests - before) / 2).toBeLessThan(360);
	},
);

test("a binding that comes back is noticed by itself, and whoever waits goes on", async () => {
	const facts = { exists: true, isBound: false };
	const { permissions, stop } = follow(facts);
	await vi.advanceTimersByTimeAsync(600_000);
	expect(permissions.standingIn("shop").type).toBe("notPermitted");
	let isOn = false;
	void permissions.whenPermitted("shop", stop.signal).then(() => {
		isOn = true;
	});
	await vi.advanceTimersByTimeAsync(60_000);
	expect(isOn).toBe(false);
	facts.isBound = true;
	await vi.advanceTimersByTimeAsync(15_000);
	expect(permissions.standingIn("shop").type).toBe("served");
	expect(isOn).toBe(true);
});

test("a change of a binding is looked at more than once, since the apiserver's own memory lags", async () => {
	const facts = { exists: true, isBound: true };
	const { permissions } = follow(facts);
	await vi.advanceTimersByTimeAsync(600_000);
	permissions.lookSoon("shop");
	await vi.advanceTimersByTimeAsync(1_000);
	facts.isBound = false;
	await vi.advanceTimersByTimeAsync(5_000);
	expect(permissions.standingIn("shop").type).toBe("notPermitted");
});

test("a namespace that comes to exist is served once it has its binding", async () => {
	const facts = { exists: false, isBound: false };
	const { permissions } = follow(facts);
	await vi.advanceTimersByTimeAsync(60_000);
	expect(permissions.namesOf("missing")).toEqual(["shop", "other"]);
	facts.exists = true;
	await vi.advanceTimersByTimeAsync(15_000);
	expect(permissions.namesOf("notPermitted")).toEqual(["shop", "other"]);
	facts.isBound = true;
	await vi.advanceTimersByTimeAsync(15_000);
	expect(permissions.namesOf("notPermitted")).toEqual([]);
});

test("an apiserver that is away changes nothing", async () => {
	const facts = { exists: true, isBound: false };
	const { client } = apiserver(facts);
	const permissions = new NamespacePermissions(client, {
		namespaces: ["shop"],
		role: "tidemill-operator-in-namespace",
		log,
	});
	await permissions.look("shop");
	expect(permissions.standingIn("shop").type).toBe("notPermitted");
	client.raw = async () => {
		throw new KubeApiError(503, {});
	};
	await vi.advanceTimersByTimeAsync(2_000);
	await permissions.look("shop");
	expect(permissions.standingIn("shop").type).toBe("notPermitted");
});

test("a webhook that can't list its rules is asked about each", async () => {
	const asked: string[] = [];
	const client = {
		get: async () => ({ metadata: { name: "shop" } }),
		raw: async (
			_: string,
			path: string,
			{
				body,
			}: { body: { spec?: { resourceAttributes?: { resource: string } } } },
		) => {
			if (path.includes("selfsubjectrulesreviews"))
				return { status: { resourceRules: [], incomplete: true } };
			if (path.includes("selfsubjectreviews"))
				return { status: { userInfo: { username: "tide" } } };
			const { resource = "" } = body.spec?.resourceAttributes ?? {};
			asked.push(resource);
			return { status: { allowed: resource !== "pods" } };
		},
	} as unknown as KubeClient;
	const permissions = new NamespacePermissions(client, {
		namespaces: ["shop"],
		role: "tidemill-operator-in-namespace",
		log,
	});
	const standing = await permissions.look("shop");
	expect(asked).toContain("jobs");
	expect(standing).toMatchObject({
		type: "notPermitted",
		message: expect.stringContaining(
			'may not in namespace "shop": get, list, watch pods.',
		),
		canRecordEvents: true,
	});
});
