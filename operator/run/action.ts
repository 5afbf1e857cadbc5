import type { ManifestQuestion } from "../../contracts/manifest.ts";
import type { Run } from "../../crds/generated/types.ts";
import type { Target } from "../pipeline/target.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import type { RunJob } from "./job.ts";

/** What is done about a Run. */
export type RunAction =
	/** The Pipeline becomes the Run's owner: deleting it deletes its Runs. */
	| { type: "adopt" }
	/** What follows from the answer is decided then. */
	| { type: "askManifest"; question: ManifestQuestion; target: Target }
	| { type: "startJob"; runJob: RunJob }
	/** The Job with its Pods, and its input. */
	| { type: "removeJob" }
	| CommonAction<Run, EventReason<"Run">>;
