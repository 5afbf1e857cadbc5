import { parentPort } from "node:worker_threads";
import type { TrackingPlanSpec } from "../../crds/generated/types.ts";
import { schemaFault } from "./schema-fault.ts";

// A thread of SchemaCheck: a plan comes in, its fault goes out; undefined for none.
parentPort!.on("message", (spec: TrackingPlanSpec) =>
	parentPort!.postMessage(schemaFault(spec)),
);
