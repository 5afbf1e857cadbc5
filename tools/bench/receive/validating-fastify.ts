import { randomUUID } from "node:crypto";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import fastify from "fastify";
import { githubPlan, githubWebhooks } from "../traffic/github-plan.ts";

/**
 * The baseline of the receive-plan bench: fastify that validates each event against the schema of its type, gives the same
 * answer and keeps nothing. Listens on the port in its argument.
 */
const ajv = new Ajv({ strict: false });
addFormats.default(ajv);
ajv.addSchema(githubWebhooks.schema, "github");
const validators = new Map<string, ValidateFunction>(
	githubPlan.events.map(({ type }) => [
		type,
		ajv.compile({ $ref: `github${githubWebhooks.refOf(type)}` }),
	]),
);
const app = fastify({ bodyLimit: 4 * 1024 * 1024 });
app.post("/hooks/:sourceKey/:urlKey", async (request, reply) => {
	const validate = validators.get(String(request.headers["x-github-event"]));
	if (!validate?.(request.body)) return reply.code(400).send({});
	return { is_success: true, event_id: randomUUID() };
});
app.get("/ready", async () => "ready");
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
