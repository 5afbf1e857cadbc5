import { expect, test } from "vitest";
import { kinds } from "../../packages/kube/kinds.ts";
import type { OwnerReference } from "../../packages/kube/resource.ts";
import { storedObjects } from "../../test/support/doubles/stored-objects.ts";
import { removeJob } from "./controller.ts";

const destination = {
	metadata: { name: "lake", namespace: "shop", uid: "u" },
};
const ownedBy = (part: Partial<OwnerReference>): OwnerReference => ({
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Destination",
	name: "lake",
	uid: "u",
	...part,
});

function remove(
	ofJob: Partial<OwnerReference>,
	ofSecret: Partial<OwnerReference>,
) {
	const metadata = { name: "key", namespace: "shop" };
	const { client, deleted } = storedObjects([
		[
			kinds.secret,
			{
				metadata: {
					...metadata,
					uid: "s",
					ownerReferences: [ownedBy(ofSecret)],
				},
			},
		],
	]);
	const job = {
		metadata: { ...metadata, uid: "j", ownerReferences: [ownedBy(ofJob)] },
	};
	return removeJob(client, destination, { job, secretName: "key" }).then(
		() => deleted,
	);
}

const controller = { controller: true };

test("a Job is removed with its input", async () => {
	expect(await remove(controller, controller)).toEqual([
		"Secret key",
		"Job key",
	]);
});

test("a Secret of a Job's name stays if it only names the owner, as a Secret of the REST API does", async () => {
	expect(await remove(controller, {})).toEqual(["Job key"]);
	expect(await remove(controller, { ...controller, uid: "other" })).toEqual([
		"Job key",
	]);
});

test("a Job that only names the owner stays", async () => {
	expect(await remove({}, {})).toEqual([]);
	expect(await remove({ ...controller, uid: "other" }, {})).toEqual([]);
});
