import { randomUUID } from "node:crypto";
import { jetstream, jetstreamManager, StorageType } from "@nats-io/jetstream";
import fastify from "fastify";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";

/**
 * The second baseline of the receive bench: fastify that publishes each event to JetStream by itself.
 * Listens on the port in its argument.
 */
const connection = await connectNats(
	new Settings(),
	"bench",
	createLog("bench"),
);
const manager = await jetstreamManager(connection, { checkAPI: false });
await manager.streams.add({
	name: "bench",
	subjects: ["bench.events"],
	storage: StorageType.File,
	max_bytes: 2 * 1024 ** 3,
});
const events = jetstream(connection);
const app = fastify();
app.post("/hooks/:sourceKey/:urlKey", async (request) => {
	const id = randomUUID();
	await events.publish("bench.events", JSON.stringify(request.body), {
		msgID: id,
	});
	return { is_success: true, event_id: id };
});
app.get("/ready", async () => "ready");
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
