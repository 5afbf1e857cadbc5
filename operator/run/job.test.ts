import { expect, test } from "vitest";
import type { LoadInput } from "../../contracts/job.ts";
import {
	bigQueryOf,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { resolveTarget } from "../pipeline/target.ts";
import { runJob } from "./job.ts";

test("a Run's Job gets the options of its table, and those but the description for the one of quarantine", () => {
	const pipeline = pipelineOf();
	const stored = { labels: { team: "shop" }, clusterBy: ["event_id"] };
	pipeline.spec.table = {
		...pipeline.spec.table,
		quarantine: true,
		bigQuery: { description: "Orders", ...stored },
	};
	const kmsKeyName = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
	const resolved = resolveTarget({
		pipeline,
		source: sourceOf(),
		destination: bigQueryOf("lake", { kmsKeyName }),
		credentials: undefined,
		trackingPlan: undefined,
		holder: undefined,
		podPolicy: { annotations: [], priorityClasses: [] },
		localWarehouse: undefined,
	});
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	const { secret } = runJob(runOf("r"), pipeline, resolved.target, {
		manifestURL: "https://s3/manifest",
		extent: "Whole",
		image: "tidemill",
		activeDeadlineSeconds: 60,
	});
	const { destination, table, quarantineTable } = JSON.parse(
		Buffer.from(secret.data!["input.json"]!, "base64").toString(),
	) as LoadInput;
	expect(destination).toMatchObject({ kmsKeyName });
	expect(table.options).toEqual({ description: "Orders", ...stored });
	expect(quarantineTable?.options).toEqual(stored);
});
