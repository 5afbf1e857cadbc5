import { expect, test } from "vitest";
import { validateSpec } from "../../test/support/manifests/spec-validator.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { apiResources } from "./api-resource.ts";
import { changedSpec, newSpec, specPatch } from "./resource-body.ts";
import { resourceView } from "./views.ts";

const destinations = apiResources.find(({ noun }) => noun === "destination")!;
const spec = { type: "DuckDB", duckDB: { path: "a.duckdb" }, displayName: "A" };
const lake = {
	metadata: {
		name: "lake",
		uid: "1",
		generation: 1,
		creationTimestamp: "2026-01-01T00:00:00Z",
	},
	spec,
	status: {
		observedGeneration: 1,
		phase: "Ready",
		conditions: [{ type: "Ready" }],
	},
};

function refusal(change: () => { errors: ErrorDetail[] }): ErrorDetail[] {
	return change().errors;
}

test("null removes a field", () => {
	const { spec: after } = changedSpec(destinations, lake, {
		displayName: null,
	});
	expect(after).toEqual({ type: "DuckDB", duckDB: { path: "a.duckdb" } });
});

test("null removes a part of a tracking plan's schema, by both ways to patch", () => {
	const plans = apiResources.find(({ noun }) => noun === "tracking plan")!;
	const properties = { old: { type: "string" }, id: { type: "string" } };
	const plan = { ...lake, spec: { common: { properties } } };
	const patch = { common: { properties: { old: null } } };
	const { spec: after, errors } = changedSpec(plans, plan, patch);
	expect(after).toEqual({ common: { properties: { id: properties.id } } });
	expect(errors).toEqual([]);
	expect(specPatch(plans, patch, "plan")).toEqual({
		patch: { spec: patch },
		errors: [],
	});
});

test("an unknown field set to null is refused and reported once, by both ways to patch", () => {
	const patch = { "": null, duckDB: { size: null } };
	for (const change of [
		() => changedSpec(destinations, lake, patch),
		() => specPatch(destinations, patch, "lake"),
	])
		expect(refusal(change)).toEqual([
			{ path: "", message: "is not a known field" },
			{ path: "duckDB.size", message: "is not a known field" },
		]);
});

test("labels of the wrong form are refused, and not asked for", () => {
	const body = { ...spec, labels: { a: 1 } };
	const said = [{ path: 'labels["a"]', message: "must be a string" }];
	for (const { labels, errors } of [
		newSpec(destinations, body, "lake"),
		changedSpec(destinations, lake, body),
	])
		expect([labels, errors]).toEqual([undefined, said]);
	const { patch, errors } = specPatch(destinations, body, "lake");
	expect([patch, errors]).toEqual([{ spec }, said]);
});

test("what a GET answered can be edited and sent back", () => {
	const edited = { ...resourceView(lake), displayName: "B" };
	expect(changedSpec(destinations, lake, edited).spec).toEqual({
		...spec,
		displayName: "B",
	});
	const emptied = { lastCheck: null, managedBy: null };
	expect(changedSpec(destinations, lake, emptied).spec).toEqual(spec);
});

const problem = "is read-only: omit it, or send it as GET answers it";

test("a read-only field that the caller changed is refused by name", () => {
	const changes = { status: "Error", id: "2", conditions: [], lastCheck: {} };
	for (const patch of [changes, { ...resourceView(lake), ...changes }])
		expect(refusal(() => changedSpec(destinations, lake, patch))).toEqual(
			expect.arrayContaining(
				Object.keys(changes).map((path) => ({ path, message: problem })),
			),
		);
	expect(
		refusal(() => newSpec(destinations, { ...spec, id: "1" }, "lake")),
	).toEqual([{ path: "id", message: problem }]);
});

test("a read-only field that the operator changed since the GET is ignored", () => {
	const time = "2026-01-02T00:00:00Z";
	const managedFields = [{ manager: "tidemill-operator", time }];
	const later = {
		...lake,
		metadata: { ...lake.metadata, managedFields },
		status: { observedGeneration: 1, phase: "Error" },
	};
	const edited = { ...resourceView(lake), displayName: "B" };
	expect(changedSpec(destinations, later, edited).spec).toMatchObject({
		displayName: "B",
	});
	const forged = { ...edited, updateTime: time };
	expect(refusal(() => changedSpec(destinations, later, forged))).toMatchObject(
		[{ path: "status" }, { path: "conditions" }],
	);
});

const address = { host: "db.example.com", database: "events" };
const user = { username: "loader", password: "pass word" };
const warehouse = (postgres: object) => ({ type: "Postgres", postgres });
const stored = (postgres: object) => ({
	...lake,
	spec: warehouse({
		...address,
		credentials: { secretRef: { name: "lake-password-1" } },
		...postgres,
	}),
});

/** What the Secret of a change would have. */
function secretOf({ spec, secrets }: ReturnType<typeof newSpec>) {
	const [{ name, values, address } = {}] = secrets;
	expect(secrets).toHaveLength(1);
	return { name, values, ...address!.annotationsOf(spec) };
}

test.each([
	[
		warehouse({ ...address, credentials: user }),
		"postgres+verify-full://db.example.com:5432",
	],
	[
		warehouse({
			...address,
			...{ host: "DB.", port: 6432, sslMode: "disable", credentials: user },
		}),
		"postgres+disable://db.:6432",
	],
	[
		warehouse({
			...{ ...address, caSecretRef: { name: "our-ca" }, credentials: user },
		}),
		"postgres+verify-full://db.example.com:5432?ca=our-ca",
	],
	[
		{
			type: "ClickHouse",
			clickHouse: {
				...{ url: "http://ch.db.svc:8123", database: "d", credentials: user },
			},
		},
		"http://ch.db.svc:8123",
	],
])(
	"a password of a new Destination becomes a Secret that is bound to its address (%#)",
	(body, hosts) => {
		const wanted = newSpec(destinations, body, "lake");
		const found = secretOf(wanted);
		expect(found).toEqual({
			name: expect.stringMatching(/^lake-password-[0-9a-f]{10}$/),
			values: user,
			"tidemill.dev/hosts": hosts,
		});
		const shown = JSON.stringify(wanted.spec);
		expect(shown).toContain(
			`"credentials":{"secretRef":{"name":"${found.name}"}}`,
		);
		expect(shown).not.toContain(user.password);
	},
);

test("who changes a password says where it goes, and not somebody who changed that before", () => {
	const before = stored({
		...{ host: "evil.example.com", port: 6432, sslMode: "disable" },
		caSecretRef: { name: "evil", key: "evil.crt" },
	});
	const patched = (postgres: object) => () =>
		changedSpec(destinations, before, {
			postgres: { credentials: user, ...postgres },
		});
	const missing = (...fields: string[]) =>
		fields.map((field) => ({
			path: `postgres.${field}`,
			message: expect.stringContaining("must be given beside password"),
		}));
	expect(refusal(patched({}))).toEqual(
		missing("host", "port", "sslMode", "caSecretRef.name", "caSecretRef.key"),
	);
	expect(refusal(patched({ host: "db", port: null }))).toEqual(
		missing("sslMode", "caSecretRef.name", "caSecretRef.key"),
	);
	expect(
		refusal(
			patched({
				host: "db",
				port: 1,
				sslMode: "require",
				caSecretRef: { name: "ours" },
			}),
		),
	).toEqual(missing("caSecretRef.key"));
	const whole = { host: "db", port: null, sslMode: null, caSecretRef: null };
	expect(secretOf(patched(whole)() as never)).toMatchObject({
		"tidemill.dev/hosts": "postgres+verify-full://db:5432",
	});
});

test("a change of the address alone makes no Secret and binds none", () => {
	for (const patch of [{ host: "evil.example.com" }, { sslMode: "disable" }]) {
		const { spec, secrets } = changedSpec(destinations, stored({}), {
			postgres: patch,
		});
		expect(secrets).toEqual([]);
		expect(spec).toMatchObject({
			postgres: {
				...patch,
				credentials: { secretRef: { name: "lake-password-1" } },
			},
		});
	}
});

test.each([
	["without an address", {}, ["host", "database"]],
	[
		"of null",
		{ ...address, credentials: { ...user, password: null } },
		["credentials.password"],
	],
	[
		"without a user",
		{ ...address, credentials: { password: "x" } },
		["credentials.username"],
	],
	[
		"and none, but a user",
		{ ...address, credentials: { username: "x" } },
		["credentials.password"],
	],
	[
		"with a control character",
		{
			...address,
			credentials: { username: "a\0database\0b", password: "a\r\nb" },
		},
		["credentials.username", "credentials.password"],
	],
	[
		"beside a Secret that is there",
		{ ...address, credentials: { ...user, secretRef: { name: "others" } } },
		["credentials.username", "credentials.password"],
	],
	[
		"beside a binding of somebody's own",
		{ ...address, credentials: { ...user, hosts: "postgres://evil" } },
		["credentials.hosts"],
	],
	[
		"at a host that is two bindings",
		{ ...address, host: "a,postgres://evil" },
		["host"],
	],
])("a password %s is refused", (_, postgres, paths) => {
	const body = warehouse({ credentials: user, ...postgres });
	expect(wrongPaths(newSpec(destinations, body, "lake"))).toEqual(
		paths.map((path) => `postgres.${path}`).sort(),
	);
});

test.each(["annotations", "metadata", "hosts", "tidemill.dev/hosts"])(
	"a body with %s is refused: annotations of a Secret come with a password alone",
	(field) => {
		const body = {
			...stored({}).spec,
			[field]: { "tidemill.dev/hosts": "postgres://evil" },
		};
		for (const wanted of [
			newSpec(destinations, body, "lake"),
			changedSpec(destinations, stored({}), body),
		]) {
			expect(wrongPaths(wanted)).toEqual([field]);
			expect(wanted).toEqual({ spec: body, secrets: [], errors: [] });
		}
	},
);

/** The fields that are wrong by what the API and the CRD's schema say. */
function wrongPaths({ spec, errors }: ReturnType<typeof newSpec>): string[] {
	const paths = [...errors, ...validateSpec("Destination", spec)].map(
		({ path }) => path.replace(/^spec\./, ""),
	);
	return [...new Set(paths)].sort();
}
