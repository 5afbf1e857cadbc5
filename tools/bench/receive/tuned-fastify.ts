import { randomUUID } from "node:crypto";
import fastify from "fastify";

/**
 * The harder baseline of the receive bench: fastify that gives the same answer and keeps nothing, as quick as its own documentation
 * makes it. It doesn't parse the body, and a schema compiles the answer. Listens on the port in its argument.
 */
const app = fastify({ bodyLimit: 4 * 1024 * 1024 });
app.addContentTypeParser(
	"application/json",
	{ parseAs: "buffer" },
	(_request, body, done) => done(null, body),
);
const answer = {
	type: "object",
	properties: {
		is_success: { type: "boolean" },
		event_id: { type: "string" },
	},
};
app.post(
	"/hooks/:sourceKey/:urlKey",
	{ schema: { response: { 200: answer } } },
	async () => ({ is_success: true, event_id: randomUUID() }),
);
app.get("/ready", async () => "ready");
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
