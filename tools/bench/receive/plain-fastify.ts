import { randomUUID } from "node:crypto";
import fastify from "fastify";

/** The baseline of the receive bench: fastify that gives the same answer and keeps nothing. Listens on the port in its argument. */
const app = fastify({ bodyLimit: 4 * 1024 * 1024 });
app.post("/hooks/:sourceKey/:urlKey", async () => ({
	is_success: true,
	event_id: randomUUID(),
}));
app.get("/ready", async () => "ready");
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
