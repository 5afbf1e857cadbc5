import { spawnSync } from "node:child_process";

/** `make kind-down`: removes the cluster of `make kind-up` with everything in it. */
const cluster = process.env.KIND_CLUSTER || "tidemill";
const { status, error } = spawnSync(
	"kind",
	["delete", "cluster", "--name", cluster],
	{ stdio: "inherit" },
);
if (error)
	console.error("make kind-down needs kind, which is not on the PATH.");
process.exitCode = status ?? 1;
