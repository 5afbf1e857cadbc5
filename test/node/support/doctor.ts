import { randomUUID } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { DoctorFinding } from "../../../cli/doctor/finding.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";
import { kubectl } from "./cluster.ts";

/** `tidemill doctor` in a namespace, as somebody who may only read there. */
export async function doctorIn(
	namespace: string,
): Promise<() => Promise<DoctorFinding[]>> {
	const reader = `doctor-${randomUUID().slice(0, 8)}`;
	await kubectl("create", "serviceaccount", reader, "--namespace=default");
	await kubectl(
		...["create", "rolebinding", reader, `--namespace=${namespace}`],
		...["--clusterrole=view", `--serviceaccount=default:${reader}`],
	);
	const token = await kubectl("create", "token", reader, "--namespace=default");
	const config = parse(await kubectl("config", "view", "--raw"));
	config.users[0].user = { token: token.trim() };
	const file = join(await mkdtemp(join(tmpdir(), "doctor-")), "kubeconfig");
	await writeFile(file, stringify(config), { mode: 0o600 });
	return async () => {
		const { stdout, stderr } = await startTidemill([
			...["doctor", "--output=json", `--kubeconfig=${file}`],
			`--namespace=${namespace}`,
		]).ended;
		if (!stdout) throw new Error(stderr);
		return JSON.parse(stdout);
	};
}
