import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
} from "../../../crds/generated/types.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { OperatorWorld } from "../../support/fixtures/control-plane/operator-world.ts";

/* Who may write Destinations reaches no volume and no identity of another application of the namespace. */

const soon = { timeout: 20_000, interval: 50 };
let world: OperatorWorld;
let namespace: string;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.namespaces(1);
	world.startOperator([namespace], { throughProxy: true });
});

afterAll(() => world?.stop());

const borrowed = {
	VolumeClaim: {
		kind: kinds.persistentVolumeClaim,
		yaml: `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: payroll }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }`,
		spec: "{ type: DuckDB, duckDB: { path: a.duckdb, volumeClaimName: payroll } }",
	},
	ServiceAccount: {
		kind: kinds.serviceAccount,
		yaml: `apiVersion: v1
kind: ServiceAccount
metadata: { name: payroll }`,
		spec: "{ type: BigQuery, serviceAccountName: payroll, bigQuery: { projectId: my-project, dataset: events } }",
	},
};

async function becomes(name: string, reason: string): Promise<void> {
	await vi.waitFor(async () => {
		const object = await world.client.get<Destination>(
			destinationKind,
			name,
			namespace,
		);
		const ready = findCondition(object?.status?.conditions, "Ready");
		expect(ready?.reason).toBe(reason);
	}, soon);
}

test.each(Object.entries(borrowed))(
	"a Destination can't use another application's %s without the label; with it, it can, and without it again no longer",
	async (word, { kind, yaml, spec }) => {
		const name = `by-${word.toLowerCase()}`;
		await world.apply(namespace, yaml);
		await world.apply(
			namespace,
			`apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: ${name} }
spec: ${spec}`,
		);
		await becomes(name, `${word}NotLabelled`);
		const jobs = await world.client.list(kinds.job, { namespace });
		expect(jobs.items).toEqual([]);

		const label = (value: string | null) =>
			world.client.patch(
				kind as typeof kinds.serviceAccount,
				"payroll",
				namespace,
				{ metadata: { labels: { "tidemill.dev/use": value } } },
				"merge",
			);
		await label("true");
		await becomes(name, "Verified");
		await label(null);
		await becomes(name, `${word}NotLabelled`);
		// The next case expects no Jobs.
		await vi.waitFor(async () => {
			const { items } = await world.client.list(kinds.job, { namespace });
			expect(items).toEqual([]);
		}, soon);
	},
);

test("of claims and ServiceAccounts only the metadata is read", () => {
	const asked = world.proxy.requests.filter(({ method, path }) =>
		/\/(persistentvolumeclaims|serviceaccounts)\b/.test(`${method} ${path}`),
	);
	expect(asked.length).toBeGreaterThanOrEqual(4);
	for (const { accept } of asked)
		expect(accept).toMatch(/;as=PartialObjectMetadata(List)?;/);
});
