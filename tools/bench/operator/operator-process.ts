import { randomBytes } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import { startRole } from "../../../test/support/servers/role-server.ts";
import { namespace } from "./objects.ts";

/** The measured operator. */
export interface OperatorProcess {
	pid: number;
	/** Its metrics by name with labels, as in Prometheus' text format. */
	metrics(): Promise<Map<string, number>>;
	stop(): Promise<void>;
}

export async function startOperator(servers: {
	kubeconfig: string;
	natsUrl: string;
}): Promise<OperatorProcess> {
	const sealKey = join(await mkdtemp(join(tmpdir(), "bench-")), "seal-key");
	await writeFile(sealKey, randomBytes(32).toString("hex"));
	const { pid, healthUrl, stop } = await startRole("operator", {
		name: "operator",
		env: {
			...processEnvironment.operator,
			KUBECONFIG: servers.kubeconfig,
			NATS_URL: servers.natsUrl,
			TIDEMILL_RECEIVE_URL: "https://in.example",
			TIDEMILL_IMAGE: "tidemill.local/tidemill:bench",
			WATCH_NAMESPACES: "*",
			LEASE_NAMESPACE: namespace,
			TIDEMILL_SEAL_KEY: sealKey,
		},
	});
	return {
		pid,
		metrics: async () =>
			parse(await (await fetch(`${healthUrl}/metrics`)).text()),
		stop,
	};
}

/** Sum of a metric's values over all labels, or over those that contain `label`. */
export function sumOf(
	metrics: ReadonlyMap<string, number>,
	name: string,
	label = "",
): number {
	let sum = 0;
	for (const [key, value] of metrics)
		if (key.split("{")[0] === name && key.includes(label)) sum += value;
	return sum;
}

function parse(text: string): Map<string, number> {
	const lines = text.split("\n").filter((line) => line && line[0] !== "#");
	return new Map(
		lines.map((line) => {
			const space = line.lastIndexOf(" ");
			return [line.slice(0, space), Number(line.slice(space + 1))];
		}),
	);
}
