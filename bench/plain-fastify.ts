import { randomUUID } from "node:crypto";
import fastify from "fastify";

/** The baseline of the receive bench: what a person would write who stores nothing. Listens on the port it is given. */
const app = fastify({ bodyLimit: 4 * 1024 * 1024 });
app.post("/hooks/:sourceKey/:urlKey", async () => ({
	is_success: true,
	event_id: randomUUID(),
}));
app.get("/ready", async () => "ready");
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
