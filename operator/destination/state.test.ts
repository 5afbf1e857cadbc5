import { expect, test } from "vitest";
import { destinationKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { type Job, kinds } from "../../packages/kube/kinds.ts";
import { controllerReference } from "../../packages/kube/resource.ts";
import { createLog } from "../../packages/service/log.ts";
import { storedObjects } from "../../test/support/doubles/stored-objects.ts";
import {
	destinationWith,
	name,
} from "../../test/support/examples/destination-examples.ts";
import { createInformers } from "../reconcile/informers.ts";
import { readDestination } from "./state.ts";

const log = createLog("test");
const destination = destinationWith();
const owner = controllerReference(destinationKind, destination);
const check = {
	metadata: {
		name,
		namespace: "shop",
		uid: "j",
		labels: { [label.destination]: "lake" },
		ownerReferences: [owner],
	},
};

test.each([
	["only names the Destination as an owner", { ...owner, controller: false }],
	["belongs to an earlier Destination", { ...owner, uid: "earlier" }],
])("a Job that %s is not its check", async (_, reference) => {
	const job = {
		metadata: { ...check.metadata, ownerReferences: [reference] },
	};
	expect(await checksAmong(job)).toEqual([]);
});

test("a Job of another name is not a check, even if it claims the Destination as its controller", async () => {
	for (const name of ["payroll", "lake-check-1234567", "pond-check-12345678"])
		expect(
			await checksAmong({ metadata: { ...check.metadata, name } }),
		).toEqual([]);
});

test("a check that isn't being deleted is one", async () => {
	expect(await checksAmong(check)).toEqual([check]);
	const deletionTimestamp = "2026-03-01T12:00:00Z";
	expect(
		await checksAmong({ metadata: { ...check.metadata, deletionTimestamp } }),
	).toEqual([]);
});

test("the Pods of a check come from memory until it is over", async () => {
	const asked = storedObjects([
		[
			kinds.pod,
			{
				metadata: {
					name: "asked",
					ownerReferences: [{ ...owner, uid: check.metadata.uid }],
				},
			},
		],
	]);
	const names = async (job: Job) =>
		(await stateWith(job, asked)).pods.map(({ metadata }) => metadata.name);
	expect(await names(check)).toEqual([]);
	const conditions = [{ type: "Complete", status: "True" }];
	expect(await names({ ...check, status: { conditions } } as Job)).toEqual([
		"asked",
	]);
});

test("a check that is over has lost its Pod only if Kubernetes still has it", async () => {
	const conditions = [{ type: "Complete", status: "True" }];
	const over = { ...check, status: { conditions } } as Job;
	const known = (...jobs: Job[]) =>
		checksAmong(over, storedObjects(jobs.map((job) => [kinds.job, job])));
	expect(await known(over)).toEqual([over]);
	expect(await known()).toEqual([]);
	const { metadata } = over;
	const deletionTimestamp = "2026-03-01T12:00:00Z";
	for (const other of [{ uid: "later" }, { deletionTimestamp }])
		expect(
			await known({ ...over, metadata: { ...metadata, ...other } }),
		).toEqual([]);
});

async function checksAmong(job: Job, objects = storedObjects([])) {
	return (await stateWith(job, objects)).jobs;
}

async function stateWith(job: Job, { client } = storedObjects([])) {
	const context = {
		client,
		informers: createInformers(client, { namespaces: [], log }),
		image: "tidemill:1",
		localWarehouse: undefined,
		clusterDomain: "cluster.local",
		clusterNetworks: [],
		allowedEndpoints: {},
	};
	return readDestination(
		context as unknown as Parameters<typeof readDestination>[0],
		destination,
		[job],
	);
}
