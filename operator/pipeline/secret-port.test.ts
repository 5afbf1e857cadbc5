import { expect, test } from "vitest";
import type { Destination, Layout } from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import {
	created,
	ended,
	scheduled,
	stateOf,
	statusAfter,
} from "../../test/support/examples/pipeline-examples.ts";
import {
	destinationOf,
	layout,
	pipelineOf,
} from "../../test/support/examples/resource-examples.ts";
import { checkHash } from "../destination/check.ts";
import { warehouseLabel } from "../run/job.ts";
import { planDates } from "./plan-dates.ts";
import { mayAdopt } from "./table-owners.ts";
import { resolveTarget } from "./target.ts";
import { isSameTable, sharedWarehouse, warehouseNameOf } from "./warehouse.ts";

/** A server whose Secret says the port. */
function postgresOf(
	port: number,
	postgres: Partial<NonNullable<Destination["spec"]["postgres"]>> = {},
) {
	const secret: Secret = {
		metadata: {
			name: "pg",
			uid: "s",
			labels: { "tidemill.dev/use": "true" },
			annotations: { "tidemill.dev/hosts": `postgres://db:${port}` },
		},
		data: Object.fromEntries(
			Object.entries({ username: "u", password: "p", port: String(port) }).map(
				([key, value]) => [key, Buffer.from(value).toString("base64")],
			),
		),
	};
	const destination = destinationOf();
	destination.spec = {
		type: "Postgres",
		postgres: {
			host: "db",
			database: "shop",
			credentials: { secretRef: { name: "pg" } },
			...postgres,
		},
	};
	destination.status!.lastCheck = {
		hash: checkHash(destination.spec, [secret]),
	};
	destination.status!.reached = {
		address: `postgres+verify-full://db:${port}`,
		secretUIDs: ["s"],
	};
	return { destination, credentials: [secret] };
}

const nameOf = (...args: Parameters<typeof postgresOf>) =>
	warehouseNameOf(pipelineOf(), postgresOf(...args).destination);
const server = postgresOf(6543);
/** What earlier versions say of it. */
const earlier = "Postgres:db:5432/shop/public.load_orders";
const earlierLayout: Layout = { ...layout, destination: earlier };

test("a layout names the port that the Secret gives, and whose it is", () => {
	const resolved = resolveTarget(stateOf(server));
	expect(resolved).toMatchObject({
		target: {
			layout: {
				destination: "Postgres:db:6543 (secret pg)/shop/public.load_orders",
			},
		},
	});
	expect(nameOf(5432)).toBe(earlier);
	expect(nameOf(6543, { port: 6543 })).toBe(
		"Postgres:db:6543/shop/public.load_orders",
	);
});

test("two users of one server have one warehouse, whichever Secret says its port, and another port is another server", () => {
	const ofSecret = (name: string) =>
		sharedWarehouse(nameOf(6543, { credentials: { secretRef: { name } } }));
	expect(ofSecret("pg2")).toBe(ofSecret("pg"));
	expect(sharedWarehouse(nameOf(6543, { port: 6543 }))).toBe(ofSecret("pg"));
	expect(sharedWarehouse(nameOf(6544))).not.toBe(ofSecret("pg"));
});

test("a table that an earlier version has loaded goes on where it was", () => {
	const resolved = resolveTarget(stateOf(server));
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	const lastSuccess = {
		snapshotTime: "2026-03-30T10:00:00Z",
		closedThrough: "2026-03-29",
		layout: earlierLayout,
	};
	const plan = planDates(
		pipelineOf().spec,
		resolved.target.layout,
		lastSuccess,
		{},
		Date.parse("2026-03-31T12:00:00Z"),
	);
	expect(plan).toMatchObject({ extent: "Rest", start: "2026-03-29" });
	const adopting = pipelineOf({
		table: { ...pipelineOf().spec.table, adopt: true },
	});
	adopting.status = {
		adoptedTable: { destination: earlier, table: layout.table },
	};
	expect(mayAdopt(adopting, resolved.target.layout)).toBe(false);
});

test("a table that an earlier version found incompatible stays so", () => {
	const refused = ended("refused", "Failed", "2026-03-10T11:00:00Z", {
		layout: earlierLayout,
		error: { code: "TableIncompatible", message: "No.", retryable: false },
	});
	const pipeline = scheduled("2026-03-01T00:00:00Z");
	const state = stateOf({ ...server, pipeline, runs: [refused] });
	expect(created(state)).toEqual([]);
	expect(findCondition(statusAfter(state).conditions, "Ready")).toMatchObject({
		reason: "TableIncompatible",
	});
});

test("Jobs of an earlier version still have the turn", () => {
	expect(warehouseLabel(nameOf(6543))).toBe(warehouseLabel(earlier));
});

test("another port that the spec says is another server, and so is another Secret's for two Pipelines", () => {
	const table = "load_orders";
	const at = (destination: string) => ({ destination, table });
	expect(isSameTable(at(nameOf(1, { port: 1 })), at(earlier))).toBe(false);
	const odd = nameOf(5432, { database: "a:1 (secret b)/c" });
	expect(isSameTable(at(odd), at(nameOf(5432, { database: "a:5432/c" })))).toBe(
		false,
	);
	expect(nameOf(6543)).not.toBe(nameOf(6544));
});
