import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { readOperatorSettings } from "../../settings.ts";
import { move } from "./apply.ts";
import { MoveRefusal } from "./decide.ts";

export interface MoveOptions {
	namespace: string;
	source: string;
	shard: string;
}

/** `tidemill operator move`: has the new events of a Source go to another shard. It reads the operator's settings and runs beside it. */
export async function main(options: MoveOptions): Promise<number> {
	const settings = new Settings();
	const log = createLog("move");
	const { shards } = readOperatorSettings(settings, log);
	const config = loadKubeConfig(settings.optional("KUBECONFIG"));
	const userAgent = "tidemill-operator";
	const client = KubeClient.fromConfig(config, { userAgent });
	const nats = await connectNats(settings, "operator", log);
	try {
		const plan = await move({ client, nats, shards, ...options });
		const { namespace, source } = options;
		console.log(
			`New events of Source "${source}" of namespace "${namespace}" go to shard ${plan.shard}. Its events may be in shards ${plan.shards.join(" and ")}.`,
		);
		return 0;
	} catch (error) {
		if (!(error instanceof MoveRefusal)) throw error;
		console.error(`tidemill operator move: ${error.message}`);
		return 1;
	} finally {
		await nats.close();
	}
}
