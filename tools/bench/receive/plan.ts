import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { compilePlan } from "../../../packages/tracking-plan/compile.ts";
import { PlanValidator } from "../../../packages/tracking-plan/plan-validator.ts";
import {
	announceArchive,
	startReceiveFixture,
} from "../../../test/support/fixtures/data-plane/receiver.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
} from "../measure/measurement.ts";
import { memory } from "../measure/process-cost.ts";
import { githubEvents, githubPlan } from "../traffic/github-plan.ts";
import type { CorpusEvent } from "../traffic/requests.ts";
import { startBaseline } from "./contenders.ts";
import { alternate, each, load } from "./leg.ts";

const connectionCounts = [128, 512];

/** Receive whose Source has the plan of all of GitHub's webhooks, against fastify that validates by the same schemas. */
export const bench: Bench = {
	about:
		"GitHub's real webhooks, validated by the plan of their schemas and stored; baseline: fastify that validates them with ajv by the same schemas, nothing stored",
	async run(say) {
		const corpus = join(await temporaryDirectory("corpus"), "events.json");
		const events = plannedEvents();
		await writeFile(corpus, JSON.stringify(events));
		const { admin, stream, receiver, routes, stop } = await startReceiveFixture(
			{ max_bytes: 8 * 1024 ** 3 },
		);
		const fastify = await startBaseline("validating-fastify");
		try {
			await announceArchive(admin, 3);
			const plan = await routes.putPlan(githubPlan);
			const planned = (await routes.add({ plan })).path;
			const unplanned = (await routes.add()).path;
			const { hostname, port } = new URL(receiver.url);
			const contender = (path: string) => ({
				host: hostname,
				port: Number(port),
				paths: [path],
			});
			await untilValidated(receiver.url + planned, say);
			// V8 compiles a function when it is first called.
			for (const { type, body } of events)
				await fetch(receiver.url + planned, {
					method: "POST",
					headers: { "x-github-event": type },
					body,
				});
			const { streams } = await jetstreamManager(admin);
			const measurements: Measurement[] = [];
			for (const connections of connectionCounts) {
				const order = { connections, corpus };
				const legs = await alternate(
					`${connections} connections`,
					{
						plain: () => load(fastify.contender, order),
						validated: () => load(contender(planned), order),
						unvalidated: () => load(contender(unplanned), order),
					},
					{
						say,
						after: async () => {
							await streams.purge(stream);
						},
					},
				);
				const rates = (name: keyof typeof legs) =>
					each(legs[name], "requestsPerSecond");
				measurements.push(
					compared(
						`throughput at ${connections} connections`,
						"events/s",
						rates("validated"),
						rates("plain"),
						{ ratioAtLeast: 0.8 },
					),
					compared(
						`throughput at ${connections} connections, against receive without the plan`,
						"events/s",
						rates("validated"),
						rates("unvalidated"),
					),
					compared(
						`99th percentile at ${connections} connections`,
						"ms",
						each(legs.validated, "p99Ms"),
						each(legs.plain, "p99Ms"),
					),
				);
			}
			const { residentBytes } = await memory(receiver.pid);
			return [
				...measurements,
				figure("resident memory", residentBytes / 1e6, "MB"),
			];
		} finally {
			await fastify.stop();
			await stop();
		}
	},
};

/** Those that deviate would be 400 from fastify. */
function plannedEvents(): CorpusEvent[] {
	const compiled = compilePlan(githubPlan);
	if ("fault" in compiled) throw new Error(compiled.fault);
	const validator = new PlanValidator(githubPlan, compiled.code);
	return githubEvents().filter(
		({ type, body }) =>
			validator.validate(JSON.parse(body), type).record.violations ===
			undefined,
	);
}

async function untilValidated(
	url: string,
	say: (progress: string) => void,
): Promise<void> {
	const startMs = performance.now();
	for (let status = 0; status !== 200; ) {
		await new Promise((resolve) => setTimeout(resolve, 100));
		status = (await fetch(url, { method: "POST", body: "{}" })).status;
	}
	say(`the plan validates after ${Math.round(performance.now() - startMs)} ms`);
}
